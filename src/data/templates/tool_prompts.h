// The texts that tell a model of its tools, as LLaMA-Factory has them (data/tool_utils.py).
// {{tools}} stands for the tools, {{names}} for their names, {{date}} for the date.
#pragma once

namespace cairn::tool_prompts {

inline constexpr const char* kPlain =
    "You have access to the following tools:\n"
    "{{tools}}Use the following format if using a tool:\n```\n"
    "Action: tool name (one of [{{names}}])\n"
    "Action Input: the input to the tool, in a JSON format representing the kwargs "
    "(e.g. ```{\"input\": \"hello world\", \"num_beams\": 5}```)\n```\n";
inline constexpr const char* kGlm4 =
    "你是一个名为 ChatGLM 的人工智能助手。你是基于智谱 AI 公司训练的语言模型 GLM-4 "
    "模型开发的，你的任务是针对用户的问题和要求提供适当的答复和支持。\n\n# 可用工具{{tools}}";
inline constexpr const char* kGlm4Moe =
    "\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n"
    "\nYou are provided with function signatures within <tools></tools> XML tags:\n"
    "<tools>{{tools}}\n</tools>\n\n"
    "For each function call, output the function name and arguments within the "
    "following XML format:\n<tool_call>{function-name}\n"
    "<arg_key>{arg-key-1}</arg_key>\n<arg_value>{arg-value-1}</arg_value>\n"
    "<arg_key>{arg-key-2}</arg_key>\n<arg_value>{arg-value-2}</arg_value>\n...\n"
    "</tool_call>\n";
inline constexpr const char* kLlama3 =
    "Cutting Knowledge Date: December 2023\nToday Date: {{date}}\n\n"
    "You have access to the following functions. To call a function, please "
    "respond with JSON for a function call. Respond in the format {\"name\": "
    "function name, \"parameters\": dictionary of argument name and its value}. Do "
    "not use variables.\n\n{{tools}}";
inline constexpr const char* kMinimax1 =
    "You are provided with these tools:\n<tools>\n{{tools}}</tools>\n\n"
    "If you need to call tools, please respond with <tool_calls></tool_calls> XML "
    "tags, and provide tool-name and json-object of arguments, following the "
    "format below:\n<tool_calls>\n"
    "{\"name\": <tool-name-1>, \"arguments\": <args-json-object-1>}\n...\n</tool_calls>";
inline constexpr const char* kMinimax2 =
    "\n\n# Tools\n\nYou may call one or more tools to assist with the user query.\n"
    "Here are the tools available in JSONSchema format:\n\n<tools>\n{{tools}}</tools>\n"
    "\nWhen making tool calls, use XML format to invoke tools and pass parameters:\n\n"
    "<minimax:tool_call>\n<invoke name=\"tool-name-1\">\n"
    "<parameter name=\"param-key-1\">param-value-1</parameter>\n"
    "<parameter name=\"param-key-2\">param-value-2</parameter>\n...\n</invoke>\n"
    "</minimax:tool_call>";
inline constexpr const char* kQwen =
    "\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n"
    "\nYou are provided with function signatures within <tools></tools> XML tags:\n"
    "<tools>{{tools}}\n</tools>\n\n"
    "For each function call, return a json object with function name and arguments "
    "within <tool_call></tool_call> XML tags:\n<tool_call>\n"
    "{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>";
inline constexpr const char* kQwen35 =
    "\n\n# Tools\n\nYou have access to the following functions:\n\n<tools>{{tools}}\n"
    "</tools>\n\n"
    "If you choose to call a function ONLY reply in the following format with NO "
    "suffix:\n\n<tool_call>\n<function=example_function_name>\n"
    "<parameter=example_parameter_1>\nvalue_1\n</parameter>\n"
    "<parameter=example_parameter_2>\nThis is the value for the second parameter\n"
    "that can span\nmultiple lines\n</parameter>\n</function>\n</tool_call>\n\n"
    "<IMPORTANT>\nReminder:\n"
    "- Function calls MUST follow the specified format: an inner "
    "<function=...></function> block must be nested within <tool_call></tool_call> "
    "XML tags\n- Required parameters MUST be specified\n"
    "- You may provide optional reasoning for your function call in natural "
    "language BEFORE the function call, but NOT after\n"
    "- If there is no function call available, answer the question like normal "
    "with your current knowledge and do not tell the user about function calls\n"
    "</IMPORTANT>";
inline constexpr const char* kSeed =
    "system\n"
    "You are Doubao, a helpful AI assistant. You may call one or more functions to "
    "assist with the user query.Tool List:\n"
    "You are authorized to use the following tools (described in JSON Schema "
    "format). Before performing any task, you must decide how to call them based "
    "on the descriptions and parameters of these tools.{{tools}}\n工具调用请遵循如下格式:\n"
    "<seed:tool_call>\n<function=example_function_name>\n"
    "<parameter=example_parameter_1>value_1</parameter>\n"
    "<parameter=example_parameter_2>This is the value for the second parameter\n"
    "that can span\nmultiple lines</parameter>\n</function>\n</seed:tool_call>\n";
inline constexpr const char* kLing =
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n"
    "<tools>{{tools}}\n</tools>\n\n"
    "For each function call, return a json object with function name and arguments "
    "within <tool_call></tool_call> XML tags:\n<tool_call>\n"
    "{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>";
inline constexpr const char* kLfm2 = "List of tools: <|tool_list_start|>{{tools}}<|tool_list_end|>";

}  // namespace cairn::tool_prompts
