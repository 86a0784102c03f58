"""Does transformers, with bitsandbytes, read the 4-bit checkpoint that Cairn wrote and compute the same logits?

    python check_nf4.py --model FOLDER --ids 1,4093,198 [--logits FILE] [--full HF_FOLDER]

Loads FOLDER in float32 and prints the most likely next tokens at the last position. With --logits, a safetensors
file with a tensor `logits` [T, vocab] for the same ids, it prints how far the two are apart and exits 1 when that is
more than --tolerance times the spread of the logits. With --full, the folder that was quantised, it quantises every
weight again with bitsandbytes and counts the codes that differ. Used by hand; needs bitsandbytes beside
tools/make_goldens/requirements.txt.
"""

import argparse
import json
import pathlib
import sys

import torch
from bitsandbytes.functional import quantize_4bit
from bitsandbytes.nn import Linear4bit
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM


def load(folder):
    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, device_map="cpu", attn_implementation="eager"
    )
    linears = {n: m for n, m in model.named_modules() if isinstance(m, Linear4bit)}
    if not linears:
        sys.exit(f"no 4-bit linear layer in {folder}")
    for module in linears.values():
        module.compute_dtype = torch.float32
        module.support_avx512bf16_for_cpu = False  # a path that multiplies in bfloat16
    for parameter in model.parameters():
        if parameter.is_floating_point():
            parameter.data = parameter.data.float()
    print(f"{len(linears)} linear layers in 4 bits")
    return model, linears


def compare_codes(linears, folder):
    full = {}
    for path in sorted(folder.glob("*.safetensors")):
        full.update(load_file(path))
    differ = total = 0
    for name, module in linears.items():
        state = module.weight.quant_state
        codes, _ = quantize_4bit(
            full[f"{name}.weight"].float(), blocksize=state.blocksize, quant_type=state.quant_type
        )
        ours = module.weight.data.view(torch.uint8).flatten()
        theirs = codes.flatten()
        differ += int(((ours >> 4) != (theirs >> 4)).sum() + ((ours & 15) != (theirs & 15)).sum())
        total += 2 * theirs.numel()
    print(f"{differ} of {total} codes differ from those bitsandbytes makes")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", required=True, type=pathlib.Path)
    parser.add_argument("--ids", required=True, help="token ids, comma separated, or a JSON file")
    parser.add_argument("--logits", type=pathlib.Path)
    parser.add_argument("--full", type=pathlib.Path)
    parser.add_argument("--tolerance", type=float, default=1e-4)
    arguments = parser.parse_args()

    if pathlib.Path(arguments.ids).is_file():
        ids = json.loads(pathlib.Path(arguments.ids).read_text())
    else:
        ids = [int(i) for i in arguments.ids.split(",")]
    model, linears = load(arguments.model)
    if arguments.full:
        compare_codes(linears, arguments.full)
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0].float()

    top = torch.topk(logits[-1], 5)
    print("next tokens:", list(zip(top.indices.tolist(), [round(v, 4) for v in top.values.tolist()])))
    if not arguments.logits:
        return
    theirs = load_file(arguments.logits)["logits"].float()
    if theirs.shape != logits.shape:
        sys.exit(f"wanted logits {list(logits.shape)}, got {list(theirs.shape)}")
    difference = (theirs - logits).abs()
    spread = logits.std().item()
    agree = (theirs.argmax(-1) == logits.argmax(-1)).float().mean().item()
    print(f"largest difference {difference.max():.3g}, mean {difference.mean():.3g}, spread {spread:.3g}")
    print(f"the same most likely token at {agree:.1%} of {len(ids)} positions")
    if difference.max().item() > arguments.tolerance * spread:
        sys.exit(f"more than {arguments.tolerance} times the spread apart")


if __name__ == "__main__":
    main()
