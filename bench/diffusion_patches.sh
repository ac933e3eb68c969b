#!/usr/bin/env bash
# Pixels or patches as tokens of a diffusion transformer? Built-in pictures at 16x16, one token per pixel
# beside 2x2 patches: for the same number of steps, and for the same time.
#
#   bench/diffusion_patches.sh OUT
#
# EPOCHS (default 4) of the model of pixels, SAMPLES (default 1000). Each run uses all processors, so that
# their times compare. Finished runs are not repeated, so the script can be stopped and restarted. Prints
# Frechet distance, KID, precision, recall and the share of samples that show their class, by a
# classifier of 16x16 pictures that is trained first, and writes them to OUT/table.txt.
set -euo pipefail
# shellcheck source=bench/jobs.sh
source "$(dirname "${BASH_SOURCE[0]}")/jobs.sh"

begin "${1:?usage: bench/diffusion_patches.sh OUT}"
epochs="${EPOCHS:-4}"
samples="${SAMPLES:-1000}"
classifier="$out/classifier"
# Narrow, since 256 tokens are many for a CPU.
small=(--img-size 16 --embed-dim 64 --num-heads 2)

train() { # name, patch size, epochs
  make_run "$1" "$out/$1" "$build/train_diffusion" "${small[@]}" --patch-size "$2" --epochs "$3" \
    --no-report --output "$out/$1" || return 1
}

seconds_of() { # run
  awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "seconds") c = i }
           NR > 1 { sum += $c } END { printf "%.0f", sum }' "$out/$1/log.csv"
}

# Of a finished run, whatever EPOCHS is now.
epochs_of() { # run
  echo $(($(wc -l <"$out/$1/log.csv") - 1))
}

# The epochs for which 2x2 patches take as long as single pixels did, at least one.
epochs_in_equal_time() {
  awk -v pixels="$(seconds_of pixels)" -v patches="$(seconds_of patches)" -v epochs="$(epochs_of patches)" \
    'BEGIN { n = int(epochs * pixels / patches + 0.5); print n < 1 ? 1 : n }'
}

measure() { # run
  local folder="$out/$1/samples"
  "$build/sample" "$out/$1" --count "$samples" --sampler ddim --num-sampling-steps 50 --output "$folder" \
    >"$out/$1.samples.out" || return 1
  "$build/measure" "$folder" builtin --features "$classifier" --ceiling-count "$samples"
}

row() { # run, row of the measures, name
  awk -v row="$2" -v name="$3" '$1 == row && $2 ~ /^[0-9]+$/ {
    printf "%s", name
    for (i = 4; i <= NF; ++i) if ($i != "%") printf " | %s", $i
    print ""
  }' "$out/$1.measures"
}

make_programs train_cifar train_diffusion sample measure
make_run classifier "$classifier" "$build/train_cifar" --img-size 16 --patch-size 2 --epochs 3 --no-report \
  --output "$classifier"
train pixels 1 "$epochs"
train patches 2 "$epochs"
train patches-longer 2 "$(epochs_in_equal_time)"
for run in pixels patches patches-longer; do measure "$run" >"$out/$run.measures"; done
{
  echo "model | FD | KID | precision | recall | IS | accuracy in %"
  row pixels samples "1x1, $(epochs_of pixels) epochs, $(seconds_of pixels) s"
  row patches samples "2x2, $(epochs_of patches) epochs, $(seconds_of patches) s"
  row patches-longer samples "2x2, $(epochs_of patches-longer) epochs, $(seconds_of patches-longer) s"
  row pixels floor "real pictures"
  row pixels ceiling "a Gaussian of the pixels"
} | tee "$out/table.txt"
