#!/usr/bin/env bash
# Four blocks of a 70B Llama 2 on random weights in NF4, QLoRA, executed resident and streamed:
# predicted and measured accounts go to bench/results/, dated. Some minutes on two cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=build/release/cairn
[[ -x $program ]] || { echo "build first: cmake --preset release && cmake --build --preset release" >&2; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/config.json" <<'JSON'
{"model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 4,
 "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 32000}
JSON
for place in resident paged; do
  result=bench/results/blocks_70b_${place}_$(date -I).json
  # The first step warms up, the second one is timed.
  "$program" bench step --model "$folder/config.json" --method qlora --shape 1x256 \
    --checkpointing block --repeats 1 --json lora_rank=16 weights_place=$place > "$result.part"
  mv "$result.part" "$result"
  cat "$result"
done
