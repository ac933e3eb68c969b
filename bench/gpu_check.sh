#!/usr/bin/env bash
# Everything that needs a real GPU, in one command: build, the tests of the CUDA forms on the device, the
# kernels on the emulator, compute-sanitizer where it is installed. Writes its logs under $OUT when that is
# set, and ends with a summary.   bench/gpu_check.sh [BUILD_DIR]
set -uo pipefail
cd "$(dirname "$0")/.."
build=${1:-build-gpu}
logs=${OUT:-$build/gpu-check}
mkdir -p "$logs"
rows=()

step() {  # name, command...: runs it, keeps its output, notes the result
  local name=$1 start=$SECONDS status=ok
  shift
  printf '== %s\n' "$name"
  "$@" >"$logs/$name.log" 2>&1 || status="FAILED ($?)"
  tail -n 5 "$logs/$name.log"
  rows+=("$(printf '%-14s %-12s %5d s' "$name" "$status" $((SECONDS - start)))")
}

architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
if [ -z "$architecture" ]; then
  echo "no GPU is visible: building for 80 and 90, the device tests will be skipped"
  architecture="80;90"
fi
step configure cmake -S . -B "$build" -G Ninja -DFOVEA_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES="$architecture"
step build cmake --build "$build" --target test_cuda_device test_cuda_kernels
step emulator "$build/tests/test_cuda_kernels"
step device "$build/tests/test_cuda_device"
if command -v compute-sanitizer >/dev/null; then
  step sanitizer compute-sanitizer --error-exitcode 1 "$build/tests/test_cuda_device"
else
  rows+=("sanitizer      not installed")
fi
{
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null || echo "no GPU"
  printf '%s\n' "${rows[@]}"
} | tee "$logs/summary.txt"
! grep -q FAILED "$logs/summary.txt"
