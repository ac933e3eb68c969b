#!/usr/bin/env bash
# Attention on tensor cores at every number of tokens and width, where `./run test` runs a cover: on the
# emulator in all combinations of width, type and bias, with nearest and worst rounding, under five seeds, with
# more tokens in samples; and on ptxsim (see ptxsim.sh) if FOVEA_PTXSIM names it. Takes hours.
#   [FOVEA_PTXSIM=DIR] [TOKENS=1,7] tests/cuda/cuda_attention.sh [BUILD_DIR [PTXSIM_BUILD_DIR]]
# TOKENS: only these numbers, and no samples.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build}
sim_build=${2:-build-ptxsim}
tokens=${TOKENS:-1,7,16,17,63,64,65,127,129,197,257}
echo "== all combinations on the emulator"
"$build/fake/cuda_attention" --all --seeds 5 --tokens "$tokens"
if [ -z "${TOKENS-}" ]; then
  echo "== samples of more tokens"
  "$build/fake/cuda_attention" --tokens 1025 --widths 16,39,64,128
  "$build/fake/cuda_attention" --tokens 4097 --widths 16
fi
if [ -n "${FOVEA_PTXSIM-}" ]; then
  echo "== on ptxsim"
  "$FOVEA_PTXSIM/run.sh" --configure "$PWD" "$sim_build" -G Ninja -DFOVEA_CUDA=ON >/dev/null
  cmake --build "$sim_build" --target cuda_attention
  # Each tensor gets a separate allocation, so that accesses beyond its ends are detected.
  FOVEA_NO_CACHE=1 "$FOVEA_PTXSIM/run.sh" "$sim_build" cuda_attention --all --seeds 1 --tokens "$tokens"
fi
