#!/usr/bin/env bash
# Trains briefly and opens the run's report in a headless browser: every picture must be shown, the
# headings must exist, and the console must stay empty. report_browser.sh BUILD_FOLDER [REPORT.html];
# exits 77 with a message if there is no browser.
set -euo pipefail

readonly build="$1"
browser=""
for name in chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null && browser="$name" && break
done
if [[ -z "$browser" ]]; then
  echo "SKIPPED: no chromium here (apt-get install chromium)"
  exit 77
fi
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

page="${2:-}"
if [[ -z "$page" ]]; then
  "$build/train_cifar" --epochs 2 --warmup-epochs 0 --fraction 0.02 --depth 1 --embed-dim 24 \
    --mixup 0.2 --workers 0 --output "$folder/run" >"$folder/train.log" ||
    { cat "$folder/train.log"; exit 1; }
  page="$folder/run/report.html"
fi
[[ -s "$page" ]] || { echo "FAILED: no report was written"; exit 1; }

timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$folder/profile" \
  --enable-logging=stderr --virtual-time-budget=10000 --dump-dom "file://$(realpath "$page")" \
  >"$folder/dom" 2>"$folder/log" || { cat "$folder/log"; echo "FAILED: the browser failed"; exit 1; }

failed=0
complain() {
  echo "FAILED: $*"
  failed=1
}
grep 'CONSOLE' "$folder/log" && complain "the console is not empty"
shown="$(grep -o 'data-images="[^"]*"' "$folder/dom" | head -n 1)"
read -r done_images of_images < <(sed 's/[^0-9]*\([0-9]*\) of \([0-9]*\).*/\1 \2/' <<<"$shown") || true
[[ -n "${done_images:-}" && "$done_images" == "${of_images:-}" && "$done_images" -ge 5 ]] ||
  complain "pictures: ${shown:-the script did not run}"
for heading in Curves Calibration Classes "Worst mistakes" "Training images" Settings; do
  grep -q "<h2>$heading</h2>" "$folder/dom" || complain "no heading $heading"
done
((failed == 0)) && echo "ok  $page in $("$browser" --version 2>/dev/null | head -n 1): ${done_images} pictures"
exit "$failed"
