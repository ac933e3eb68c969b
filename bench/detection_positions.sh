#!/usr/bin/env bash
# What do an encoder's positions do for a detector? Small detectors on drawn scenes, which differ only in
# the positions of the encoder, trained on the same images for the same number of epochs.
#
#   bench/detection_positions.sh OUT
#
# EPOCHS (default 4), SEEDS (default "1 2 3"), JOBS (concurrent runs, one thread each; default: the
# processors), ONLY (a regular expression that labels must match). Finished runs are not repeated, so the
# script can be stopped and restarted. Prints the mean and the range of AP and AP50 over the seeds and
# writes them to OUT/table.txt.
set -euo pipefail
# shellcheck source=bench/jobs.sh
source "$(dirname "${BASH_SOURCE[0]}")/jobs.sh"

begin "${1:?usage: bench/detection_positions.sh OUT}"
epochs="${EPOCHS:-4}"

labels=()
for detector in "Deformable DETR" DETR; do
  for positions in none sine peg; do
    label="$detector, $positions"
    [[ "$label" =~ ${ONLY:-.} ]] && labels+=("$label")
  done
done

folder_of() { echo "$out/$(tr -c 'a-zA-Z0-9\n' '_' <<<"$1")-$2"; } # label, seed

train() { # label, seed
  local folder recipe=recipes/scenes.json
  folder="$(folder_of "$@")"
  is_done "$folder" && return 0
  rm -rf "$folder" "$folder.out"
  [[ "$1" != DETR* ]] || recipe=recipes/detr_scenes.json
  # The rate drops after five sixths of the epochs, as in the recipes.
  make_run "$1, seed $2" "$folder" "$build/train_detection" --config "$recipe" --encoder-pos "${1##*, }" \
    --epochs "$epochs" --decay-epochs "$((epochs * 5 / 6))" --warmup-epochs 0.5 --seed "$2" \
    --threads 1 --workers 1 --no-report --output "$folder" || return 1
  echo "$1, seed $2: AP $(last_of "$folder" eval_ap)"
}

# The last value of a column of a run's log.
last_of() { # run, column
  awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == name) c = i }
    END { print $c }' "$1/log.csv"
}

mean_and_range() { # values...
  echo "$@" | awk '{
    low = high = $1
    for (i = 1; i <= NF; ++i) { sum += $i; if ($i < low) low = $i; if ($i > high) high = $i }
    printf "%.3f (%.3f-%.3f)", sum / NF, low, high }'
}

row() { # label
  local seed folder ap=() ap50=()
  for seed in "${seeds[@]}"; do
    folder="$(folder_of "$1" "$seed")"
    ap+=("$(last_of "$folder" eval_ap)")
    ap50+=("$(last_of "$folder" eval_ap50)")
  done
  echo "$1 | $(mean_and_range "${ap[@]}") | $(mean_and_range "${ap50[@]}")"
}

make_programs train_detection
for seed in "${seeds[@]}"; do
  for label in "${labels[@]}"; do start_job train "$label" "$seed"; done
done
finish_jobs
{
  echo "detector, positions of the encoder | AP | AP50"
  for label in "${labels[@]}"; do row "$label"; done
} | tee "$out/table.txt"
