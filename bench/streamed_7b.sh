#!/usr/bin/env bash
# LoRA on the bf16 weights of a 7B Llama 2, streamed from a page file: two optimizer steps on random
# weights. Needs 5 GiB of memory and 13 GiB of disk in the temporary folder; the result goes to
# bench/results/, dated.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=build/release/cairn
[[ -x $program ]] || { echo "build first: cmake --preset release && cmake --build --preset release" >&2; exit 2; }
[[ $# -gt 0 ]] || set -- 1x1024
for shape; do
  result=bench/results/streamed_7b_${shape}_$(date -I).json
  # The first step warms up, the second one is timed.
  "$program" bench step --model llama-2-7b --method lora --shape "$shape" --checkpointing block \
    --repeats 1 --json lora_rank=16 weights_place=paged > "$result.part"
  mv "$result.part" "$result"
  cat "$result"
done
