#!/usr/bin/env bash
# Does each header compile with nothing before it? Builds of several sources in one go hide includes that
# are missing.
#   tests/programs/headers_alone.sh [HEADER...]       without arguments all that git knows
# Kernels' headers are compiled for AVX2 alone, those of CUDA as the tests' emulator sees them, not by nvcc.
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
