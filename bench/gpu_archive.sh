# shellcheck shell=bash
# The programs of gpu_check.sh as an archive, for a machine that cannot build: gpu_check.sh sources this file.

readonly packed_programs=(gpu_rates cuda_attention cuda_cases gradcheck parity train_cifar train_mae train_diffusion
  train_vae train_depth train_detection evaluate predict inspect summary fovea_bench attention_bench tests/cuda/test_cuda_device)
readonly packed_most=$((30 << 20))

# The shared libraries of programs that another machine may lack: all but those of the C library, which fit
# the machine's own kernel and loader.
libraries_of() {  # programs...
  ldd "$@" 2>/dev/null | awk '$2 == "=>" && $3 ~ "^/" { print $3 }' | sort -u |
    grep -v -E '/(libc|libm|libdl|librt|libpthread|ld-linux[^/]*)\.so'
}

# pack FILE BUILD: the programs of that folder without symbols, and its counts.json if it has one, at most
# 30 MB. Programs of one kind are alike, so that a large window finds most of each in the one before.
pack() (
  file=$1 from=$2
  folder=$(mktemp -d) || exit 1
  trap 'rm -rf "$folder"' EXIT
  for program in "${packed_programs[@]}"; do
    mkdir -p "$folder/$(dirname "$program")" && strip -o "$folder/$program" "$from/$program" || exit 1
  done
  mkdir "$folder/lib"
  (cd "$from" && libraries_of "${packed_programs[@]}") | while read -r library; do
    strip -o "$folder/lib/$(basename "$library")" "$library" || exit 1
  done
  local extra=()
  [ -f "$from/counts.json" ] && cp "$from/counts.json" "$folder" && extra=(counts.json)
  tar -C "$folder" -c "${packed_programs[@]}" lib "${extra[@]}" | xz -T1 --lzma2=preset=6,dict=256MiB >"$file.part" || exit 1
  bytes=$(stat -c %s "$file.part")
  if [ "$bytes" -gt "$packed_most" ]; then
    echo "gpu_check.sh: the archive has $bytes bytes, at most $packed_most are allowed:" >&2
    (cd "$folder" && ls -l "${packed_programs[@]}" lib) >&2
    rm "$file.part"
    exit 1
  fi
  mv "$file.part" "$file"
  echo "$file: $bytes bytes, ${#packed_programs[@]} programs"
)

unpack() {  # file, folder
  mkdir -p "$2" && tar -C "$2" -xJf "$1"
}
