#!/usr/bin/env bash
# Objects compiled for one instruction set must share no symbol with the rest of the program: the
# linker keeps one copy of an inline function, and an AVX-512 copy would crash an older processor. (A
# DW.ref symbol is a pointer to the runtime's handler of exceptions, not code.)
#   tests/programs/isa_symbols.sh v4 OBJECT...
set -euo pipefail
isa=$1
shift
shared=$(nm -C --defined-only "$@" | awk '$2 ~ /^[WVu]$/' | grep -v -e "::$isa::" -e ' DW\.ref\.' | sort -u -k3 || true)
if [ -n "$shared" ]; then
  printf 'error: objects for %s define shared symbols outside their namespace:\n%s\n' "$isa" "$shared"
  exit 1
fi
echo "no shared symbols in $# objects for $isa"
