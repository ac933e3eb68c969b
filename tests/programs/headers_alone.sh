#!/usr/bin/env bash
# Checks that each header compiles on its own. Unity builds hide missing includes.
#   tests/programs/headers_alone.sh [HEADER...]       default: all headers in git
# Kernel headers are compiled for AVX2 only, CUDA headers with the tests' emulator instead of nvcc.
set -euo pipefail
cd "$(dirname "$0")/../.."

check() {
  local header=$1 flags=()
  case "$header" in
    ops/*) flags=(-DFOVEA_ISA=v3 -DFOVEA_ISA_v2 -DFOVEA_ISA_v3 -mavx2 -mfma -mbmi2 -mf16c) ;;
  esac
  case "$header" in
    *.cuh | */cuda*.h | engine/cuda/* | tests/cuda/*) flags=(-DFOVEA_EMULATE -I tests/cuda/fake) ;;
  esac
  printf '#include "%s"\n' "$header" |
    "${CXX:-g++}" -std=c++20 -fsyntax-only -Wall -Wextra -Wno-restrict -Werror -I . ${flags[@]+"${flags[@]}"} -x c++ - ||
    { printf 'FAIL %s\n' "$header"; return 1; }
}
export -f check

(($# > 0)) || mapfile -t headers < <(git ls-files '*.h' '*.cuh')
(($# == 0)) || headers=("$@")
printf '%s\n' "${headers[@]}" | xargs -P "$(nproc)" -I{} bash -euo pipefail -c 'check {}'
printf '%s headers compile alone\n' "${#headers[@]}"
