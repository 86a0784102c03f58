"""What do 4 bits cost where peft and bitsandbytes train? The same rows, bf16 weights and NF4, their losses side by side.

    python compare_quality.py --model FOLDER --train ROWS --eval ROWS [--steps 300]

FOLDER is a model in bfloat16, such as `cairn export` makes of a GGUF. ROWS has a line for each row, as `cairn data
RECIPE --row N --json` prints it. LoRA of rank 16 on every linear layer, a row a step, cosine to zero after 5 % of
warm-up, AdamW; the weights of a layer are bfloat16's values or NF4 with double quantisation, the arithmetic is
float32. Used by hand; needs bitsandbytes beside tools/make_goldens/requirements.txt.
"""

import argparse
import json
import math
import pathlib
import time

import torch
from bitsandbytes.nn import Linear4bit
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, BitsAndBytesConfig

LINEAR = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def read_rows(path):
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [(torch.tensor([r["ids"]]), torch.tensor([r["labels"]])) for r in rows]


def load(path, weights):
    options = dict(dtype=torch.bfloat16, device_map="cpu", attn_implementation="sdpa")
    if weights == "nf4":
        options["quantization_config"] = BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=torch.float32,
        )
    model = AutoModelForCausalLM.from_pretrained(path, **options)
    for module in model.modules():
        if isinstance(module, Linear4bit):
            module.support_avx512bf16_for_cpu = False  # a path that multiplies in bfloat16
    for parameter in model.parameters():
        if parameter.is_floating_point():
            parameter.data = parameter.data.float()
    return model


@torch.no_grad()
def evaluate(model, rows):
    """The mean over tokens, as Cairn's eval_loss."""
    model.eval()
    total = count = 0
    for ids, labels in rows:
        n = int((labels[:, 1:] != -100).sum())
        total += float(model(input_ids=ids, labels=labels).loss) * n
        count += n
    model.train()
    return total / count


def train(model, rows, steps, rate):
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=rate, weight_decay=0)
    warm_up = math.ceil(0.05 * steps)
    for step in range(steps):
        done = (step - warm_up) / max(1, steps - warm_up)
        factor = step / warm_up if step < warm_up else 0.5 * (1 + math.cos(math.pi * done))
        optimizer.param_groups[0]["lr"] = rate * factor
        ids, labels = rows[step % len(rows)]
        model(input_ids=ids, labels=labels).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", required=True, type=pathlib.Path)
    parser.add_argument("--train", required=True, type=pathlib.Path)
    parser.add_argument("--eval", required=True, type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rate", type=float, default=2e-4)
    arguments = parser.parse_args()

    training, validation = read_rows(arguments.train), read_rows(arguments.eval)
    losses = {}
    for weights in ("bf16", "nf4"):
        torch.manual_seed(42)
        begin = time.time()
        model = load(arguments.model, weights)
        before = evaluate(model, validation)
        print(f"{weights}: before training {before:.4f}", flush=True)
        model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules=LINEAR, task_type="CAUSAL_LM"))
        train(model, training, arguments.steps, arguments.rate)
        losses[weights] = before, evaluate(model, validation)
        print(f"{weights}: after {arguments.steps} steps {losses[weights][1]:.4f}, {time.time() - begin:.0f} s", flush=True)
    for when, of_bf16, of_nf4 in zip(("before", "after"), losses["bf16"], losses["nf4"]):
        print(f"{when}: NF4 {100 * (of_nf4 / of_bf16 - 1):+.1f} % beside bf16")


if __name__ == "__main__":
    main()
