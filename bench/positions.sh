#!/usr/bin/env bash
# How does a transformer learn the positions of its patches? Small models that differ only in their
# position encoding, trained on the same images for the same number of epochs, over several seeds.
#
#   bench/positions.sh OUT [builtin] [cifar10]     CIFAR-10 lies somewhere below FOVEA_DATA
#
# SEEDS (default "1 2 3"), JOBS (concurrent runs, one thread each; default: the processors), ONLY (a
# regular expression that labels must match). Finished runs are not repeated, so the script can be
# stopped and restarted. Tables, curves and CSV files of all finished runs are written to OUT/<data
# set>/.
set -euo pipefail
# shellcheck source=bench/jobs.sh
source "$(dirname "${BASH_SOURCE[0]}")/jobs.sh"

begin "${1:?usage: bench/positions.sh OUT [builtin] [cifar10]}"
shift
datasets=("${@:-builtin}")

# 8x8 tokens of width 64 in four blocks; the head reads the mean of the patches.
small=(--depth 4 --embed-dim 64 --num-heads 2 --no-class-token --global-pool avg)
# One token per pixel needs small images: 16x16 tokens, next to 8x8 patches of 2x2 pixels.
pixels=("${small[@]}" --img-size 16)

all_labels=("ViT, no position" "ViT, learned" "ViT, rotary" "ViT, mixed rotary" CPVT PerViT
  "PiT, 1x1 at 16x16" "PiT, 2x2 at 16x16")
set_flags() { # label
  case "$1" in
    "ViT, no position") flags=(--model vit_tiny_patch4_32 --pos-embed none "${small[@]}") ;;
    "ViT, learned") flags=(--model vit_tiny_patch4_32 --pos-embed learned "${small[@]}") ;;
    "ViT, rotary") flags=(--model vit_tiny_patch4_32 --pos-embed none --rope axial "${small[@]}") ;;
    "ViT, mixed rotary") flags=(--model vit_tiny_patch4_32 --pos-embed none --rope mixed "${small[@]}") ;;
    CPVT) flags=(--model cpvt_tiny_peg0_gap_224 --img-size 32 --patch-size 4 "${small[@]}") ;;
    PerViT) flags=(--model pervit_tiny_224 --img-size 32 --emb-dims 64 --depths 4
      --convstem-dims "3,32,64" --num-heads 2) ;;
    "PiT, 1x1 at 16x16") flags=(--model pit_tiny_32 "${pixels[@]}") ;;
    "PiT, 2x2 at 16x16") flags=(--model pit_tiny_patch2_32 "${pixels[@]}") ;;
  esac
}

labels=()
for label in "${all_labels[@]}"; do
  [[ "$label" =~ ${ONLY:-.} ]] && labels+=("$label")
done

set_budget() { # data set
  case "$1" in
    builtin) budget=(--epochs 3 --warmup-epochs 0.5) ;;
    cifar10) budget=(--data-dir "$cifar" --config recipes/cifar_plain.json --epochs 2 --warmup-epochs 0.5) ;;
    *) die "the data sets are builtin and cifar10, got $1" ;;
  esac
}

folder_of() { echo "$out/$1/$(tr -c 'a-zA-Z0-9\n' '_' <<<"$2")-$3"; } # data set, label, seed

train() { # data set, label, seed
  local folder flags budget
  folder="$(folder_of "$@")"
  is_done "$folder" && return 0
  rm -rf "$folder" "$folder.out"
  set_flags "$2"
  set_budget "$1"
  make_run "$1, $2, seed $3" "$folder" "$build/train_cifar" --dataset "$1" "${budget[@]}" "${flags[@]}" \
    --seed "$3" --threads 1 --workers 1 --output "$folder" || return 1
  echo "$1, $2, seed $3: $(tail -n 1 "$folder/log.csv" | cut -d, -f4 | cut -c1-5) %"
}

for dataset in "${datasets[@]}"; do
  [[ "$dataset" != cifar10 ]] || find_cifar10
  set_budget "$dataset"
done
make_programs train_cifar compare
for seed in "${seeds[@]}"; do
  for dataset in "${datasets[@]}"; do
    for label in "${labels[@]}"; do start_job train "$dataset" "$label" "$seed"; done
  done
done
finish_jobs
for dataset in "${datasets[@]}"; do
  runs=()
  for label in "${all_labels[@]}"; do
    for seed in "${seeds[@]}"; do
      folder="$(folder_of "$dataset" "$label" "$seed")"
      ! is_done "$folder" || runs+=("$label=$folder")
    done
  done
  echo "$dataset"
  "$build/compare" "${runs[@]}" --output "$out/$dataset"
done
