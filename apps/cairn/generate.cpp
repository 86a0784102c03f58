// cairn generate: answers a prompt, with or without an adapter; the cache is in the ledger.
#include <fmt/format.h>

#include <filesystem>
#include <span>

#include "backend/registry.h"
#include "base/error.h"
#include "commands.h"
#include "data/chat_template.h"
#include "files/model_files.h"
#include "files/safetensors.h"
#include "memory/machine.h"
#include "model/adapter.h"
#include "model/finite_weights.h"
#include "model/generator.h"
#include "model/load_quantised.h"
#include "plan/rehearse.h"
#include "recipe_arguments.h"
#include "report/accounts.h"
#include "run_reporter.h"
#include "streams.h"
#include "train/chosen_template.h"
#include "train/prepare.h"
#include "train/run_remarks.h"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string model, adapter, prompt, system, chat_template, device = "auto";
  int64_t max_new_tokens = 128, top_k = 0, seed = 42;
  int threads = 0;
  double temperature = 0, top_p = 1;
  bool ledger = false, json = false, f32 = false;
  std::string logits;
};

// How a prompt is written: as the run did that wrote the adapter or model, else as the tokenizer's
// own template says.
struct PromptWords {
  ChatTemplate chat_template;
  TemplateOptions words;
};

// The recipe of the run that wrote this folder, or a checkpoint in that run's; "" if there is none.
std::string find_recipe_of_run(const std::string& folder) {
  std::error_code ignored;  // what cannot be looked at is refused where it is opened
  const fs::path whole = fs::weakly_canonical(folder, ignored);
  if (!fs::is_directory(whole, ignored)) return "";
  for (const fs::path& place : {whole, whole.parent_path()})
    if (fs::is_regular_file(place / kResolvedRecipe, ignored))
      return (place / kResolvedRecipe).string();
  return "";
}

PromptWords choose_words(const Options& options, const ModelFiles& files,
                         std::vector<std::string>& remarks) {
  Recipe recipe;
  const std::string path =
      find_recipe_of_run(options.adapter.empty() ? options.model : options.adapter);
  try {
    if (!path.empty()) recipe = read_recipe(path);
  } catch (const UserError& error) {
    remarks.push_back(fmt::format("the recipe of the run is not used: {}", error.what()));
  }
  if (!options.chat_template.empty())
    recipe.data.template_name = options.chat_template;
  else if (!recipe.data.template_name.empty())
    remarks.push_back(fmt::format("template is not given: \"{}\" is what {} trained with",
                                  recipe.data.template_name, path));
  return {template_of(recipe, {files.tokenizer, files.tokenizer_config}, remarks),
          encode_options_of(recipe).words};
}

Conversation conversation_of(const Options& options) {
  Conversation conversation;
  conversation.system = options.system;
  conversation.turns = {{Role::user, options.prompt}};
  return conversation;
}

GeneratorSpec make_spec(const Options& options, const ModelFiles& files, size_t prompt_tokens) {
  GeneratorSpec spec;
  spec.model.config = parse_model_config(files.config);
  spec.model.trains = false;
  match_quantised_weights(*files.weights, spec.model);
  spec.capacity = static_cast<int64_t>(prompt_tokens) + options.max_new_tokens;
  spec.piece = std::min<int64_t>(spec.piece, static_cast<int64_t>(prompt_tokens));
  if (options.f32) spec.model.activation = DType::f32;
  if (!options.adapter.empty()) spec.model.lora = read_adapter_config(options.adapter);
  return spec;
}

// The logits after every token of the prompt, for comparison with another implementation.
int write_logits(Generator& generator, std::span<const int32_t> prompt, const Options& options) {
  const auto rows = static_cast<int64_t>(prompt.size());
  const auto vocab = static_cast<int64_t>(generator.logits().size());
  SafetensorsWriter writer(options.logits, {{"logits", FileType::f32, {rows, vocab}}}, {});
  for (size_t t = 0; t < prompt.size(); ++t) {
    generator.pass(prompt.subspan(t, 1));
    writer.append("logits", std::as_bytes(generator.logits()));
  }
  writer.finish();
  if (options.json)
    fmt::print("{}\n",
               nlohmann::ordered_json{{"ids", std::vector<int32_t>(prompt.begin(), prompt.end())},
                                      {"logits", options.logits}}
                   .dump());
  else
    fmt::print("{}\n", fmt::join(prompt, ","));
  return kDone;
}

void check(const Options& options) {
  if (options.max_new_tokens < 1 || options.max_new_tokens > kMostNewTokens)
    throw UserError(
        fmt::format("--max-new-tokens must be at least 1 and at most {}", kMostNewTokens));
  if (!(options.temperature >= 0)) throw UserError("--temperature must not be below 0");
  if (!(options.top_p > 0 && options.top_p <= 1))
    throw UserError("--top-p must be above 0 and at most 1");
  if (options.top_k < 0) throw UserError("--top-k must not be below 0");
  if (options.temperature == 0 && (options.top_p < 1 || options.top_k > 0))
    print_remarks(
        {"--top-p and --top-k have no effect at --temperature 0, which takes the likeliest "
         "token"});
}

// What a prompt that gives no finite logits is answered with.
[[noreturn]] void refuse_spoilt(const NotFinite& error, const ModelFiles& files,
                                const TensorSource* adapter) {
  for (const TensorSource* source :
       {static_cast<const TensorSource*>(files.weights.get()), adapter})
    if (source)
      if (const auto name = find_not_finite(*source))
        throw DamagedFile(fmt::format(
            "{}: the tensor '{}' holds values that are no finite numbers, so there is no "
            "answer; use a model or checkpoint without them",
            source->path(), *name));
  throw NotFinite(
      fmt::format("{}: the weights are numbers, but too large to compute with; there is "
                  "no answer",
                  error.what()));
}

// Logits never take the place of what they are computed from.
void check_logits_path(const Options& options) {
  if (options.logits.empty()) return;
  std::error_code ignored;  // what cannot be looked at is refused where it is opened
  const auto real = [&](const fs::path& path) { return fs::weakly_canonical(path, ignored); };
  const fs::path folder = real(fs::absolute(options.logits, ignored)).parent_path();
  for (const std::string& model : {options.model, options.adapter})
    if (!model.empty() && (folder == real(model) || real(options.logits) == real(model)))
      throw UserError(
          fmt::format("{} is in the folder of the model, or the model itself; give "
                      "--logits another path",
                      options.logits));
}

int run_generate(const Options& options) {
  check(options);
  check_logits_path(options);
  const ModelFiles files = open_model(options.model);
  if (files.tokenizer.is_null())
    throw UserError(fmt::format("{} has no tokenizer.json; a prompt needs one", files.path));
  const Tokenizer tokenizer = Tokenizer::from_json(files.tokenizer, files.tokenizer_config);
  std::vector<std::string> remarks;
  const auto [chat_template, words] = choose_words(options, files, remarks);
  if (auto missing = missing_markers_remark(chat_template, tokenizer))
    remarks.push_back(std::move(*missing));
  print_remarks(remarks);
  const std::vector<int32_t> prompt =
      chat_template.encode_prompt(conversation_of(options), tokenizer, words);
  if (prompt.empty()) throw UserError("the prompt is empty; give --prompt \"...\"");

  const GeneratorSpec spec = make_spec(options, files, prompt.size());
  if (spec.capacity > spec.model.config.max_position)
    print_remarks({past_positions_remark("prompt and answer", spec.capacity, spec.model.config)});
  const std::unique_ptr<Backend> backend = open_backend(options.device, options.threads);
  const Rehearsal rehearsal = rehearse_generation(spec, backend->profile());
  if (rehearsal.arena_bytes() + resident_bytes() > default_budget_bytes())
    throw OutOfBudget("generation needs more memory than there is; ask for fewer new tokens",
                      rehearsal.snapshot, rehearsal.arena_bytes());
  std::unique_ptr<TensorSource> adapter;
  if (!options.adapter.empty()) adapter = open_adapter_weights(options.adapter);

  Ledger ledger;
  Arena arena(backend->device(), ledger, rehearsal.layout);
  Generator generator(*backend, arena, spec);
  generator.load(files.weights.get(), adapter.get());
  SamplingSpec sampling;
  sampling.greedy = options.temperature == 0;
  sampling.temperature = options.temperature;
  sampling.top_p = options.top_p;
  sampling.top_k = options.top_k;
  sampling.vocabulary = tokenizer.vocab_size();
  std::vector<int32_t> answer;
  try {
    if (!options.logits.empty()) return write_logits(generator, prompt, options);
    answer = generator.generate(prompt, options.max_new_tokens, chat_template.stop_ids(tokenizer),
                                sampling, static_cast<uint64_t>(options.seed));
  } catch (const NotFinite& error) {
    refuse_spoilt(error, files, adapter.get());
  }
  const std::string text = tokenizer.decode(answer, true);
  if (options.json)
    fmt::print("{}\n", nlohmann::ordered_json{{"text", text},
                                              {"template", chat_template.name()},
                                              {"prompt_tokens", prompt.size()},
                                              {"new_tokens", answer.size()},
                                              {"ledger", to_json(ledger.snapshot())}}
                           .dump(2));
  else
    fmt::print("{}\n", text);
  if (options.ledger) tell(accounts_table(ledger.snapshot()));
  return kDone;
}

}  // namespace

Command add_generate(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--model", options->model, "a model folder or a GGUF file")->required();
  app.add_option("--adapter", options->adapter, "a folder that a LoRA run wrote");
  app.add_option("--prompt", options->prompt, "what to answer")->required();
  app.add_option("--system", options->system, "the system text");
  app.add_option("--template", options->chat_template,
                 "the chat template; else the one that the adapter or model was trained with, else "
                 "the nearest to the tokenizer's own");
  app.add_option("--max-new-tokens", options->max_new_tokens, "tokens of the answer at most");
  app.add_option("--temperature", options->temperature, "0: greedy");
  app.add_option("--top-p", options->top_p, "draw from the likeliest tokens of this probability");
  app.add_option("--top-k", options->top_k, "draw from this many tokens; 0: all");
  app.add_option("--seed", options->seed, "of drawing");
  app.add_option("--device", options->device, "auto, cpu or cuda:N");
  app.add_option("--threads", options->threads, "0: all cores");
  app.add_option("--logits", options->logits,
                 "write the prompt's logits to this safetensors file, print its ids, and stop");
  app.add_flag("--f32", options->f32, "hold activations in f32 in place of bf16");
  app.add_flag("--ledger", options->ledger, "print the accounts to stderr");
  app.add_flag("--json", options->json, "one JSON object on stdout");
  return [options] { return run_generate(*options); };
}

}  // namespace cairn::program
