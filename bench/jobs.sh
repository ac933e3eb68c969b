# shellcheck shell=bash disable=SC2034
# Functions for the scripts in this folder that start many runs; they source this file and call `begin`.
#
# It sets
#   out     the output folder; it and FOVEA_DATA become absolute, relative to the caller's directory
#   build   the folder of the programs: FOVEA_BUILD_DIR, as for ./run
#   seeds   the seeds: SEEDS (default "1 2 3")
#   jobs    the number of concurrent jobs: JOBS (default: the processors)
#   cifar   after find_cifar10: the folder of its .bin files
# After a job fails, no further one is started; running jobs are awaited, then the script fails. Stopping
# the script stops its jobs.

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

# Searches FOVEA_DATA, except below `out`.
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

# Appends a command's output to a file. If the command fails, prints its name and the last lines.
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

# Starts a run in its folder, with its output in FOLDER.out. Finished runs are not repeated.
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
  set -m # a separate process group, which stop_jobs can end
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
