#!/usr/bin/env bash
# What masked autoencoding is worth on CIFAR-10, over several seeds: an encoder is trained without
# labels, then a classifier from it on a tenth of the labels beside the same one from scratch, and a
# linear probe of it beside one of a random encoder.
#
#   FOVEA_DATA=DIR bench/mae_cifar.sh OUT        DIR holds CIFAR-10
#
# SEEDS (default "1 2 3"), JOBS (seeds at a time, one thread each; default: the processors), BUDGET
# (default 1: epochs of every stage are multiplied by it). Stages that are finished are not made again,
# so it can be stopped and started. While it trains, a tenth of the test images is looked at; the table
# at the end, OUT/table.txt, is of all of them.
set -euo pipefail

out="$(realpath -m "${1:?usage: bench/mae_cifar.sh OUT}")"
data="$(realpath "${FOVEA_DATA:?names no folder that holds CIFAR-10}")"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build="$(realpath -m "${FOVEA_BUILD_DIR:-build}")"
read -r -a seeds <<<"${SEEDS:-1 2 3}"
jobs="${JOBS:-$(nproc)}"
budget="${BUDGET:-1}"

stages=(autoencoder finetuned scratch probe random)
recipe_of() {
  case "$1" in
    autoencoder) echo cifar_mae_hour ;;
    finetuned | scratch) echo cifar_mae_hour_finetune ;;
    probe | random) echo cifar_mae_hour_linprobe ;;
  esac
}
flags_of() { # stage, seed
  case "$1" in
    finetuned) echo --fraction 0.1 --finetune "$out/autoencoder-$2" ;;
    scratch) echo --fraction 0.1 --layer-decay 1 ;;
    probe) echo --fraction 0.2 --finetune "$out/autoencoder-$2" ;;
    random) echo --fraction 0.2 ;;
  esac
}

small_test_set() {
  local folder
  folder="$(dirname "$(find "$data" -name test_batch.bin | head -n 1)")"
  mkdir -p "$out/data"
  ln -sf "$folder"/data_batch_*.bin "$out/data/"
  head -c $((1000 * 3073)) "$folder/test_batch.bin" >"$out/data/test_batch.bin"
}

train() { # stage, seed
  local folder="$out/$1-$2" recipe flags program=train_cifar epochs
  [[ -f "$folder/done" ]] && return 0
  recipe="recipes/$(recipe_of "$1").json"
  epochs="$(sed -n 's/.*"epochs": \([0-9]*\).*/\1/p' "$recipe")"
  read -r -a flags <<<"$(flags_of "$@")"
  [[ "$1" == autoencoder ]] && program=train_mae
  "$build/$program" --config "$recipe" --dataset cifar10 --data-dir "$out/data" --seed "$2" \
    --epochs $((epochs * budget)) "${flags[@]}" --threads 1 --workers 1 --no-report \
    --resume auto --output "$folder" >>"$folder.out" 2>&1 || { tail -n 5 "$folder.out" >&2; return 1; }
  touch "$folder/done"
  echo "$1, seed $2: done"
}

all_of_seed() { for stage in "${stages[@]}"; do train "$stage" "$1"; done; }

table() {
  echo "seed | reconstruction | filling by distance | finetuned | scratch | probe | random"
  local seed stage line
  for seed in "${seeds[@]}"; do
    line="$seed | $("$build/train_mae" --resume "$out/autoencoder-$seed" --eval --data-dir "$data" \
      2>/dev/null | sed -n 's/^test loss \([0-9.]*\).*distance \([0-9.]*\)$/\1 | \2/p')"
    for stage in "${stages[@]:1}"; do
      "$build/evaluate" "$out/$stage-$seed" --last --dataset cifar10 --data-dir "$data" \
        --csv "$out/$stage-$seed/all.csv" >/dev/null 2>&1
      line+=" | $(awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "top1") c = i }
                           NR == 2 { printf "%.2f", $c }' "$out/$stage-$seed/all.csv")"
    done
    echo "$line"
  done
}

for program in train_cifar train_mae evaluate; do ./run "$program" --help >/dev/null; done
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"
mkdir -p "$out"
small_test_set
for seed in "${seeds[@]}"; do
  while (($(jobs -rp | wc -l) >= jobs)); do wait -n; done
  all_of_seed "$seed" &
done
wait
table | tee "$out/table.txt"
