"""Does peft read the adapter that Cairn wrote, and does it compute the same logits?

    python check_adapter.py --base HF_FOLDER --adapter ADAPTER_FOLDER --ids 1,4093,198 [--logits FILE]

Loads the base model with transformers and the adapter with peft, in float32, and prints the most likely
next tokens at the last position. With --logits, a safetensors file with a tensor `logits` [T, vocab] for the
same ids, it prints how far the two are apart and exits 1 when that is more than --tolerance times the
spread of the logits. --base may also be a GGUF file. Used by hand; needs tools/make_goldens/requirements.txt.
"""

import argparse
import json
import pathlib
import sys

import torch
from peft import PeftModel
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM


def load_base(path, precision):
    dtype = torch.float32 if precision == "f32" else torch.bfloat16
    options = dict(dtype=dtype, attn_implementation="eager")
    if path.suffix == ".gguf":
        return AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, **options)
    return AutoModelForCausalLM.from_pretrained(path, **options)


def check_names(model, adapter):
    """Every tensor of the file must have found its place: peft only warns about one that has not."""
    stored = load_file(adapter / "adapter_model.safetensors")
    placed = {
        n.replace(".modules_to_save.default.", ".").replace(".default.", ".")
        for n, _ in model.named_parameters()
        if "lora_" in n or ".modules_to_save." in n
    }
    strange, missing = sorted(set(stored) - placed), sorted(placed - set(stored))
    if strange or missing:
        sys.exit(f"names differ: not in the model {strange[:3]}, not in the file {missing[:3]}")
    empty = [n for n, t in stored.items() if "lora_B" in n and not t.any()]
    print(f"{len(stored)} adapter tensors, all placed; {len(empty)} B matrices are zero")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--base", required=True, type=pathlib.Path)
    parser.add_argument("--adapter", type=pathlib.Path)
    parser.add_argument("--ids", required=True, help="token ids, comma separated, or a JSON file")
    parser.add_argument("--logits", type=pathlib.Path)
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--round-weights", action="store_true", help="round the base to bfloat16 first")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    arguments = parser.parse_args()

    if pathlib.Path(arguments.ids).is_file():
        ids = json.loads(pathlib.Path(arguments.ids).read_text())
    else:
        ids = [int(i) for i in arguments.ids.split(",")]
    model = load_base(arguments.base, arguments.precision)
    if arguments.round_weights:
        for parameter in model.parameters():
            parameter.data = parameter.data.bfloat16().to(parameter.dtype)
    if arguments.adapter:
        model = PeftModel.from_pretrained(model, arguments.adapter)
        check_names(model, arguments.adapter)
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
