"""Makes tests/golden/data/tiny_llama3 and tiny_llama_tied: a random checkpoint each, an adapter, and what
PyTorch, transformers and peft compute from them. Formats: tests/golden/data/README.md.

    python make_tiny.py [OUTPUT_FOLDER]
"""

import hashlib
import json
import math
import pathlib
import shutil
import sys

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM, Trainer

from torch_run import LINEARS, checks, logits_of, loss_of, peft_name, train, trainable_gradients

LENGTHS = (37, 23)  # tokens of the two sequences
PROMPTS = (11, 5)  # how many leading labels are -100

COMMON = dict(
    hidden_size=64,
    intermediate_size=96,
    num_hidden_layers=3,
    num_attention_heads=4,
    vocab_size=192,
    max_position_embeddings=256,
    rms_norm_eps=1e-5,
    bos_token_id=1,
    eos_token_id=2,
    attn_implementation="eager",
)
MODELS = {
    # The scaling bites: with theta 10000 and an original length of 32 the first frequency stays, the
    # second is interpolated, the rest are divided by the factor.
    "tiny_llama3": dict(
        num_key_value_heads=2,
        head_dim=16,
        rope_theta=10000.0,
        rope_scaling=dict(
            rope_type="llama3",
            factor=8.0,
            low_freq_factor=1.0,
            high_freq_factor=4.0,
            original_max_position_embeddings=32,
        ),
        tie_word_embeddings=False,
    ),
    # head_dim is not hidden_size / heads, one key-value head serves four query heads, and the head
    # is the embedding.
    "tiny_llama_tied": dict(
        num_key_value_heads=1,
        head_dim=24,
        rope_theta=500000.0,
        tie_word_embeddings=True,
    ),
}


def random_model(config, generator):
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.dim() == 1:  # a norm
                parameter.copy_(1 + 0.2 * noise)
            elif "embed" in name or "lm_head" in name:
                parameter.copy_(0.3 * noise)
            else:
                parameter.copy_(noise * (1.3 / math.sqrt(parameter.shape[1])))
    return model.to(torch.bfloat16)


def batch(vocab, generator):
    ids = [torch.randint(0, vocab, (n,), generator=generator) for n in LENGTHS]
    labels = [i.clone() for i in ids]
    for label, prompt in zip(labels, PROMPTS):
        label[:prompt] = -100
    labels[0][20:23] = -100  # a masked turn in the middle
    return ids, labels


def save_adapter(model, folder):
    model.save_pretrained(folder / "adapter", save_embedding_layers=False)
    (folder / "adapter" / "README.md").unlink(missing_ok=True)
    path = folder / "adapter" / "adapter_config.json"
    written = json.loads(path.read_text())
    # peft writes this machine's path and a set in any order; the file must not change with either.
    written["base_model_name_or_path"] = folder.name
    written["target_modules"].sort()
    path.write_text(json.dumps(written, indent=2, sort_keys=True) + "\n")


def make(name, settings, root):
    folder = root / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")
    generator = torch.Generator().manual_seed(seed)

    config = LlamaConfig(**{**COMMON, **settings})
    random_model(config, generator).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    ids, labels = batch(config.vocab_size, generator)

    def load(dtype):
        return LlamaForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation="eager")

    tensors, facts = {}, {"seed": seed, "torch": torch.__version__}
    for s, (i, l) in enumerate(zip(ids, labels)):
        tensors[f"ids.{s}"] = i
        tensors[f"labels.{s}"] = l

    # The base model, in both precisions.
    model = load(torch.float32)
    for dtype, word in ((torch.float32, "f32"), (torch.bfloat16, "bf16")):
        for s, logits in enumerate(logits_of(load(dtype), ids)):
            tensors[f"base.logits_{word}.{s}"] = logits.float()
    tensors["rope.inverse_frequencies"] = model.model.rotary_emb.inv_freq.clone()

    # Full fine-tune: gradients of step 0, then AdamW.
    loss, count = loss_of(model, ids, labels)
    loss.backward()
    gradients = trainable_gradients(model)
    for n, g in gradients.items():
        if "layers." not in n or "layers.1." in n:
            tensors[f"full.gradient.{n}"] = g
    decay_names = set(Trainer.get_decay_parameter_names(None, model))
    facts["full"] = dict(
        loss=loss.item(),
        labelled_tokens=count,
        learning_rate=1e-3,
        betas=[0.9, 0.999],
        epsilon=1e-8,
        weight_decay=0.1,
        max_grad_norm=1.0,
        decayed=sorted(n for n, _ in model.named_parameters() if n in decay_names),
        gradient_checks={n: checks(g) for n, g in sorted(gradients.items())},
    )
    model = load(torch.float32)
    losses, norms = train(model, ids, labels, 1e-3, 0.1, decay_names)
    facts["full"].update(
        losses=losses,
        gradient_norms=norms,
        final_checks={n: checks(p) for n, p in sorted(model.named_parameters())},
    )
    for n in ("model.layers.1.self_attn.k_proj.weight", "model.layers.1.input_layernorm.weight"):
        tensors[f"full.final.{n}"] = dict(model.named_parameters())[n].detach().clone()

    # LoRA, with B not zero so that every gradient is.
    lora = LoraConfig(r=8, lora_alpha=16, target_modules=LINEARS, task_type="CAUSAL_LM")
    model = get_peft_model(load(torch.float32), lora)
    with torch.no_grad():
        for n, p in model.named_parameters():
            if p.requires_grad:
                noise = torch.rand(p.shape, generator=generator) * 2 - 1
                p.copy_(noise / math.sqrt(p.shape[1]) if "lora_A" in n else 0.1 * noise)
    save_adapter(model, folder)

    def load_lora(dtype):
        m = PeftModel.from_pretrained(load(dtype), folder / "adapter", is_trainable=True)
        for p in m.parameters():
            if p.requires_grad:
                p.data = p.data.float()
        return m

    model = load_lora(torch.float32)
    for s, logits in enumerate(logits_of(model, ids)):
        tensors[f"lora.logits_f32.{s}"] = logits
    loss, count = loss_of(model, ids, labels)
    loss.backward()
    for n, g in trainable_gradients(model, peft_name).items():
        tensors[f"lora.gradient.{n}"] = g
    model = load_lora(torch.float32)
    names = {n for n, p in model.named_parameters() if p.requires_grad}
    losses, norms = train(model, ids, labels, 1e-3, 0.0, names)
    for n, p in model.named_parameters():
        if p.requires_grad and "layers.1." in n:
            tensors[f"lora.final.{peft_name(n)}"] = p.detach().clone()
    facts["lora"] = dict(
        r=8,
        alpha=16,
        loss=loss.item(),
        labelled_tokens=count,
        learning_rate=1e-3,
        betas=[0.9, 0.999],
        epsilon=1e-8,
        weight_decay=0.0,
        max_grad_norm=1.0,
        losses=losses,
        gradient_norms=norms,
        final_checks={
            peft_name(n): checks(p) for n, p in sorted(model.named_parameters()) if p.requires_grad
        },
    )

    save_file({n: t.contiguous() for n, t in tensors.items()}, folder / "golden.safetensors")
    for path in folder.rglob("*.safetensors"):
        path.chmod(0o644)
    (folder / "golden.json").write_text(json.dumps(facts, indent=1) + "\n")
    stored = load_file(folder / "golden.safetensors")
    assert all(torch.isfinite(t).all() for t in stored.values() if t.is_floating_point())
    print(name, "full", facts["full"]["losses"], facts["full"]["gradient_norms"])
    print(name, "lora", facts["lora"]["losses"], facts["lora"]["gradient_norms"])


def main():
    torch.set_num_threads(1)
    here = pathlib.Path(__file__).resolve().parent
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here / "../../tests/golden/data"
    for name, settings in MODELS.items():
        make(name, settings, root)


if __name__ == "__main__":
    main()
