#!/usr/bin/env bash
# All checks that need a real GPU, in one command: build, the device's tests, the op table, derivatives,
# golden files of every model family, training of every family and all other programs compared with the
# CPU, speed (beside PyTorch if FOVEA_PEER_PYTHON or python3 has it), compute-sanitizer. Writes its
# logs under $OUT if that is set, and ends with a summary.
#   bench/gpu_check.sh [--dry-run] [--no-build] [--only STEPS] [--limit SECONDS] [BUILD_DIR]
# Steps that could not run are "skipped", with the reason, never "ok". The exit code is 1 after a
# failure, and 2 if nothing failed but a step was skipped.
#   --dry-run        runs each step on the fake device, or prints why it cannot
#   --no-build       uses the programs in BUILD_DIR as they are: for a machine that cannot build
#   --only STEPS     runs only these, a list in quotes; the summary does not name the others
#   --limit SECONDS  stops a step after that time, as a failure
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
dry='' no_build='' only='' limit=0
while [ $# -gt 0 ]; do
  case "$1" in
    --dry-run) dry=1 ;;
    --no-build) no_build=1 ;;
    --only) only=$2 && shift ;;
    --limit) limit=$2 && shift ;;
    -*) echo "gpu_check.sh: unknown option $1, see the first lines of this file" >&2 && exit 2 ;;
    *) break ;;
  esac
  shift
done
build=${1:-build-gpu}
logs=${OUT:-$build/gpu-check}
mkdir -p "$logs"
rows=()

note() { rows+=("$(printf '%-16s %-8s %s' "$1" "$2" "$3")"); printf '== %s: %s %s\n' "$1" "$2" "$3"; }

wanted() {  # name of a step
  case "$1" in
    configure | build) [ -z "$no_build" ] ;;
    *) [ -z "$only" ] || [[ " $only " == *" $1 "* ]] ;;
  esac
}

limited() {  # command...: a function of this file, or a program
  if [ "$limit" = 0 ]; then
    "$@"
  else
    timeout "$limit" bash -c '"$@"' bash "$@"
  fi
}

step() {  # name, command...: runs it, keeps its output, records the result
  local name=$1 start=$SECONDS
  shift
  wanted "$name" || return 0
  if limited "$@" >"$logs/$name.log" 2>&1; then
    if grep -q '^skipped\|MESSAGE: skipped' "$logs/$name.log"; then
      note "$name" skipped "$(grep -m1 -o 'skipped.*' "$logs/$name.log")"
    else
      note "$name" ok "$((SECONDS - start)) s"
    fi
  else
    note "$name" FAILED "see $logs/$name.log"
    tail -n 5 "$logs/$name.log"
  fi
}

goldens() {  # program, precision
  "$1" --device cuda --precision "$2" tests/golden/{cpvt,ddetr,deit,depth,detr,dit,mae,ops,pervit,pit,train,vae,vit}_*.safetensors
}

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

short_run() {  # total steps, device, precision, folder
  "$programs/$program" --dataset "$data" "${flags[@]}" --batch-size 4 --max-steps "$1" --log-interval 1 --epochs 1 \
    --fraction 0.01 --workers 0 --device "$2" --precision "$3" --resume auto --output "$4"
}

# Ten steps of every family on the device must have the CPU's losses; in f32 also if a run is stopped on
# one of the two and resumed on the other.
training() {  # folder of the programs
  local programs=$1 folder=$logs/training family program data flags
  for family in linear vit deit cpvt pervit pit mae dit depth detection; do
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

export -f goldens set_family short_run training
export logs
if [ -n "$dry" ]; then
  gpu="no GPU is used: this is a dry run on the fake device"
  step configure cmake -S . -B "$build" -G Ninja -DFOVEA_CUDA=OFF
  step build cmake --build "$build" --target test_emulator test_fake test_fake_device test_fake_train test_fake_families \
    test_fake_access fake_cuda_cases fake_gradcheck fake_parity fake_train_cifar fake_train_mae \
    fake_train_diffusion fake_train_vae fake_train_depth fake_train_detection fake_evaluate fake_predict \
    fake_inspect fake_summary fake_fovea_bench
  tests=$build/tests/cuda
  step device "$tests/test_fake_device"
  step cases "$build/fake/cuda_cases" --seeds 5
  step gradcheck "$build/fake/gradcheck" --device cuda --entries 1
  step parity-f32 goldens "$build/fake/parity" f32
  step parity-bf16 goldens "$build/fake/parity" bf16
  step families "$tests/test_fake_families"
  step training training "$build/fake"
  step programs tests/cuda/programs.py --programs "$build/fake"
  step access "$tests/test_fake_access"
  step emulator "$tests/test_emulator"
  step fake-device "$tests/test_fake"
  note benchmark skipped "the fake device has no speed"
  note sanitizer skipped "compute-sanitizer needs a GPU; the emulator looks at every access"
else
  gpu=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null) || gpu="no GPU"
  architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
  [ -n "$architecture" ] || architecture="80;90"
  step configure cmake -S . -B "$build" -G Ninja -DFOVEA_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES="$architecture"
  step build cmake --build "$build" --target test_cuda_device cuda_cases gradcheck parity train_cifar \
    train_mae train_diffusion train_vae train_depth train_detection evaluate predict inspect summary fovea_bench
  step device "$build/tests/cuda/test_cuda_device"
  if [ "$gpu" = "no GPU" ]; then
    for name in cases gradcheck parity training programs benchmark sanitizer; do note "$name" skipped "no GPU is visible"; done
  else
    step cases "$build/cuda_cases" --seeds 3
    step gradcheck "$build/gradcheck" --device cuda --entries 10
    step parity-f32 goldens "$build/parity" f32
    step parity-bf16 goldens "$build/parity" bf16
    step training training "$build"
    step programs tests/cuda/programs.py --programs "$build"
    export FOVEA_PEER_PYTHON=${FOVEA_PEER_PYTHON:-$(command -v python3)}
    peer=() && "$FOVEA_PEER_PYTHON" -c "import timm, torch" 2>/dev/null && peer=(--peer)
    step benchmark "$build/fovea_bench" --device cuda "${peer[@]}" --json "$logs/bench.json"
    if command -v compute-sanitizer >/dev/null; then
      for tool in memcheck racecheck initcheck synccheck; do
        FOVEA_NO_CACHE=1 step "$tool" compute-sanitizer --tool "$tool" --error-exitcode 1 "$build/cuda_cases"
      done
    else
      note sanitizer skipped "compute-sanitizer is not installed"
    fi
  fi
fi
{
  echo "$gpu"
  printf '%s\n' "${rows[@]}"
} | tee "$logs/summary.txt"
grep -q ' FAILED ' "$logs/summary.txt" && exit 1
grep -q ' skipped ' "$logs/summary.txt" && exit 2
exit 0
