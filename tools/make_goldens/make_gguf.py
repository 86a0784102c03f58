"""Makes tests/golden/data/gguf: blocks of every readable ggml type with what the gguf package decodes from
them, and the family checkpoints as GGUF files. Run make_families.py first.

    python make_gguf.py [OUTPUT_FOLDER]
"""

import json
import pathlib
import shutil
import sys

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type
from safetensors.numpy import save_file
from safetensors.torch import load_file

TYPES = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"]
BLOCKS = 3

# How the keys of a config.json are called in a GGUF, below the architecture's name.
KEYS = {
    "hidden_size": "embedding_length",
    "intermediate_size": "feed_forward_length",
    "num_hidden_layers": "block_count",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "max_position_embeddings": "context_length",
}
ARCHITECTURES = {
    "qwen3": gguf.MODEL_ARCH.QWEN3,
    "gemma2": gguf.MODEL_ARCH.GEMMA2,
    "gemma3": gguf.MODEL_ARCH.GEMMA3,
    "phi3": gguf.MODEL_ARCH.PHI3,
}


def make_blocks(folder):
    """Random codes under scales that are ordinary f16 numbers."""
    random = np.random.default_rng(5)
    tensors = {}
    for name in TYPES:
        kind = Type[name]
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        data = random.integers(0, 256, (BLOCKS, size), dtype=np.uint8)
        halves = random.uniform(0.001, 0.1, (BLOCKS, 2)).astype(np.float16)
        if name == "Q6_K":
            data[:, -2:] = halves[:, :1].view(np.uint8)
        elif name in ("Q4_0", "Q5_0", "Q8_0"):
            data[:, :2] = halves[:, :1].view(np.uint8)
        else:
            data[:, :4] = halves.view(np.uint8)
        values = gguf.quants.dequantize(data.reshape(-1), kind)
        assert values.size == BLOCKS * elements and np.isfinite(values).all()
        tensors[f"{name}.blocks"] = data.reshape(-1)
        tensors[f"{name}.values"] = values.astype(np.float32).reshape(-1)
    save_file(tensors, folder / "blocks.safetensors")


def add_config(writer, config, name):
    arch = writer.arch
    for key, word in KEYS.items():
        writer.add_uint32(f"{arch}.{word}", config[key])
    head_dim = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    rope = config["rope_parameters"]
    writer.add_rope_freq_base(rope.get("full_attention", rope)["rope_theta"])
    if name in ("gemma2", "gemma3", "phi3"):
        writer.add_sliding_window(config["sliding_window"])
    if name == "gemma2":
        writer.add_attn_logit_softcapping(config["attn_logit_softcapping"])
        writer.add_final_logit_softcapping(config["final_logit_softcapping"])
    if name == "gemma3":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(rope["full_attention"]["factor"])
    if name == "phi3":
        writer.add_rope_dimension_count(int(head_dim * rope["partial_rotary_factor"]))
        writer.add_rope_scaling_orig_ctx_len(config["original_max_position_embeddings"])
        for kind in ("short", "long"):
            writer.add_tensor(
                f"rope_factors_{kind}.weight", np.array(rope[f"{kind}_factor"], np.float32)
            )


def make_model(name, root, folder):
    source = root / "families" / name
    config = json.loads((source / "config.json").read_text())
    names = gguf.get_tensor_name_map(ARCHITECTURES[name], config["num_hidden_layers"])
    is_split = name == "gemma2"
    path = folder / f"{name}.gguf"
    writer = gguf.GGUFWriter(
        path,
        gguf.MODEL_ARCH_NAMES[ARCHITECTURES[name]],
        split_max_tensors=12 if is_split else 0,
    )
    add_config(writer, config, name)
    for tensor, value in load_file(source / "model.safetensors").items():
        array = value.float().numpy()
        if name.startswith("gemma") and tensor.endswith("norm.weight"):
            array = array + 1  # as llama.cpp's converter writes them
        target = names.get_name(tensor, try_suffixes=(".weight", ".bias"))
        if array.ndim == 1:
            writer.add_tensor(target, array.astype(np.float32))
        else:
            stored = gguf.quants.quantize(array, Type.BF16)
            writer.add_tensor(target, stored, raw_dtype=Type.BF16)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    here = pathlib.Path(__file__).resolve().parent
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here / "../../tests/golden/data"
    folder = root / "gguf"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    make_blocks(folder)
    for name in ARCHITECTURES:
        make_model(name, root, folder)
    for path in sorted(folder.iterdir()):
        path.chmod(0o644)
        print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main()
