"""Cairn's attention beside PyTorch's on this machine's CPU.

    python compare_attention.py --cairn build/release/cairn [--tokens 1024,4096,16384] [--rounds 3]

The shapes are those of `cairn bench attention`: 32 query heads on 8 key/value heads of 128, causal, forward
and backward. Each round runs Cairn, then PyTorch's scaled_dot_product_attention in bf16 and in f32 and, up to
4,096 tokens, the eager formula of transformers in bf16, with the same number of threads. The table holds
medians, and PyTorch's time divided by Cairn's: above 1 Cairn is ahead. Needs torch alone.
"""

import argparse
import json
import statistics
import subprocess
import time

try:
    import torch
    import torch.nn.functional as F
except ModuleNotFoundError:
    raise SystemExit("compare_attention needs PyTorch: install it into a virtual environment")

LONGEST_SQUARE = 4096  # eager attention holds several squares of 32 heads


def run_cairn(program, tokens, threads):
    command = [program, "bench", "attention", "--json", "--only-flash", "--repeats", "1"]
    command += ["--tokens", str(tokens), "--threads", str(threads)]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return answer["speed"][0]["flash_seconds"], answer


def repeated(x, group):
    return x.repeat_interleave(group, dim=1)


def sdpa(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def eager(q, k, v):
    tokens, head_dim = q.shape[-2:]
    hidden = torch.full((tokens, tokens), torch.finfo(q.dtype).min, dtype=q.dtype).triu(1)
    scores = q @ k.transpose(2, 3) * head_dim**-0.5 + hidden
    return F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype) @ v


WAYS = {
    "sdpa bf16": (sdpa, torch.bfloat16),
    "sdpa f32": (sdpa, torch.float32),
    "eager bf16": (eager, torch.bfloat16),
}


def run_torch(tokens, shape, way):
    attention, dtype = way

    def normal(heads):
        return torch.randn(1, heads, tokens, shape["head_dim"]).to(dtype).requires_grad_()

    q, k, v = normal(shape["heads"]), normal(shape["kv_heads"]), normal(shape["kv_heads"])
    d_out = torch.randn(q.shape).to(dtype)
    group = shape["heads"] // shape["kv_heads"]
    begin = time.perf_counter()
    # As transformers does before either.
    attention(q, repeated(k, group), repeated(v, group)).backward(d_out)
    return time.perf_counter() - begin


def compare(options, tokens):
    ways = {name: way for name, way in WAYS.items() if way[0] is sdpa or tokens <= LONGEST_SQUARE}
    cairn, times = [], {name: [] for name in ways}
    for _ in range(options.rounds):
        seconds, shape = run_cairn(options.cairn, tokens, options.threads)
        cairn.append(seconds)
        for name, way in ways.items():
            times[name].append(run_torch(tokens, shape, way))
    ours = statistics.median(cairn)
    row = f"{tokens:7} {ours:9.3f}"
    for name in WAYS:
        theirs = statistics.median(times[name]) if name in times else None
        row += f" {theirs:14.3f} {theirs / ours:6.2f}" if theirs else f" {'-':>14} {'-':>6}"
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cairn", required=True, help="the program")
    parser.add_argument("--tokens", default="1024,4096,16384")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)

    print(f"torch {torch.__version__}, {options.threads} threads, medians of {options.rounds} rounds; seconds")
    print(f"{'tokens':>7} {'Cairn':>9}" + "".join(f" {name:>14} {'ratio':>6}" for name in WAYS))
    for word in options.tokens.split(","):
        print(compare(options, int(word)), flush=True)


if __name__ == "__main__":
    main()
