"""Makes the seeds of the fuzz targets, tests/fuzz/seeds/TARGET/*: small files that each reader takes,
and a few that it refuses late. The first of a target by name must be one that is read.

    python make_fuzz_seeds.py [OUTPUT_FOLDER]
"""

import json
import pathlib
import struct
import sys

OUTPUT = pathlib.Path(__file__).resolve().parents[1] / "tests/fuzz/seeds"


def floats(count):
    return struct.pack(f"<{count}f", *range(count))


def safetensors(tensors, metadata=None):
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def quantised():
    state = json.dumps(
        {"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [2, 64]}
    ).encode()
    return safetensors(
        {
            "p.weight": ("U8", [64, 1], bytes(range(64))),
            "p.weight.absmax": ("F32", [2], floats(2)),
            "p.weight.quant_map": ("F32", [16], floats(16)),
            "p.weight.quant_state.bitsandbytes__nf4": ("U8", [len(state)], state),
        }
    )


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def gguf(values, tensors, alignment=32):
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values))
    for key, value in values.items():
        head += text(key)
        if isinstance(value, float):
            head += struct.pack("<If", 6, value)
        elif isinstance(value, int):
            head += struct.pack("<II", 4, value)
        elif isinstance(value, str):
            head += struct.pack("<I", 8) + text(value)
        elif isinstance(value[0], str):
            head += struct.pack("<IIQ", 9, 8, len(value)) + b"".join(text(item) for item in value)
        else:
            head += struct.pack("<IIQ", 9, 5, len(value)) + struct.pack(f"<{len(value)}i", *value)
    data = b""
    for name, (dims, kind, content) in tensors.items():
        data += b"\0" * (-len(data) % alignment)
        head += text(name) + struct.pack(f"<I{len(dims)}Q", len(dims), *dims)
        head += struct.pack("<IQ", kind, len(data))
        data += content
    return head + b"\0" * (-len(head) % alignment) + data


LLAMA = {
    "general.architecture": "llama",
    "llama.block_count": 1,
    "llama.context_length": 64,
    "llama.embedding_length": 16,
    "llama.feed_forward_length": 32,
    "llama.attention.head_count": 2,
    "llama.attention.head_count_kv": 1,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
    "llama.rope.freq_base": 10000.0,
}
VOCABULARY = {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
    "tokenizer.ggml.tokens": ["a", "b", "ab", "</s>"],
    "tokenizer.ggml.token_type": [1, 1, 1, 3],
    "tokenizer.ggml.merges": ["a b"],
    "tokenizer.ggml.eos_token_id": 3,
}
TENSORS = {
    "token_embd.weight": ([16, 4], 0, floats(64)),
    "output_norm.weight": ([16], 0, floats(16)),
    "blk.0.attn_q.weight": ([16, 16], 0, floats(256)),
    "blk.0.attn_k.weight": ([16, 8], 1, b"\1" * 256),
}


def byte_level_tokenizer():
    alphabet = [chr(code) for code in range(0x21, 0x7F)] + ["Ġ", "Ċ"]
    vocabulary = {letter: index for index, letter in enumerate(alphabet)}
    vocabulary.update({"he": 200, "ll": 201})
    return {
        "version": "1.0",
        "added_tokens": [{"id": 202, "content": "<|im_end|>", "normalized": False, "special": True}],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": "\\p{N}{1,3}|\\s+"}, "behavior": "Isolated", "invert": False},
                {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
            ],
        },
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": ["h e", ["l", "l"]]},
    }


def sentencepiece_tokenizer():
    vocabulary = {"<unk>": 0, "<s>": 1, "</s>": 2}
    vocabulary.update({f"<0x{byte:02X}>": 3 + byte for byte in range(256)})
    vocabulary.update({"▁": 259, "h": 260, "e": 261, "▁h": 262, "▁he": 263})
    return {
        "added_tokens": [{"id": 1, "content": "<s>", "special": True}],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            ],
        },
        "pre_tokenizer": None,
        "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
        "model": {
            "type": "BPE",
            "byte_fallback": True,
            "unk_token": "<unk>",
            "fuse_unk": True,
            "vocab": vocabulary,
            "merges": ["▁ h", "▁h e"],
        },
    }


LLAMA_CONFIG = {
    "model_type": "llama",
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 272,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
}

RECIPE = """model_name_or_path: m
stage: sft
do_train: true
finetuning_type: lora
lora_target: q_proj,v_proj
dataset: rows
template: chatml
cutoff_len: 256
learning_rate: 1.0e-4
bf16: true
memory_budget: 24GiB
gradient_checkpointing: every:2
deepspeed: {bf16: {enabled: auto}, zero_optimization: {stage: 2, reduce_bucket_size: 5e8}}
"""

DEEPSPEED = {
    "_comment": "all kinds of values",
    "train_batch_size": "auto",
    "gradient_clipping": 1.0,
    "fp16": {"enabled": "auto", "loss_scale": 0},
    "bf16": {"enabled": True},
    "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": [0.9, 0.95]}},
    "zero_optimization": {
        "stage": 3,
        "reduce_bucket_size": 5e8,
        "stage3_prefetch_bucket_size": "auto",
        "offload_optimizer": {"device": "nvme", "nvme_path": "/tmp"},
        "offload_param": {"device": "cpu", "pin_memory": True},
    },
}


def dump(value):
    return json.dumps(value, ensure_ascii=False).encode()


def seeds():
    plain = {"a": ("F32", [2, 2], floats(4)), "b": ("BF16", [3], b"abcdef"), "c": ("U8", [0], b"")}
    yield "safetensors", "1_plain", safetensors(plain, {"format": "pt"})
    yield "safetensors", "2_quantised", quantised()
    yield "safetensors", "3_git_lfs", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
    yield "gguf", "1_model", gguf({**LLAMA, **VOCABULARY}, TENSORS)
    yield "gguf", "2_config", gguf(LLAMA, {})
    yield "index", "1_two_shards", dump(
        {
            "metadata": {"total_size": 8},
            "weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"},
        }
    )
    yield "tokenizer", "1_byte_level", dump(byte_level_tokenizer())
    yield "tokenizer", "2_sentencepiece", dump(sentencepiece_tokenizer())
    yield "tokenizer", "3_with_config", dump(
        {
            "tokenizer": byte_level_tokenizer(),
            "config": {
                "eos_token": {"content": "<|im_end|>"},
                "added_tokens_decoder": {"202": {"content": "<|im_end|>", "special": True}},
            },
        }
    )
    yield "config", "1_llama", dump(LLAMA_CONFIG)
    scaling = {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4}
    yield "config", "2_llama3", dump({**LLAMA_CONFIG, "rope_scaling": scaling, "head_dim": 8})
    yield "config", "3_quantised", dump(
        {
            **LLAMA_CONFIG,
            "quantization_config": {
                "quant_method": "bitsandbytes",
                "load_in_4bit": True,
                "bnb_4bit_quant_type": "nf4",
                "bnb_4bit_use_double_quant": True,
            },
        }
    )
    yield "config", "4_qwen3", dump({**LLAMA_CONFIG, "model_type": "qwen3", "head_dim": 16})
    yield "config", "5_gemma2", dump(
        {
            **LLAMA_CONFIG,
            "model_type": "gemma2",
            "hidden_activation": "gelu_pytorch_tanh",
            "query_pre_attn_scalar": 8,
            "sliding_window": 16,
            "attn_logit_softcapping": 50.0,
            "final_logit_softcapping": 30.0,
        }
    )
    yield "adapter", "1_lora", dump(
        {"peft_type": "LORA", "r": 8, "lora_alpha": 16, "target_modules": ["q_proj"], "use_rslora": True}
    )
    yield "adapter", "2_saved_modules", dump(
        {
            "peft_type": "LORA",
            "r": 2,
            "lora_alpha": 4.5,
            "lora_dropout": 0.1,
            "target_modules": "all-linear",
            "modules_to_save": ["lm_head"],
        }
    )
    alpaca = [{"instruction": "say a", "input": "", "output": "b"}, {"instruction": "c", "output": "d"}]
    turns = [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "hello"}]
    lines = "\n".join(json.dumps(row) for row in alpaca)
    yield "rows", "1_array", b"\x00" + dump(alpaca)
    yield "rows", "2_lines", b"\x01" + lines.encode() + b"\r\n\n"
    yield "rows", "3_sharegpt", b"\x00" + dump([{"conversations": turns, "system": "be brief"}])
    yield "rows", "4_strings", b"\x01" + dump(lines.split("\n")[0])
    yield "rows", "5_csv", b'\x02instruction,input,output\n"say ""a""",,"b\nc"\nd,e,f\n'
    yield "rows", "6_txt", b"\x03one line\nanother\n"
    yield "dataset_info", "1_plain", dump({"rows": {"file_name": "rows.json"}})
    yield "dataset_info", "2_columns", dump(
        {
            "rows": {
                "file_name": "rows.json",
                "num_samples": 3,
                "columns": {"prompt": "instruction", "query": "input", "response": "output"},
            }
        }
    )
    yield "dataset_info", "3_messages", dump(
        {
            "rows": {
                "file_name": "rows.json",
                "formatting": "sharegpt",
                "columns": {"messages": "messages"},
                "tags": {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"},
            }
        }
    )
    yield "recipe", "1_yaml", b"y" + RECIPE.encode()
    yield "recipe", "2_json", b"j" + dump({"model_name_or_path": "m", "optim": "adamw_8bit", "max_steps": 3})
    yield "recipe", "3_alias", b"ymodel_name_or_path: &m x\noutput_dir: *m\nreport_to: [none]\n"
    yield "deepspeed", "1_all", dump(DEEPSPEED)
    weights = {"name": "weights.bin", "bytes": 4, "xxh3": "FILE_SUM"}
    yield "manifest", "1_one_file", dump({"format": "cairn checkpoint", "version": 1, "files": [weights]})
    yield "deepspeed", "2_old", dump({"zero_optimization": True, "bfloat16": {"enabled": "auto"}})


def main():
    output = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else OUTPUT
    for target, name, content in seeds():
        folder = output / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


main()
