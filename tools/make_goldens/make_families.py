"""Makes tests/golden/data/families/NAME: a random checkpoint of every family, an adapter, and what PyTorch,
transformers and peft compute from them. Formats: tests/golden/data/README.md.

    python make_families.py [OUTPUT_FOLDER]
"""

import hashlib
import json
import math
import pathlib
import shutil
import sys

import peft
import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from make_tiny import batch
from torch_run import LINEARS, checks, logits_of, loss_of, peft_name, trainable_gradients

RANK = 4
COMMON = dict(
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    vocab_size=64,
    max_position_embeddings=128,
    bos_token_id=1,
    eos_token_id=2,
    pad_token_id=None,  # PyTorch keeps gradients from the row of a padding token
    attn_implementation="eager",
)

FAMILIES = {
    # Biases everywhere, and frequencies stretched by one factor.
    "llama_biases": (
        transformers.LlamaConfig,
        dict(
            attention_bias=True,
            mlp_bias=True,
            rope_parameters=dict(rope_type="linear", rope_theta=10000.0, factor=4.0),
        ),
    ),
    # Sequences of 37 and 23 tokens go past both contexts.
    "llama_dynamic": (
        transformers.LlamaConfig,
        dict(
            max_position_embeddings=16,
            num_hidden_layers=1,
            rope_parameters=dict(rope_type="dynamic", rope_theta=10000.0, factor=2.0),
        ),
    ),
    "mistral": (transformers.MistralConfig, dict(sliding_window=9, rope_theta=1e6)),
    # YaRN ramps over the middle pairs; the second layer sees through a window.
    "qwen2": (
        transformers.Qwen2Config,
        dict(
            use_sliding_window=True,
            sliding_window=7,
            max_window_layers=1,
            rope_parameters=dict(
                rope_type="yarn",
                rope_theta=10000.0,
                factor=4.0,
                original_max_position_embeddings=32,
            ),
        ),
    ),
    "qwen3": (
        transformers.Qwen3Config,
        dict(head_dim=12, tie_word_embeddings=True, rope_theta=1e6),
    ),
    # Caps so low that they bite, a scale that is not the head's own.
    "gemma2": (
        transformers.Gemma2Config,
        dict(
            head_dim=12,
            sliding_window=9,
            query_pre_attn_scalar=10,
            attn_logit_softcapping=3.0,
            final_logit_softcapping=2.0,
        ),
    ),
    # Two local layers, one global one; the latter's frequencies are stretched.
    "gemma3": (
        transformers.Gemma3TextConfig,
        dict(
            num_hidden_layers=3,
            num_key_value_heads=1,
            head_dim=12,
            sliding_window=9,
            sliding_window_pattern=3,
            query_pre_attn_scalar=10,
            rope_parameters=dict(
                full_attention=dict(rope_type="linear", rope_theta=1e6, factor=8.0),
                sliding_attention=dict(rope_type="default", rope_theta=1e4),
            ),
        ),
    ),
    # Six of eight elements of a head turn, each pair by a divisor of its own.
    "phi3": (
        transformers.Phi3Config,
        dict(
            original_max_position_embeddings=64,
            partial_rotary_factor=0.75,
            sliding_window=11,
            tie_word_embeddings=True,
            rope_scaling=dict(
                rope_type="longrope",
                short_factor=[1.0, 1.25, 1.5],
                long_factor=[2.0, 5.0, 9.0],
            ),
        ),
    ),
}


def random_model(config, generator):
    model = AutoModelForCausalLM.from_config(config)
    is_gemma = "gemma" in config.model_type
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if name.endswith("bias"):
                parameter.copy_(0.3 * noise)
            elif parameter.dim() == 1:  # a norm
                parameter.copy_((0 if is_gemma else 1) + 0.2 * noise)
            elif "embed" in name or "lm_head" in name:
                parameter.copy_(0.3 * noise)
            else:
                parameter.copy_(noise * (1.3 / math.sqrt(parameter.shape[1])))
    return model.to(torch.bfloat16)


def write_config(config, folder):
    """config.json as it lies on the hub, without what depends on who wrote it."""
    path = folder / "config.json"
    written = json.loads(path.read_text())
    path.write_text(json.dumps(written, indent=2, sort_keys=True) + "\n")


def save_adapter(model, folder):
    model.save_pretrained(folder / "adapter", save_embedding_layers=False)
    (folder / "adapter" / "README.md").unlink(missing_ok=True)
    path = folder / "adapter" / "adapter_config.json"
    written = json.loads(path.read_text())
    # peft writes this machine's path and a set in any order; the file must not change with either.
    written["base_model_name_or_path"] = folder.name
    written["target_modules"].sort()
    path.write_text(json.dumps(written, indent=2, sort_keys=True) + "\n")


def is_kept(name, tensor):
    """Gradients that are stored whole; of the others, sums."""
    return tensor.dim() == 1 or name.endswith(("layers.1.self_attn.k_proj.weight", "qkv_proj.weight"))


def make(name, config_class, settings, root):
    folder = root / "families" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")
    generator = torch.Generator().manual_seed(seed)

    config = config_class(**{**COMMON, **settings})
    random_model(config, generator).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    write_config(config, folder)
    ids, labels = batch(config.vocab_size, generator)
    if name == "llama_dynamic":  # its frequencies follow the longest sequence; one says it all
        ids, labels = [i[:23] for i in ids], [l[:23] for l in labels]

    def load(dtype):
        return AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, attn_implementation="eager"
        )

    tensors = {}
    facts = {
        "seed": seed,
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "peft": peft.__version__,
    }
    for s, (i, l) in enumerate(zip(ids, labels)):
        tensors[f"ids.{s}"] = i
        tensors[f"labels.{s}"] = l
    for dtype, word in ((torch.float32, "f32"), (torch.bfloat16, "bf16")):
        for s, logits in enumerate(logits_of(load(dtype), ids)):
            tensors[f"base.logits_{word}.{s}"] = logits

    model = load(torch.float32)
    loss, count = loss_of(model, ids, labels)
    loss.backward()
    gradients = trainable_gradients(model)
    for n, g in gradients.items():
        if is_kept(n, g):
            tensors[f"full.gradient.{n}"] = g
    facts["full"] = dict(
        loss=loss.item(),
        labelled_tokens=count,
        gradient_checks={n: checks(g) for n, g in sorted(gradients.items())},
    )

    # LoRA, with B not zero so that every gradient is.
    targets = ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"] if name == "phi3" else LINEARS
    lora = LoraConfig(r=RANK, lora_alpha=2 * RANK, target_modules=targets, task_type="CAUSAL_LM")
    model = get_peft_model(load(torch.float32), lora)
    with torch.no_grad():
        for n, p in model.named_parameters():
            if p.requires_grad:
                noise = torch.rand(p.shape, generator=generator) * 2 - 1
                p.copy_(noise / math.sqrt(p.shape[1]) if "lora_A" in n else 0.1 * noise)
    save_adapter(model, folder)
    model = PeftModel.from_pretrained(load(torch.float32), folder / "adapter", is_trainable=True)
    tensors["lora.logits_f32.1"] = logits_of(model, ids)[1]
    loss, count = loss_of(model, ids, labels)
    loss.backward()
    for n, g in trainable_gradients(model, peft_name).items():
        tensors[f"lora.gradient.{n}"] = g
    facts["lora"] = dict(r=RANK, alpha=2 * RANK, loss=loss.item(), labelled_tokens=count)

    save_file({n: t.contiguous() for n, t in tensors.items()}, folder / "golden.safetensors")
    for path in folder.rglob("*.safetensors"):
        path.chmod(0o644)
    (folder / "golden.json").write_text(json.dumps(facts, indent=1) + "\n")
    stored = load_file(folder / "golden.safetensors")
    assert all(torch.isfinite(t).all() for t in stored.values() if t.is_floating_point())
    print(name, "full", facts["full"]["loss"], "lora", facts["lora"]["loss"])


def make_spectra(root):
    """Inverse frequencies of real configurations: by transformers' own functions."""
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    cases = {}

    def add(name, positions, **settings):
        config = transformers.LlamaConfig(
            hidden_size=settings["head_dim"] * 4, num_attention_heads=4, **settings
        )
        kind = config.rope_parameters["rope_type"]
        frequencies, magnitude = ROPE_INIT_FUNCTIONS[kind](config, "cpu", seq_len=positions)
        cases[name] = dict(
            head_dim=settings["head_dim"],
            max_position_embeddings=config.max_position_embeddings,
            rope=config.rope_parameters,
            positions=positions,
            frequencies=frequencies.double().tolist(),
            magnitude=float(magnitude),
        )

    llama3 = dict(rope_type="llama3", rope_theta=5e5, low_freq_factor=1.0, high_freq_factor=4.0)
    yarn = dict(rope_type="yarn", rope_theta=1e6, original_max_position_embeddings=32768)
    longrope = dict(
        rope_type="longrope",
        rope_theta=1e4,
        original_max_position_embeddings=4096,
        short_factor=[1 + 0.01 * i for i in range(8)],
        long_factor=[1 + 2.5 * i for i in range(8)],
    )
    add("llama-3.1-8b", 8192, head_dim=128, max_position_embeddings=131072,
        rope_parameters=dict(llama3, factor=8.0, original_max_position_embeddings=8192))
    add("llama-3.2-1b", 8192, head_dim=64, max_position_embeddings=131072,
        rope_parameters=dict(llama3, factor=32.0, original_max_position_embeddings=8192))
    add("qwen2.5-yarn", 8192, head_dim=128, max_position_embeddings=32768,
        rope_parameters=dict(yarn, factor=4.0))
    add("yarn-with-mscale", 100, head_dim=32, max_position_embeddings=131072,
        rope_parameters=dict(yarn, factor=40.0, mscale=1.0, mscale_all_dim=0.7, truncate=False,
                             original_max_position_embeddings=4096))
    add("linear", 100, head_dim=32, max_position_embeddings=4096,
        rope_parameters=dict(rope_type="linear", rope_theta=1e4, factor=2.5))
    for positions in (100, 5000):
        add(f"dynamic-{positions}", positions, head_dim=32, max_position_embeddings=4096,
            rope_parameters=dict(rope_type="dynamic", rope_theta=1e4, factor=2.0))
        add(f"longrope-{positions}", positions, head_dim=16, max_position_embeddings=131072,
            rope_parameters=dict(longrope))
    (root / "spectra.json").write_text(json.dumps(cases, indent=1) + "\n")


def main():
    torch.set_num_threads(1)
    here = pathlib.Path(__file__).resolve().parent
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here / "../../tests/golden/data"
    make_spectra(root)
    for name, (config_class, settings) in FAMILIES.items():
        make(name, config_class, settings, root)


if __name__ == "__main__":
    main()
