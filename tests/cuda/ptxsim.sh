#!/usr/bin/env bash
# The op table, attention at sizes around its tiles, the device tests, a golden file of each family, and training
# steps of each, with rotary positions and with each optimizer, of which three are repeated as a graph: with nvcc's
# PTX of the kernels run by ptxsim, an interpreter with its own CUDA runtime and cuBLASLt that is not part of this
# repository, a check independent of the emulator.
#   FOVEA_PTXSIM=DIR tests/cuda/ptxsim.sh [BUILD_DIR]      DIR: the folder with ptxsim's run.sh
# Exits 77, "skipped", if ptxsim or nvcc is missing.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build-ptxsim}
sim=${FOVEA_PTXSIM-}
[ -n "$sim" ] && [ -x "$sim/run.sh" ] || { echo "skipped: FOVEA_PTXSIM names no folder with run.sh"; exit 77; }
command -v nvcc >/dev/null || { echo "skipped: no nvcc on PATH"; exit 77; }

"$sim/run.sh" --configure "$PWD" "$build" -G Ninja -DFOVEA_CUDA=ON >/dev/null
cmake --build "$build" --target cuda_cases cuda_attention test_cuda_device train_cifar parity
echo "== the op table"
# Each tensor gets a separate allocation, so that accesses beyond its ends are detected.
FOVEA_NO_CACHE=1 "$sim/run.sh" "$build" cuda_cases | tail -n 20
echo "== attention at sizes around its tiles"
FOVEA_NO_CACHE=1 "$sim/run.sh" "$build" cuda_attention --seeds 1 --tokens 1,17,65,129
echo "== device tests"
"$sim/run.sh" "$build" test_cuda_device
echo "== a golden of each family"
"$sim/run.sh" "$build" parity --device cuda --precision f32 \
  tests/golden/{vit_token,deit_soft,cpvt_cls,pervit_base,pit_perm_delta,mae_p1_learned,dit_p2}.safetensors
echo "== training beside the CPU's"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
small=(--depth 2 --embed-dim 12 --num-heads 2)
vit=(--model vit_tiny_patch4_32 --patch-size 8 "${small[@]}")
within=1e-5
beside_the_cpu() {  # steps, of which a GPU repeats those from the fourth on, and the run's settings...
  local train=(--dataset builtin --batch-size 4 --log-interval 1 --epochs 1 --warmup-epochs 0 --workers 0
               --max-steps "$@")
  rm -rf "$folder"/c*
  "$sim/run.sh" "$build" train_cifar "${train[@]}" --device cuda --output "$folder/cuda" >"$folder/said"
  if grep "op by op" "$folder/said"; then return 1; fi
  "$build/train_cifar" "${train[@]}" --output "$folder/cpu" >/dev/null
  printf '%s: ' "${*:2}"
  tests/programs/same_losses.py "$folder/cuda" "$folder/cpu" --within "$within"
}
beside_the_cpu 10 --model linear
beside_the_cpu 6 "${vit[@]}"
beside_the_cpu 6 --model deit_tiny_distilled_patch4_32 --patch-size 8 "${small[@]}"
beside_the_cpu 6 --model cpvt_tiny_peg0_patch4_32 --patch-size 8 "${small[@]}"
beside_the_cpu 6 --model pervit_tiny_32 --convstem-dims 3,6,12 --depths 1,1 --emb-dims 12,16 --num-heads 2 --img-size 16
beside_the_cpu 6 --model pit_tiny_32 --img-size 4 "${small[@]}"
echo "== batches, rotary positions, updates and skipping in steps that are repeated"
beside_the_cpu 6 "${vit[@]}" --reprob 1 --remode pixel --mixup 0.8 --cutmix 1 --aa rand-m9-mstd0.5
beside_the_cpu 6 "${vit[@]}" --rope axial --num-heads 3
beside_the_cpu 6 "${vit[@]}" --rope mixed --num-heads 3
for optimizer in sgd lamb lars lion muon; do
  beside_the_cpu 6 "${vit[@]}" --opt "$optimizer" --model-ema --grad-accum-steps 2
done
beside_the_cpu 6 "${vit[@]}" --clip-mode agc --clip-grad 0.01 --skip-nonfinite --drop-path 0.1
within=2e-2
beside_the_cpu 6 "${vit[@]}" --precision bf16 --model-ema
