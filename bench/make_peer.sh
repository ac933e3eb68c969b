#!/usr/bin/env bash
# Creates the virtual environment of the peers for ./run bench --peer: current PyTorch and timm, and the runtimes
# of --runtimes, from PyPI; and oneDNN for bench/gemm_bench.py.   bench/make_peer.sh [DIR]   (default .venv-peer)
set -euo pipefail
cd "$(dirname "$0")/.."
dir=${1:-.venv-peer}
python3 -m venv "$dir"
"$dir/bin/pip" install --quiet --upgrade pip
"$dir/bin/pip" install --quiet torch torchvision timm numpy safetensors tensorboard pillow
for package in onnx onnxscript onnxruntime openvino; do  # not for every processor
  "$dir/bin/pip" install --quiet "$package" || echo "note: $package is not installed; bench --runtimes will say so"
done
"$dir/bin/pip" install --quiet onednn-cpu-gomp || echo "note: onednn-cpu-gomp is not installed; gemm_bench.py will say so"
"$dir/bin/python" -c 'import torch, timm; print("torch", torch.__version__, "timm", timm.__version__)'
