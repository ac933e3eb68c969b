#!/usr/bin/env bash
# 200 training steps of DeiT and of PerViT, and a few of two DeiT blocks at 197 tokens, on the fake device beside
# the CPU: losses within 1e-5 in f32 and within 2 % in bf16. At the recipe's rate, 2e-3, these models amplify the
# last bits after 140 steps (two instruction sets of the CPU end 2.8e-2 apart); at 3e-4 they do not (1.1e-7).
#   tests/cuda/long_training.sh [PROGRAMS [STEPS [STEPS_AT_197]]]     PROGRAMS: their folder (default: build/fake)
set -euo pipefail
cd "$(dirname "$0")/../.."
source bench/gpu_families.sh
programs=${1:-build/fake} steps=${2:-200} large_steps=${3:-8} epochs=8
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

beside_the_cpu() {  # name, steps
  local precision within
  for precision in f32 bf16; do
    within=1e-5
    [ "$precision" = f32 ] || within=2e-2
    short_run "$2" cpu "$precision" "$folder/$1-$precision-cpu" >/dev/null
    short_run "$2" cuda "$precision" "$folder/$1-$precision" >/dev/null
    printf '%s %s: ' "$1" "$precision"
    tests/programs/same_losses.py "$folder/$1-$precision" "$folder/$1-$precision-cpu" --within "$within" || failed=1
  done
}

for family in deit pervit; do
  set_family "$family"
  flags+=(--lr 3e-4)
  beside_the_cpu "$family" "$steps"
done
program=train_cifar data=builtin
flags=(--model deit_tiny_patch16_224 --depth 2 --embed-dim 32 --num-heads 2 --lr 3e-4)
beside_the_cpu deit_at_197_tokens "$large_steps"
exit $failed
