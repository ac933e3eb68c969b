#!/usr/bin/env bash
# The same recipe by fovea and by PyTorch with timm, over several seeds: curves and a table.
#
#   bench/timm_curve.sh OUT       FOVEA_DATA holds CIFAR-10, FOVEA_PEER_PYTHON is a Python with torch,
#                                 torchvision and timm (default .venv-peer/bin/python)
#
# SEEDS (default "1 2 3") and EPOCHS (default 4); one thread each, both sides side by side. What is
# finished is not made again.
set -euo pipefail

out="$(realpath -m "${1:?usage: bench/timm_curve.sh OUT}")"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python="${FOVEA_PEER_PYTHON:-.venv-peer/bin/python}"
build="$(realpath -m "${FOVEA_BUILD_DIR:-build}")"
data="${FOVEA_DATA:?the folder that holds cifar10/}/cifar10"
read -r -a seeds <<<"${SEEDS:-1 2 3}"
flags=(--epochs "${EPOCHS:-4}" --warmup-epochs 1 --embed-dim 64 --depth 4 --num-heads 2)

mkdir -p "$out"
for program in train_cifar compare; do ./run "$program" --help >/dev/null; done
for seed in "${seeds[@]}"; do
  if [[ ! -f "$out/timm-$seed/done" ]]; then
    "$python" bench/timm_curve.py "$out/timm-$seed" --data-dir "$data" --seed "$seed" "${flags[@]}"
    touch "$out/timm-$seed/done"
  fi &
  if [[ ! -f "$out/fovea-$seed/done" ]]; then
    rm -rf "$out/fovea-$seed"
    "$build/train_cifar" --dataset cifar10 --data-dir "$data" "${flags[@]}" --seed "$seed" --threads 1 \
      --workers 1 --output "$out/fovea-$seed" >"$out/fovea-$seed.out"
    touch "$out/fovea-$seed/done"
  fi
  wait
done
runs=()
for seed in "${seeds[@]}"; do runs+=("fovea=$out/fovea-$seed" "PyTorch and timm=$out/timm-$seed"); done
"$build/compare" "${runs[@]}" --output "$out"
