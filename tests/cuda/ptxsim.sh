#!/usr/bin/env bash
# The op table, the device tests and ten training steps on the PTX that nvcc makes of the kernels, run by
# ptxsim, an interpreter with its own CUDA runtime and cuBLASLt: a second opinion beside the emulator.
#   FOVEA_PTXSIM=DIR tests/cuda/ptxsim.sh [BUILD_DIR]      DIR: the folder with ptxsim's run.sh
# Exits 77, "skipped", without it or without nvcc.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build-ptxsim}
sim=${FOVEA_PTXSIM-}
[ -n "$sim" ] && [ -x "$sim/run.sh" ] || { echo "skipped: FOVEA_PTXSIM names no folder with run.sh"; exit 77; }
command -v nvcc >/dev/null || { echo "skipped: no nvcc on PATH"; exit 77; }

"$sim/run.sh" --configure "$PWD" "$build" -G Ninja -DFOVEA_CUDA=ON >/dev/null
cmake --build "$build" --target cuda_cases test_cuda_device train_cifar
echo "== the op table"
# Each tensor is an allocation of its own, so that its edges are looked at.
FOVEA_NO_CACHE=1 "$sim/run.sh" "$build" cuda_cases | tail -n 20
echo "== device tests"
"$sim/run.sh" "$build" test_cuda_device
echo "== ten steps of the linear model, beside the CPU's"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
train=(train_cifar --dataset builtin --model linear --batch-size 16 --max-steps 10 --log-interval 1 --epochs 1 --workers 0)
"$sim/run.sh" "$build" "${train[@]}" --device cuda --output "$folder/cuda" >/dev/null
"$build/train_cifar" "${train[@]:1}" --output "$folder/cpu" >/dev/null
tests/same_losses.py "$folder/cuda" "$folder/cpu"
