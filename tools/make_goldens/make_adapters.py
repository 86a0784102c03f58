"""Makes tests/golden/data/adapters: PEFT adapters over the models of make_tiny.py, with rank-stabilised scaling and
with modules trained in full beside the pairs, and what peft and PyTorch compute from them. Formats:
tests/golden/data/README.md.

    python make_adapters.py [OUTPUT_FOLDER]
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
from transformers import LlamaForCausalLM, Trainer

from torch_run import STEPS, checks, logits_of, loss_of, peft_name, trainable_gradients

LEARNING_RATE, WEIGHT_DECAY, RATIO = 1e-3, 0.1, 16.0
ADAPTERS = {
    "rslora": dict(base="tiny_llama3", target_modules=["q_proj", "v_proj"], use_rslora=True),
    "beside": dict(base="tiny_llama3", target_modules=["q_proj"], modules_to_save=["lm_head", "norm"]),
    "beside_tied": dict(
        base="tiny_llama_tied", target_modules=["q_proj"], modules_to_save=["embed_tokens"]
    ),
    "beside_tied_both": dict(
        base="tiny_llama_tied", target_modules=["q_proj"], modules_to_save=["embed_tokens", "lm_head"]
    ),
}


def load(folder):
    return LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")


def write_adapter(model, folder, generator):
    """Random values that bfloat16 holds, so that half the bytes say the same."""
    with torch.no_grad():
        for n, p in model.named_parameters():
            if p.requires_grad:
                noise = torch.randn(p.shape, generator=generator)
                if "lora_A" in n:
                    p.copy_(noise / math.sqrt(p.shape[1]))
                elif "lora_B" in n:
                    p.copy_(0.05 * noise)
                else:
                    p.add_(0.1 * noise)
                p.copy_(p.bfloat16().float())
    model.save_pretrained(folder, save_embedding_layers=False)
    (folder / "README.md").unlink(missing_ok=True)
    path = folder / "adapter_config.json"
    written = json.loads(path.read_text())
    written["base_model_name_or_path"] = "a tiny Llama"
    written["target_modules"].sort()
    path.write_text(json.dumps(written, indent=2, sort_keys=True) + "\n")
    path = folder / "adapter_model.safetensors"
    save_file({n: t.bfloat16() for n, t in load_file(path).items()}, path, {"format": "pt"})
    path.chmod(0o644)


def lora_plus_groups(model):
    """As LLaMA-Factory groups parameters: B and vectors at the rate times the ratio."""
    decayed = set(Trainer.get_decay_parameter_names(None, model))
    slow, fast, fast_undecayed = [], [], []
    for n, p in model.named_parameters():
        if not p.requires_grad:
            continue
        if "lora_B" in n or p.ndim == 1:
            (fast if n in decayed else fast_undecayed).append(p)
        else:
            slow.append(p)
    rate = LEARNING_RATE * RATIO
    return [
        dict(params=slow, lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY),
        dict(params=fast, lr=rate, weight_decay=WEIGHT_DECAY),
        dict(params=fast_undecayed, lr=rate, weight_decay=0.0),
    ]


def train(model, ids, labels):
    optimizer = torch.optim.AdamW(lora_plus_groups(model), betas=(0.9, 0.999), eps=1e-8, foreach=False)
    losses = []
    for _ in range(STEPS):
        loss, _ = loss_of(model, ids, labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], 1.0)
        losses.append(loss.item())
        optimizer.step()
        optimizer.zero_grad()
    losses.append(loss_of(model, ids, labels)[0].item())
    return losses


def make(name, settings, root):
    settings = dict(settings)
    base = root / settings.pop("base")
    folder = root / "adapters" / name
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")
    generator = torch.Generator().manual_seed(seed)
    stored = load_file(base / "golden.safetensors")
    ids = [stored["ids.0"], stored["ids.1"]]
    labels = [stored["labels.0"], stored["labels.1"]]

    lora = LoraConfig(r=8, lora_alpha=16, task_type="CAUSAL_LM", **settings)
    write_adapter(get_peft_model(load(base), lora), folder, generator)

    def load_adapter():
        model = PeftModel.from_pretrained(load(base), folder, is_trainable=True)
        for p in model.parameters():
            p.data = p.data.float()
        return model

    model = load_adapter()
    save_file({"logits.1": logits_of(model, ids[1:])[0]}, folder / "golden.safetensors")
    (folder / "golden.safetensors").chmod(0o644)
    loss, _ = loss_of(model, ids, labels)
    loss.backward()
    gradients = trainable_gradients(model, lambda n: peft_name(n).replace(".modules_to_save", ""))
    losses = train(load_adapter(), ids, labels)
    facts = dict(
        base=base.name,
        torch=torch.__version__,
        loss=loss.item(),
        gradient_checks={n: checks(g) for n, g in sorted(gradients.items())},
        learning_rate=LEARNING_RATE,
        weight_decay=WEIGHT_DECAY,
        loraplus_lr_ratio=RATIO,
        max_grad_norm=1.0,
        losses=losses,
    )
    (folder / "golden.json").write_text(json.dumps(facts, indent=1) + "\n")
    print(name, len(gradients), "trained tensors, losses", losses)


def main():
    torch.set_num_threads(1)
    here = pathlib.Path(__file__).resolve().parent
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here / "../../tests/golden/data"
    shutil.rmtree(root / "adapters", ignore_errors=True)
    for name, settings in ADAPTERS.items():
        make(name, settings, root)


if __name__ == "__main__":
    main()
