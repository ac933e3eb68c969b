#!/usr/bin/env bash
# Pixels or patches as tokens of a depth model? Drawn rooms at 24x32, one token per pixel beside 2x2
# patches: for the same number of steps, and for the same time.
#
#   bench/depth_patches.sh OUT
#
# EPOCHS (default 1) of the model of pixels, SEEDS (default "1 2 3"). Each run uses all processors, so that
# their times compare. Finished runs are not repeated, so the script can be stopped and restarted. Prints
# the RMSE in metres of each seed, their mean and their range, and writes them to OUT/table.txt.
set -euo pipefail
# shellcheck source=bench/jobs.sh
source "$(dirname "${BASH_SOURCE[0]}")/jobs.sh"

begin "${1:?usage: bench/depth_patches.sh OUT}"
epochs="${EPOCHS:-1}"
# Narrow and shallow, since 768 tokens are many for a CPU. Learned positions: PiT has no other.
small=(--embed-dim 48 --depth 2 --num-heads 3 --batch-size 8)

train() { # name, model, epochs, seed
  make_run "$1" "$out/$1" "$build/train_depth" --model "$2" "${small[@]}" --epochs "$3" --seed "$4" \
    --no-report --output "$out/$1"
}

# The sum or the last value of a column of a run's log.
column() { # run, column, sum or last
  awk -F, -v name="$2" -v what="$3" 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == name) c = i }
    NR > 1 { sum += $c; last = $c } END { print what == "sum" ? sum : last }' "$out/$1/log.csv"
}

# Of a finished run, whatever EPOCHS is now.
epochs_of() { # run
  echo $(($(wc -l <"$out/$1/log.csv") - 1))
}

# The epochs for which 2x2 patches take as long as single pixels did, at least one.
epochs_in_equal_time() { # seed
  awk -v pixels="$(column "pixels-$1" seconds sum)" -v patches="$(column "patches-$1" seconds sum)" \
    -v epochs="$(epochs_of "patches-$1")" \
    'BEGIN { n = int(epochs * pixels / patches + 0.5); print n < 1 ? 1 : n }'
}

row() { # runs, name
  local seed values=() times=()
  for seed in "${seeds[@]}"; do
    values+=("$(column "$1-$seed" eval_rmse last)")
    times+=("$(column "$1-$seed" seconds sum)")
  done
  echo "$2" "$(epochs_of "$1-${seeds[0]}")" "${#values[@]}" "${values[@]}" "${times[@]}" | awk '{
    n = $3; low = high = $4
    for (i = 4; i < 4 + n; ++i) { sum += $i; if ($i < low) low = $i; if ($i > high) high = $i }
    for (i = 4 + n; i < 4 + 2 * n; ++i) time += $i
    printf "%s | %d | %.0f | %.4f | %.4f to %.4f\n", $1, $2, time / n, sum / n, low, high }'
}

make_programs train_depth
for seed in "${seeds[@]}"; do
  train "pixels-$seed" depth_pit_tiny_24x32 "$epochs" "$seed"
  train "patches-$seed" depth_vit_tiny_patch2_24x32 "$epochs" "$seed"
  train "patches-longer-$seed" depth_vit_tiny_patch2_24x32 "$(epochs_in_equal_time "$seed")" "$seed"
done
{
  echo "tokens | epochs | seconds | mean RMSE | range"
  row pixels 1x1
  row patches 2x2
  row patches-longer 2x2
  echo "per-pixel mean of the training depths: $(column "pixels-${seeds[0]}" eval_rmse_of_mean last)"
} | tee "$out/table.txt"
