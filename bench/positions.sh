#!/usr/bin/env bash
# Where does a transformer learn from where its patches lie? Small models that differ only in how
# they know positions, trained on the same images for the same number of epochs, over several seeds.
#
#   bench/positions.sh OUT [builtin] [cifar10]     FOVEA_DATA holds CIFAR-10
#
# SEEDS (default "1 2 3"), JOBS (runs at a time, one thread each; default: the processors), ONLY (a
# regular expression that labels must match). Runs that are finished are not made again, so it can be
# stopped and started. Tables, curves and CSV files of all finished runs end up in OUT/<data set>/.
set -euo pipefail

out="$(realpath -m "${1:?usage: bench/positions.sh OUT [builtin] [cifar10]}")"
shift
cd "$(dirname "${BASH_SOURCE[0]}")/.."
datasets=("${@:-builtin}")
read -r -a seeds <<<"${SEEDS:-1 2 3}"
jobs="${JOBS:-$(nproc)}"
build="$(realpath -m "${FOVEA_BUILD_DIR:-build}")"

# 8x8 tokens of width 64 in four blocks; the head reads the mean of the patches.
small=(--depth 4 --embed-dim 64 --num-heads 2 --no-class-token --global-pool avg)
# One token per pixel needs small images: 16x16 tokens, beside 8x8 patches of 2x2 pixels.
pixels=("${small[@]}" --img-size 16)

flags_of() {
  case "$1" in
    "ViT, no position") echo --model vit_tiny_patch4_32 --pos-embed none "${small[@]}" ;;
    "ViT, learned") echo --model vit_tiny_patch4_32 --pos-embed learned "${small[@]}" ;;
    CPVT) echo --model cpvt_tiny_peg0_gap_224 --img-size 32 --patch-size 4 "${small[@]}" ;;
    PerViT) echo --model pervit_tiny_224 --img-size 32 --emb-dims 64 --depths 4 \
      --convstem-dims 3,32,64 --num-heads 2 ;;
    "PiT, 1x1 at 16x16") echo --model pit_tiny_32 "${pixels[@]}" ;;
    "PiT, 2x2 at 16x16") echo --model pit_tiny_patch2_32 "${pixels[@]}" ;;
  esac
}
all_labels=("ViT, no position" "ViT, learned" CPVT PerViT "PiT, 1x1 at 16x16" "PiT, 2x2 at 16x16")

labels=()
for label in "${all_labels[@]}"; do
  [[ "$label" =~ ${ONLY:-.} ]] && labels+=("$label")
done

budget_of() {
  case "$1" in
    builtin) echo --epochs 3 --warmup-epochs 0.5 ;;
    cifar10) echo --config recipes/cifar_plain.json --epochs 2 --warmup-epochs 0.5 ;;
  esac
}

folder_of() { echo "$out/$1/$(tr -c 'a-zA-Z0-9\n' '_' <<<"$2")-$3"; } # data set, label, seed

train() { # data set, label, seed
  local folder flags budget
  folder="$(folder_of "$@")"
  [[ -f "$folder/done" ]] && return 0
  read -r -a flags <<<"$(flags_of "$2")"
  read -r -a budget <<<"$(budget_of "$1")"
  rm -rf "$folder"
  mkdir -p "$(dirname "$folder")"
  "$build/train_cifar" --dataset "$1" "${budget[@]}" "${flags[@]}" --seed "$3" --threads 1 \
    --workers 1 --output "$folder" >"$folder.out" 2>&1 || { cat "$folder.out" >&2; return 1; }
  touch "$folder/done"
  echo "$1, $2, seed $3: $(tail -n 1 "$folder/log.csv" | cut -d, -f4 | cut -c1-5) %"
}

for program in train_cifar compare; do ./run "$program" --help >/dev/null; done
for seed in "${seeds[@]}"; do
  for dataset in "${datasets[@]}"; do
    for label in "${labels[@]}"; do
      while (($(jobs -rp | wc -l) >= jobs)); do wait -n; done
      train "$dataset" "$label" "$seed" &
    done
  done
done
wait
for dataset in "${datasets[@]}"; do
  runs=()
  for label in "${all_labels[@]}"; do
    for seed in "${seeds[@]}"; do
      folder="$(folder_of "$dataset" "$label" "$seed")"
      [[ -f "$folder/done" ]] && runs+=("$label=$folder")
    done
  done
  echo "$dataset"
  "$build/compare" "${runs[@]}" --output "$out/$dataset"
done
