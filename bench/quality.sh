#!/usr/bin/env bash
# What the memory tools cost in quality: the same 300 steps on the same rows, trained eight ways, their
# losses side by side. usage: bench/quality.sh MODEL DATASET_DIR DATASET [OUTPUT_FOLDER]
# MODEL is a folder or GGUF of SmolLM2-135M-Instruct, DATASET a name in DATASET_DIR/dataset_info.json.
# An hour on two idle cores; runs that are there already are not repeated.
set -euo pipefail
[[ $# -ge 3 ]] || { sed -n '3,4s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2; }
model=$(realpath "$1") data=$(realpath "$2") dataset=$3 out=${4:-saves/quality}
program=${CAIRN:-$(dirname "${BASH_SOURCE[0]}")/../build/release/cairn}

run() {  # NAME KEY=VALUE...
  local name=$1
  shift
  [[ -e $out/$name/ledger.json ]] && return
  "$program" train "model_name_or_path=$model" "dataset=$dataset" "dataset_dir=$data" \
    template=chatml stage=sft do_train=true cutoff_len=512 val_size=40 \
    per_device_train_batch_size=1 per_device_eval_batch_size=4 max_steps=300 \
    lr_scheduler_type=cosine warmup_ratio=0.05 seed=42 logging_steps=1 \
    eval_strategy=steps eval_steps=75 save_strategy=no overwrite_output_dir=true \
    disable_gradient_checkpointing=true "output_dir=$out/$name" "$@"
}

lora=(finetuning_type=lora lora_rank=16 lora_target=all learning_rate=2e-4)
full=(finetuning_type=full learning_rate=1e-5)
run lora-bf16 "${lora[@]}" bf16=true
run qlora-nf4 "${lora[@]}" bf16=true quantization_bit=4
# What this model is most sensitive in stays in bf16.
run qlora-nf4-kept "${lora[@]}" bf16=true quantization_bit=4 'llm_int8_skip_modules=[up_proj,down_proj,v_proj]'
# Whether more room to learn makes up for what 4 bits lost.
wide=(finetuning_type=lora lora_rank=64 lora_target=all learning_rate=1e-3)
run lora-bf16-wide "${wide[@]}" bf16=true
run qlora-nf4-wide "${wide[@]}" bf16=true quantization_bit=4
run lora-f32 "${lora[@]}"
run full-bf16 "${full[@]}" bf16=true
run full-bf16-adamw8bit "${full[@]}" bf16=true optim=adamw_8bit

compare() { (cd "$out" && "$program" report "$@"); }
program=$(realpath "$program")
compare lora-bf16 qlora-nf4 qlora-nf4-kept --title "LoRA on weights in bf16 and in NF4" --picture qlora.svg
compare lora-bf16-wide qlora-nf4-wide
compare lora-f32 lora-bf16 --title "LoRA stored in f32 and in bf16" --picture bf16.svg
compare full-bf16 full-bf16-adamw8bit --title "States in 32 and in 8 bits" --picture adamw_8bit.svg
