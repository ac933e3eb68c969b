# shellcheck shell=bash disable=SC2034
# Short training runs of tiny models, one of each family, for the scripts that compare a device with the
# CPU; they source this file.

readonly families="linear vit deit cpvt pervit pit mae dit depth detection"

set_family() {  # sets the family's training program and the flags of a tiny model
  local small=(--depth 2 --embed-dim 12 --num-heads 2)
  program=train_cifar data=builtin
  case "$1" in
    linear) flags=(--model linear) ;;
    vit) flags=(--model vit_tiny_patch4_32 --patch-size 8 "${small[@]}") ;;
    deit) flags=(--model deit_tiny_distilled_patch4_32 --patch-size 8 "${small[@]}") ;;
    cpvt) flags=(--model cpvt_tiny_peg0_patch4_32 --patch-size 8 "${small[@]}") ;;
    pervit) flags=(--model pervit_tiny_32 --convstem-dims "3,6,12" --depths "1,1" --emb-dims "12,16" --num-heads 2
      --img-size 16) ;;
    pit) flags=(--model pit_tiny_32 --img-size 4 "${small[@]}") ;;
    mae) program=train_mae flags=(--model mae_vit_tiny_patch4_32 --patch-size 8 "${small[@]}"
      --decoder-embed-dim 8 --decoder-depth 1 --decoder-num-heads 2 --norm-pix-loss) ;;
    depth) program=train_depth data=rooms flags=(--model depth_cpvt_tiny_peg0_patch2_24x32 "${small[@]}") ;;
    detection) program=train_detection data=scenes flags=(--model deformable_detr_tiny_scenes) ;;
    dit) program=train_diffusion flags=(--model dit_s_4_32 --patch-size 8 "${small[@]}" --sched cosine) ;;
  esac
}

# short_run STEPS DEVICE PRECISION FOLDER: by $program of the folder $programs, with $data and $flags, in as
# many epochs as $epochs says.
short_run() {
  "$programs/$program" --dataset "$data" "${flags[@]}" --batch-size 4 --max-steps "$1" --log-interval 1 --epochs "${epochs:-1}" \
    --fraction 0.01 --workers 0 --device "$2" --precision "$3" --resume auto --output "$4"
}

# Ten steps of every family on the device must have the CPU's losses; in f32 also if a run is stopped on
# one of the two and resumed on the other.
training() {  # folder of the programs, folder of the runs
  local programs=$1 folder=$2 family program data flags
  for family in $families; do
    echo "== $family"
    set_family "$family"
    rm -rf "$folder"
    short_run 10 cpu f32 "$folder/cpu" && short_run 10 cuda f32 "$folder/cuda" &&
      short_run 10 cpu bf16 "$folder/cpu-bf16" && short_run 10 cuda bf16 "$folder/cuda-bf16" &&
      short_run 5 cpu f32 "$folder/cpu-first" && short_run 10 cuda f32 "$folder/cpu-first" &&
      short_run 5 cuda f32 "$folder/cuda-first" && short_run 10 cpu f32 "$folder/cuda-first" &&
      tests/programs/same_losses.py "$folder/cuda" "$folder/cpu" &&
      tests/programs/same_losses.py "$folder/cuda-bf16" "$folder/cpu-bf16" --within 2e-2 &&
      tests/programs/same_losses.py "$folder/cpu-first" "$folder/cpu" &&
      tests/programs/same_losses.py "$folder/cuda-first" "$folder/cpu" || return 1
  done
  rm -rf "$folder"
}
