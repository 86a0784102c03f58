"""LLaMA-Factory's templates without what text does not need, and every marker that they end turns with."""

import importlib.machinery
import sys
import types


def import_templates():
    # Sound is decoded by torchaudio, which no template of text touches.
    sound = types.ModuleType("torchaudio")
    sound.__spec__ = importlib.machinery.ModuleSpec("torchaudio", None)
    sys.modules.setdefault("torchaudio", sound)
    from llamafactory.data import template
    return template


def all_markers() -> list[str]:
    markers = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|begin_of_text|>", "<|end_of_text|>",
               "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>", "<bos>", "<eos>",
               "<start_of_turn>", "<end_of_turn>", "[INST]", "[/INST]", "[TOOL_CALLS]", "[AVAILABLE_TOOLS]",
               "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "<think>", "</think>", "<tool_call>",
               "</tool_call>"]
    for row in import_templates().TEMPLATES.values():
        markers += row.stop_words
        for formatter in (row.format_prefix, row.format_system, row.format_user, row.format_assistant):
            markers += [slot["token"] for slot in formatter.slots if isinstance(slot, dict)]
    return list(dict.fromkeys(markers))
