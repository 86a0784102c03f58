#!/usr/bin/env bash
# QLoRA of a 7B Llama 2 on random weights, executed: two optimizer steps of 2 x 1,024 tokens, and two
# of 1 x 2,048. Predicted and measured accounts and the process's peak go to bench/results/, dated.
# Some 15 minutes for each shape on two cores with AVX-512; 6 GiB of memory.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=build/release/cairn
[[ -x $program ]] || { echo "build first: cmake --preset release && cmake --build --preset release" >&2; exit 2; }
[[ $# -gt 0 ]] || set -- 2x1024 1x2048
for shape; do
  result=bench/results/qlora_7b_${shape}_$(date -I).json
  # The first step warms up, the second one is timed.
  "$program" bench step --model llama-2-7b --method qlora --shape "$shape" \
    --checkpointing block --repeats 1 --json lora_rank=16 > "$result.part"
  mv "$result.part" "$result"
  cat "$result"
done
