#!/usr/bin/env bash
# The same recipe in fovea and in PyTorch with timm, over several seeds: curves and a table.
#
#   bench/timm_curve.sh OUT       CIFAR-10 lies somewhere below FOVEA_DATA; FOVEA_PEER_PYTHON is a Python
#                                 with torch, torchvision and timm (default .venv-peer/bin/python)
#
# SEEDS (default "1 2 3") and EPOCHS (default 4); one thread each, both sides of a seed concurrently.
# Finished runs are not repeated.
set -euo pipefail
# shellcheck source=bench/jobs.sh
source "$(dirname "${BASH_SOURCE[0]}")/jobs.sh"

begin "${1:?usage: bench/timm_curve.sh OUT}"
find_cifar10
jobs=2
python="${FOVEA_PEER_PYTHON:-.venv-peer/bin/python}"
flags=(--data-dir "$cifar" --epochs "${EPOCHS:-4}" --warmup-epochs 1 --embed-dim 64 --depth 4 --num-heads 2)

timm() { # seed
  make_run "timm, seed $1" "$out/timm-$1" \
    "$python" bench/timm_curve.py "$out/timm-$1" "${flags[@]}" --seed "$1"
}

fovea() { # seed
  local folder="$out/fovea-$1"
  is_done "$folder" || rm -rf "$folder" "$folder.out"
  make_run "fovea, seed $1" "$folder" "$build/train_cifar" --dataset cifar10 "${flags[@]}" --seed "$1" \
    --threads 1 --workers 1 --output "$folder"
}

make_programs train_cifar compare
for seed in "${seeds[@]}"; do
  start_job timm "$seed"
  start_job fovea "$seed"
  finish_jobs
done
runs=()
for seed in "${seeds[@]}"; do runs+=("fovea=$out/fovea-$seed" "PyTorch and timm=$out/timm-$seed"); done
"$build/compare" "${runs[@]}" --output "$out"
