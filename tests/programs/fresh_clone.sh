#!/usr/bin/env bash
# The first steps of a newcomer: clone into an empty folder, ./run train_cifar, ./run test. Fails unless
# the training reaches 90 % on the held-out part and every test passes.
#   tests/programs/fresh_clone.sh [DIR]     (default: a temporary folder, removed afterwards)
set -euo pipefail
source_tree=$(cd "$(dirname "$0")/../.." && pwd)
if [ $# -gt 0 ]; then
  folder=$1
  mkdir -p "$folder"
else
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi
[ -z "$(ls -A "$folder")" ] || { echo "error: $folder is not empty" >&2; exit 1; }

say() { printf '\n== %s (%s s)\n' "$1" "$SECONDS"; }

say "clone"
git clone --quiet "$source_tree" "$folder/fovea"
cd "$folder/fovea"

say "build"
start=$SECONDS
./run build train_cifar
build_seconds=$((SECONDS - start))

say "./run train_cifar"
start=$SECONDS
./run train_cifar --output "$folder/run"
train_seconds=$((SECONDS - start))

best=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "eval_top1") column = i }
                NR > 1 && $column > best { best = $column } END { print best + 0 }' "$folder/run/log.csv")
awk -v best="$best" 'BEGIN { exit !(best > 90) }' ||
  { echo "error: best held-out accuracy $best %, expected more than 90 %" >&2; exit 1; }

say "./run test"
./run test

say "done"
echo "built in $build_seconds s, trained in $train_seconds s to $best % held-out, all tests green"
