#!/usr/bin/env bash
# All checks that need a real GPU, in one command and in the order of their use on a visit of 15 minutes:
#   1. in 8 minutes: rates of the machine, and what they predict (gpu_model.py, where BUILD_DIR has a counts.json
#      of gpu_counts.py); attention's op table and memcheck, five workloads in f32 and bf16, training and
#      inference, by kernel and beside PyTorch in eager mode
#   2. PyTorch compiled, for two models
#   3. the device's tests, all op tables, derivatives, golden files, training of every family, all other
#      programs, attention alone beside PyTorch's backends, the benchmark with its memory, compute-sanitizer's
#      tools
# PyTorch is that of FOVEA_PEER_PYTHON or python3. After each step its result is in results.json and
# table.md, beside its log, in $OUT or BUILD_DIR/gpu-check.
#   bench/gpu_check.sh [--dry-run] [--no-build] [--only STEPS] [--limit SECONDS] [BUILD_DIR]
#   bench/gpu_check.sh --pack FILE [--architecture 90] [--no-build] [BUILD_DIR]
#   bench/gpu_check.sh --unpack FILE [--only STEPS] [--limit SECONDS] [BUILD_DIR]
# Each step has a limit of its own, and fails beyond it. Steps that could not run, or that the machine
# refuses, are "skipped", with the reason, never "ok". The exit code is 1 after a failure, and 2 if nothing
# failed but a step was skipped.
#   --dry-run        runs each step on the fake device, the first ones at tiny sizes, or says why it cannot
#   --no-build       uses the programs in BUILD_DIR as they are
#   --only STEPS     runs only these, a list in quotes; the results do not name the others
#   --limit SECONDS  no step takes longer than that
#   --pack FILE      builds the programs for one architecture and packs them, at most 30 MB
#   --architecture N the one that --pack builds for, otherwise 90
#   --unpack FILE    unpacks such an archive into BUILD_DIR and checks these programs
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
source bench/gpu_families.sh
source bench/gpu_archive.sh
dry='' no_build='' only='' limit=3600 archive='' action=check architecture=''
while [ $# -gt 0 ]; do
  case "$1" in
    --dry-run) dry=1 ;;
    --no-build) no_build=1 ;;
    --only) only=$2 && shift ;;
    --limit) limit=$2 && shift ;;
    --architecture) architecture=$2 && shift ;;
    --pack | --unpack) action=${1#--} archive=$2 && shift ;;
    -*) echo "gpu_check.sh: unknown option $1, see the first lines of this file" >&2 && exit 2 ;;
    *) break ;;
  esac
  shift
done
build=${1:-build-gpu}
logs=${OUT:-$build/gpu-check}

wanted() {  # name of a step
  case "$1" in
    configure | build) [ -z "$no_build" ] ;;
    *) [ -z "$only" ] || [[ " $only " == *" $1 "* ]] ;;
  esac
}

note() {  # name, state, seconds, message
  printf '== %s: %s, %s s %s\n' "$1" "$2" "$3" "$4"
  bench/gpu_results.py "$logs" --step "$1" --state "$2" --seconds "$3" --message "$4"
}

# What a machine says if it does not allow something, or does not have it.
readonly refusals='not permitted|permission|ERR_NVGPUCTRPERM|not supported|is not installed|command not found|No module'

step() {  # limit in seconds, name, command...: runs it, keeps its output, records the result
  local seconds=$(($1 < limit ? $1 : limit)) name=$2 start=$SECONDS status=0 log=$logs/$2.log refusal
  shift 2
  wanted "$name" || return 0
  timeout -k 5 "$seconds" bash -c '"$@"' bash "$@" >"$log" 2>&1 || status=$?
  if [ "$status" = 0 ]; then
    refusal=$(grep -m 1 -o -E '(^|MESSAGE: )skipped.*' "$log")
    [ -z "$refusal" ] && note "$name" ok $((SECONDS - start)) '' && return
  else
    refusal=$(grep -m 1 -i -E "$refusals" "$log")
  fi
  if [ -n "$refusal" ]; then
    note "$name" skipped $((SECONDS - start)) "$refusal"
  elif [ "$status" = 124 ] || [ "$status" = 137 ]; then
    note "$name" FAILED $((SECONDS - start)) "stopped at its limit of $seconds s, see $log"
  else
    note "$name" FAILED $((SECONDS - start)) "see $log"
    tail -n 5 "$log"
  fi
}

skip() {  # reason, names of steps
  local reason=$1 name
  shift
  for name in "$@"; do wanted "$name" && note "$name" skipped 0 "$reason"; done
}

goldens() {  # program, precision
  "$1" --device cuda --precision "$2" tests/golden/{cpvt,ddetr,deit,depth,detr,dit,mae,ops,pervit,pit,train,vae,vit}_*.safetensors
}

readonly workloads=vit_tiny_patch4_32,deit_tiny_patch16_224,cpvt_tiny_peg0_224,pervit_tiny_224,pit_tiny_32
bench() {  # step's name, flags: rows without memory, as they come
  "$programs/fovea_bench" --device cuda --no-peaks --json "$logs/$1.json" "${@:2}"
}

export -f goldens bench set_family short_run training
export logs families
sanitizer=(compute-sanitizer --error-exitcode 1 --tool)

has_peer() {  # says why not, and leaves that in $lack
  export FOVEA_PEER_PYTHON=${FOVEA_PEER_PYTHON:-$(command -v python3)}
  lack=$("$FOVEA_PEER_PYTHON" -c "import timm, torch" 2>&1) && return
  lack=${lack##*$'\n'}
  return 1
}

# What gpu_model.py expects of this machine, from counts that need no GPU.
predict() {
  local counts=$build/counts.json
  if [ -n "$dry" ]; then
    counts=$logs/counts.json
    step 600 counts bench/gpu_counts.py "$counts" --programs "$programs" --tiny --precision bf16
  fi
  if [ -f "$counts" ]; then
    step 5 predict bench/gpu_model.py "$counts" --measured "$logs/rates.json" --json "$logs/predict.json"
  else
    skip "there is no $counts: bench/gpu_counts.py writes it without a GPU" predict
  fi
}

# The first eight minutes: the limits add up to 480 seconds.
first_part() {  # flags of the workloads...
  step 25 rates "$programs/gpu_rates" --json "$logs/rates.json" ${dry:+--tiny}
  predict
  step 60 attention "$programs/cuda_attention" "${few_sizes[@]}"
  if [ -n "$dry" ]; then
    skip "compute-sanitizer needs a GPU; the emulator looks at every access" attention-memcheck
  else
    FOVEA_NO_CACHE=1 step 60 attention-memcheck "${sanitizer[@]}" memcheck "$programs/cuda_attention" --tokens 1,17,65
  fi
  local precision
  for precision in f32 bf16; do step 60 "kernels-$precision" bench "kernels-$precision" --kernels --precision $precision "$@"; done
  if [ -n "$dry" ]; then
    skip "the fake device has no speed" eager-f32 eager-bf16
  elif has_peer; then
    for precision in f32 bf16; do
      step 105 "eager-$precision" bench "eager-$precision" --peer --peer-in-one-process --precision $precision "$@"
    done
  else
    skip "$lack" eager-f32 eager-bf16
  fi
}

compiled_part() {
  local kind compared
  for kind in compile autotune; do
    compared=(--peer "--$kind" --precision bf16 --reps 5)
    if [ -n "$dry" ]; then
      skip "the fake device has no speed" "$kind-vit_tiny" "$kind-deit_small"
    elif ! has_peer; then
      skip "$lack" "$kind-vit_tiny" "$kind-deit_small"
    else
      step 120 "$kind-vit_tiny" bench "$kind-vit_tiny" "${compared[@]}" --workload vit_tiny_patch4_32
      step 180 "$kind-deit_small" bench "$kind-deit_small" "${compared[@]}" --model deit_small_patch16_224 --batch-size 256
    fi
  done
}

rest_on_the_fake_device() {
  local tests=$build/tests/cuda
  step 600 device "$tests/test_fake_device"
  step 3600 cases "$programs/cuda_cases" --seeds 5
  step 3600 gradcheck "$programs/gradcheck" --device cuda --entries 1
  step 3600 parity-f32 goldens "$programs/parity" f32
  step 3600 parity-bf16 goldens "$programs/parity" bf16
  step 3600 families "$tests/test_fake_families"
  step 3600 training training "$programs" "$logs/training"
  step 3600 programs tests/cuda/programs.py --programs "$programs"
  step 600 access "$tests/test_fake_access"
  step 600 emulator "$tests/test_emulator"
  step 600 fake-device "$tests/test_fake"
  skip "the fake device has no speed" attention-alone benchmark
  skip "compute-sanitizer needs a GPU; the emulator looks at every access" memcheck racecheck initcheck synccheck
}

rest_on_a_gpu() {
  local tool peer=()
  step 60 device "$programs/tests/cuda/test_cuda_device"
  step 120 cases "$programs/cuda_cases" --seeds 3
  step 300 gradcheck "$programs/gradcheck" --device cuda --entries 10
  step 300 parity-f32 goldens "$programs/parity" f32
  step 300 parity-bf16 goldens "$programs/parity" bf16
  step 600 training training "$programs" "$logs/training"
  step 300 programs tests/cuda/programs.py --programs "$programs"
  if has_peer; then
    peer=(--peer)
    step 300 attention-alone "$FOVEA_PEER_PYTHON" bench/attention_gpu.py "$programs/attention_bench" --json "$logs/attention-alone.json"
  else
    skip "$lack" attention-alone
  fi
  step 900 benchmark "$programs/fovea_bench" --device cuda "${peer[@]}" --json "$logs/benchmark.json"
  for tool in memcheck racecheck initcheck synccheck; do
    FOVEA_NO_CACHE=1 step 600 "$tool" "${sanitizer[@]}" "$tool" "$programs/cuda_cases"
  done
}

check_on_the_fake_device() {
  export programs=$build/fake
  few_sizes=(--tokens "1,17" --widths "16,26")
  bench/gpu_results.py "$logs" --machine "no GPU is used: this is a dry run on the fake device"
  step 3600 configure cmake -S . -B "$build" -G Ninja -DFOVEA_CUDA=OFF
  step 3600 build cmake --build "$build" --target test_emulator test_fake test_fake_device test_fake_train \
    test_fake_families test_fake_access fake_cuda_cases fake_cuda_attention fake_gradcheck fake_parity \
    fake_train_cifar fake_train_mae fake_train_diffusion fake_train_vae fake_train_depth fake_train_detection \
    fake_evaluate fake_predict fake_inspect fake_summary fake_fovea_bench fake_gpu_rates fake_kernel_counts
  first_part --model vit_tiny_patch4_32 --patch-size 16 --depth 2 --embed-dim 16 --num-heads 2 --batch-size 2 \
    --reps 1 --ceiling 32
  compiled_part
  rest_on_the_fake_device
}

readonly targets=(gpu_rates test_cuda_device cuda_cases cuda_attention gradcheck parity train_cifar train_mae
  train_diffusion train_vae train_depth train_detection evaluate predict inspect summary fovea_bench attention_bench)
check_on_a_gpu() {
  export programs=$build
  few_sizes=()
  [ "$action" = unpack ] && export LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  local gpu
  gpu=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null) || gpu=
  [ -n "$architecture" ] || architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
  bench/gpu_results.py "$logs" --machine "${gpu:-no GPU}"
  step 3600 configure cmake -S . -B "$build" -G Ninja -DFOVEA_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES="${architecture:-80;90}"
  step 3600 build cmake --build "$build" --target "${targets[@]}"
  if [ -z "$gpu" ]; then
    skip "no GPU is visible" rates predict attention attention-memcheck kernels-f32 kernels-bf16 eager-f32 eager-bf16 \
      compile-vit_tiny compile-deit_small autotune-vit_tiny autotune-deit_small device cases gradcheck parity-f32 \
      parity-bf16 training programs attention-alone benchmark memcheck racecheck initcheck synccheck
    return
  fi
  first_part --workload "$workloads" --reps 5
  compiled_part
  rest_on_a_gpu
}

pack_programs() {
  if [ -z "$no_build" ]; then
    cmake -S . -B "$build" -G Ninja -DFOVEA_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES="${architecture:-90}" -DFOVEA_MPI=OFF \
      -DFOVEA_NCCL=OFF -DCMAKE_DISABLE_FIND_PACKAGE_HDF5=ON && cmake --build "$build" --target "${targets[@]}" || return 1
  fi
  pack "$archive" "$build"
}

if [ "$action" = pack ]; then
  pack_programs
  exit
elif [ "$action" = unpack ]; then
  no_build=1
  unpack "$archive" "$build" || exit 1
fi
mkdir -p "$logs"
if [ -n "$dry" ]; then check_on_the_fake_device; else check_on_a_gpu; fi
bench/gpu_results.py "$logs" --exit-code
