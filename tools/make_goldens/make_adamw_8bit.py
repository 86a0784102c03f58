"""Makes tests/golden/data/adamw_8bit.safetensors and .json: bitsandbytes' dynamic maps, and steps of
8-bit AdamW over them, by NumPy in float32 after the order of bitsandbytes' CUDA kernel.

    python make_adamw_8bit.py [OUTPUT_FOLDER]

bitsandbytes' own CPU quantiser looks 65,536 bins up and cannot reach codes near zero, so it is not
asked; its maps are.
"""

import json
import pathlib
import sys

import bitsandbytes.functional as bnb
import numpy as np
import torch
from safetensors.numpy import save_file

BLOCK = 256
STEPS = 6
F = np.float32
SETTINGS = dict(learning_rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8, weight_decay=0.01)


def nearest(code_map, values):
    """The nearest code; of two equally near the even one, which is where bitsandbytes' search ends."""
    middles = (code_map[:-1] + code_map[1:]) * F(0.5)
    codes = np.searchsorted(middles, values, side="left")  # how many middles are below
    tie = (codes < len(middles)) & (middles[np.minimum(codes, len(middles) - 1)] == values)
    return np.where(tie & (codes % 2 == 1), codes + 1, codes)


def encode(code_map, values, keep_sign):
    codes = np.zeros(len(values), np.uint8)
    scales = []
    for begin in range(0, len(values), BLOCK):
        block = values[begin : begin + BLOCK]
        scale = np.max(np.abs(block))
        scales.append(scale)
        shares = block / (scale if scale > 0 else F(1))
        found = nearest(code_map, shares)
        if keep_sign:
            found = np.where((shares < 0) & ~np.signbit(code_map[found]), found - 1, found)
        codes[begin : begin + BLOCK] = found
    return codes, np.array(scales, F)


def decode(code_map, codes, scales):
    return code_map[codes] * np.repeat(scales, BLOCK)[: len(codes)]


def step(state, weights, gradients, t, signed, unsigned):
    lr, b1, b2 = F(SETTINGS["learning_rate"]), F(SETTINGS["beta1"]), F(SETTINGS["beta2"])
    c1 = F(1 - SETTINGS["beta1"] ** t)
    c2 = np.sqrt(F(1 - SETTINGS["beta2"] ** t))
    m = decode(signed, *state["m"]) * b1 + (F(1) - b1) * gradients
    v = decode(unsigned, *state["v"]) * b2 + (F(1) - b2) * gradients * gradients
    bad = ~np.isfinite(gradients)
    m[bad] = 0
    v[bad] = 0
    size = -lr * c2 / c1
    moved = weights + size * (m / (np.sqrt(v) + c2 * F(SETTINGS["epsilon"])))
    moved = moved * (F(1) - lr * F(SETTINGS["weight_decay"]))
    state["m"] = encode(signed, m, True)
    state["v"] = encode(unsigned, v, False)
    return np.where(bad, weights, moved).astype(F)


def main():
    here = pathlib.Path(__file__).resolve().parent
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here / "../../tests/golden/data"
    torch.set_num_threads(1)
    signed = bnb.create_dynamic_map(signed=True).numpy().astype(F)
    unsigned = bnb.create_dynamic_map(signed=False).numpy().astype(F)
    random = np.random.default_rng(11)
    count = 5 * BLOCK + 37
    size = 10.0 ** random.uniform(-6, 0, count)  # of each element's gradients
    weights = random.normal(0, 0.05, count).astype(F)
    tensors = {"map.signed": signed, "map.unsigned": unsigned, "weight.0": weights.copy()}
    zero = (np.zeros(count, np.uint8), np.zeros(6, F))
    state = {"m": zero, "v": zero}
    for t in range(1, STEPS + 1):
        gradients = (size * random.normal(0, 1, count)).astype(F)
        gradients[BLOCK : 2 * BLOCK] = 0 if t == 1 else gradients[BLOCK : 2 * BLOCK]
        if t == 3:
            gradients[[5, 600]] = [np.nan, np.inf]
        weights = step(state, weights, gradients, t, signed, unsigned)
        tensors |= {
            f"gradient.{t}": gradients,
            f"weight.{t}": weights,
            f"m.codes.{t}": state["m"][0],
            f"m.scales.{t}": state["m"][1],
            f"v.codes.{t}": state["v"][0],
            f"v.scales.{t}": state["v"][1],
        }
    save_file(tensors, root / "adamw_8bit.safetensors")
    (root / "adamw_8bit.json").write_text(json.dumps(SETTINGS | {"steps": STEPS}) + "\n")


if __name__ == "__main__":
    with np.errstate(invalid="ignore"):
        main()
