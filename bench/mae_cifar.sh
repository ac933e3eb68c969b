#!/usr/bin/env bash
# Benefit of masked autoencoding on CIFAR-10, over several seeds. An encoder is trained without labels.
# Then a classifier is trained from it on a tenth of the labels, compared with the same classifier from
# scratch, and a linear probe of it, compared with one of the encoder's initial weights. Probes read the
# mean of the tokens, as the classifiers do, and the class token.
#
#   FOVEA_DATA=DIR bench/mae_cifar.sh OUT        CIFAR-10 lies somewhere below DIR
#
# SEEDS (default "1 2 3"), JOBS (concurrent seeds, one thread each; default: the processors), BUDGET
# (default 1; multiplies the epochs of every stage). Finished stages are not repeated, so the script can
# be stopped and restarted. Training evaluates a tenth of the test images; the table at the end,
# OUT/table.txt, uses all of them.
set -euo pipefail
# shellcheck source=bench/jobs.sh
source "$(dirname "${BASH_SOURCE[0]}")/jobs.sh"

begin "${1:?usage: bench/mae_cifar.sh OUT}"
find_cifar10
budget="${BUDGET:-1}"
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"

stages=(initial autoencoder finetuned scratch probe random token_probe token_random)
set_stage() { # stage, seed: sets what it runs, with which recipe and flags
  program=train_cifar recipe=cifar_mae_hour_linprobe flags=()
  case "$1" in
    autoencoder) program=train_mae recipe=cifar_mae_hour ;;
    # The same run, stopped after its first step at learning rate 0: the initial weights.
    initial) program=train_mae recipe=cifar_mae_hour flags=(--max-steps 1) ;;
    finetuned) recipe=cifar_mae_hour_finetune flags=(--fraction 0.1 --finetune "$out/autoencoder-$2") ;;
    scratch) recipe=cifar_mae_hour_finetune flags=(--fraction 0.1 --layer-decay 1) ;;
    probe | token_probe) flags=(--fraction 0.2 --finetune "$out/autoencoder-$2") ;;
    random | token_random) flags=(--fraction 0.2 --finetune "$out/initial-$2") ;;
  esac
  if [[ "$1" == token_* ]]; then flags+=(--global-pool token); fi
}

small_test_set() {
  mkdir -p "$out/data"
  ln -sf "$cifar"/data_batch_*.bin "$out/data/"
  head -c $((1000 * 3073)) "$cifar/test_batch.bin" >"$out/data/test_batch.bin"
}

train() { # stage, seed
  local folder="$out/$1-$2" program recipe flags epochs
  is_done "$folder" && return 0
  set_stage "$@"
  epochs="$(sed -n 's/.*"epochs": \([0-9]*\).*/\1/p' "recipes/$recipe.json")"
  make_run "$1, seed $2" "$folder" "$build/$program" --config "recipes/$recipe.json" --dataset cifar10 \
    --data-dir "$out/data" --seed "$2" --epochs $((epochs * budget)) "${flags[@]}" --threads 1 --workers 1 \
    --no-report --resume auto --output "$folder" || return 1
  echo "$1, seed $2: done"
}

all_of_seed() { # seed
  local stage
  for stage in "${stages[@]}"; do train "$stage" "$1" || return 1; done
}

# Runs an evaluation with its output in FOLDER/evaluation.out.
evaluate() { # stage, seed, command...
  local folder="$out/$1-$2"
  rm -f "$folder/evaluation.out"
  logged "evaluation of $1, seed $2" "$folder/evaluation.out" "${@:3}"
}

errors_of() { # seed: of hidden pixels by the autoencoder, and by filling
  local folder="$out/autoencoder-$1"
  evaluate autoencoder "$1" "$build/train_mae" --resume "$folder" --eval --data-dir "$cifar" || return 1
  sed -n 's/^test loss \([0-9.]*\).*distance \([0-9.]*\)$/\1 | \2/p' "$folder/evaluation.out" | grep . ||
    die "$folder/evaluation.out says no test loss"
}

top1_of() { # stage, seed
  local folder="$out/$1-$2"
  evaluate "$@" "$build/evaluate" "$folder" --last --dataset cifar10 --data-dir "$cifar" \
    --csv "$folder/all.csv" || return 1
  awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "top1") c = i }
           NR == 2 { printf "%.2f", $c }' "$folder/all.csv"
}

table() {
  echo "seed | reconstruction | filling by distance | finetuned | scratch | probe | random |" \
    "token probe | token random"
  local seed stage line cell
  for seed in "${seeds[@]}"; do
    line="$(errors_of "$seed")" || return 1
    for stage in "${stages[@]:2}"; do
      cell="$(top1_of "$stage" "$seed")" || return 1
      line+=" | $cell"
    done
    echo "$seed | $line"
  done
}

make_programs train_cifar train_mae evaluate
small_test_set
for seed in "${seeds[@]}"; do start_job all_of_seed "$seed"; done
finish_jobs
table | tee "$out/table.txt"
