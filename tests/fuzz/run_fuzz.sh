#!/bin/sh
# Fuzzes the file readers: tests/fuzz/run_fuzz.sh [seconds] [target]...
# Targets are the names of tests/fuzz/fuzz_*.cpp; by default all run, each for `seconds` (600).
# Needs clang with libFuzzer (Debian: clang libclang-rt-14-dev). New inputs are kept under
# build-fuzz/corpus, findings under build-fuzz/findings; the exit code is 1 when there are any.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
build=${FOVEA_FUZZ_BUILD:-$root/build-fuzz}
seconds=${1:-600}
[ $# -gt 0 ] && shift
targets=${*:-$(cd "$root/tests/fuzz" && ls fuzz_*.cpp | sed 's/^fuzz_//; s/\.cpp$//')}
clang=${CXX:-$(command -v clang++ || command -v clang++-14)}

mkdir -p "$build"
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_CXX_COMPILER="$clang" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_CXX_FLAGS=-fno-sanitize-recover=all -DFOVEA_SANITIZE=fuzzer-no-link,address,undefined \
  -DFOVEA_FUZZ=ON -DFOVEA_CUDA=OFF -DFOVEA_OPENMP=OFF > "$build/configure.log" 2>&1 || { cat "$build/configure.log"; exit 1; }
# shellcheck disable=SC2046,SC2086
cmake --build "$build" --target $(printf 'fuzz_%s ' $targets)

status=0
for name in $targets; do
  corpus=$build/corpus/$name
  findings=$build/findings/$name
  mkdir -p "$corpus" "$findings"
  # libhdf5 asks for as much memory as a damaged header says, and reports an error without it.
  ASAN_OPTIONS=
  [ "$name" = hdf5 ] && ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=1024
  export ASAN_OPTIONS
  echo "== $name: $seconds s"
  if "$build/tests/fuzz/fuzz_$name" -max_total_time="$seconds" -max_len=65536 -timeout=30 \
    -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$findings/" \
    "$corpus" "$root/tests/fuzz/corpus/$name" > "$build/$name.log" 2>&1; then
    rm -f "$findings"/*  # of children that crashed, as libhdf5 does, and were reported as damaged files
  else
    status=1
  fi
  grep -E 'DONE|^stat::number_of_executed_units|ERROR|SUMMARY' "$build/$name.log" || true
done
exit $status
