# shellcheck shell=bash disable=SC2034
# What the scripts of this folder that make many runs share; they source it and `begin`.
#
# It sets
#   out     their folder, and FOVEA_DATA likewise: absolute, read where the caller stood
#   build   the folder of the programs: FOVEA_BUILD_DIR, as ./run reads it
#   seeds   of SEEDS (default "1 2 3")
#   jobs    how many jobs go on at a time: JOBS (default: the processors)
#   cifar   once find_cifar10 was called: the folder of its .bin files
# The first job that fails is the last that is started: those under way are waited for, then the script
# fails. Where the script itself is stopped, so are its jobs.

die() {
  echo "error: $*" >&2
  exit 1
}

begin() { # folder
  out="$(realpath -m -- "$1")"
  if [[ -n "${FOVEA_DATA:-}" ]]; then
    FOVEA_DATA="$(realpath -m -- "$FOVEA_DATA")"
    export FOVEA_DATA
  fi
  cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
  build="$(realpath -m -- "${FOVEA_BUILD_DIR:-build}")"
  read -r -a seeds <<<"${SEEDS:-1 2 3}"
  jobs="${JOBS:-$(nproc)}"
  job_ids=()
  trap stop_jobs EXIT
  mkdir -p "$out"
}

# Anywhere below FOVEA_DATA, but not below `out`.
find_cifar10() {
  [[ -n "${FOVEA_DATA:-}" ]] || die "FOVEA_DATA names no folder that holds CIFAR-10"
  local found
  mapfile -t found < <(find -L "$FOVEA_DATA" -path "$out" -prune -o -name test_batch.bin -print | sort)
  ((${#found[@]} > 0)) || die "FOVEA_DATA: no test_batch.bin of CIFAR-10 is below $FOVEA_DATA"
  cifar="$(dirname "${found[0]}")"
}

make_programs() {
  local program
  for program in "$@"; do ./run "$program" --help >/dev/null; done
}

# What a command says goes to the end of a file; if it fails, its name and the last lines are shown.
logged() { # name, file, command...
  local name="$1" log="$2"
  shift 2
  "$@" >>"$log" 2>&1 || {
    echo "error: $name failed; the end of $log:"
    tail -n 5 "$log"
    return 1
  } >&2
}

is_done() { [[ -f "$1/done" ]]; }

# A run whose folder the command makes, with FOLDER.out beside it; one that is done is not made again.
make_run() { # name, folder, command...
  local name="$1" folder="$2"
  shift 2
  is_done "$folder" && return 0
  mkdir -p "$(dirname "$folder")"
  logged "$name" "$folder.out" "$@" || return 1
  touch "$folder/done"
}

start_job() { # command...
  while (($(jobs -rp | wc -l) >= jobs)); do wait -n || finish_jobs; done
  set -m # a process group of its own, which stop_jobs can end
  "$@" &
  set +m
  job_ids+=($!)
}

finish_jobs() {
  local id failed=0
  for id in "${job_ids[@]}"; do wait "$id" || ((++failed)); done
  job_ids=()
  ((failed == 0)) || die "$failed of the jobs failed"
}

stop_jobs() {
  local id
  for id in $(jobs -rp); do kill -- "-$id" || true; done
}
