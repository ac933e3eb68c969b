#!/usr/bin/env bash
# Trains the models of the README's picture on the built-in data and draws it: the attention of one
# small model per family over the same drawn picture, and reconstructions by a masked autoencoder.
#
#   bench/readme_picture.sh OUT [PICTURE]     PICTURE: docs/attention-and-mae.svg by default
#
# JOBS is the number of runs at a time, with one thread each (default: the number of processors).
# Finished runs are kept in OUT and not repeated, so the script can be stopped and restarted. It took
# 35 minutes on two cores that were busy with other work.
set -euo pipefail
# shellcheck source=bench/jobs.sh
source "$(dirname "${BASH_SOURCE[0]}")/jobs.sh"

picture="$(realpath -m -- "${2:-$(dirname "${BASH_SOURCE[0]}")/../docs/attention-and-mae.svg}")"
begin "${1:?usage: bench/readme_picture.sh OUT [PICTURE]}"
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"

# 8x8 tokens of width 64 in four blocks. PiT reads each pixel of a 16x16 picture as a token.
small=(--depth 4 --embed-dim 64 --num-heads 2)
mean_head=("${small[@]}" --no-class-token --global-pool avg)
set_run() { # family: sets the program and its flags
  program=train_cifar
  case "$1" in
    vit) flags=(--model vit_tiny_patch4_32 --epochs 4 "${mean_head[@]}") ;;
    deit) flags=(--model deit_tiny_distilled_patch4_32 --epochs 4 "${small[@]}"
      --distillation-type hard --teacher-checkpoint "$out/pervit") ;;
    cpvt) flags=(--model cpvt_tiny_peg0_gap_224 --img-size 32 --patch-size 4 --epochs 3 "${mean_head[@]}") ;;
    pervit) flags=(--model pervit_tiny_224 --img-size 32 --emb-dims 64 --depths 4
      --convstem-dims "3,32,64" --num-heads 2 --epochs 3) ;;
    pit) flags=(--model pit_tiny_32 --img-size 16 --epochs 3 "${mean_head[@]}") ;;
    mae) program=train_mae flags=(--epochs 10) ;;
  esac
}

train() { # family
  local program flags
  is_done "$out/$1" && return 0
  rm -rf "${out:?}/$1" "$out/$1.out"
  set_run "$1"
  make_run "$1" "$out/$1" "$build/$program" --dataset builtin "${flags[@]}" --warmup-epochs 0.5 \
    --threads 1 --workers 1 --no-report --output "$out/$1" || return 1
  echo "$1: done"
}
train_teacher_and_deit() { train pervit && train deit; }

make_programs train_cifar train_mae inspect
start_job train pit
start_job train_teacher_and_deit
for family in mae vit cpvt; do start_job train "$family"; done
finish_jobs

for family in vit deit cpvt pervit pit; do
  logged "inspect attention of $family" "$out/$family.out" "$build/inspect" attention "$out/$family" \
    --dataset builtin --count 20 --output "$out/maps/$family"
done
logged "inspect mae" "$out/mae.out" "$build/inspect" mae "$out/mae" --dataset builtin --count 20 \
  --output "$out/maps/mae"
bench/readme_picture.py "$out/maps" "$picture"
