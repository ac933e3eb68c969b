#!/usr/bin/env python3
"""self_attention on a GPU beside the best of PyTorch's backends, at the shapes of five models.

    bench/attention_gpu.py BUILD/attention_bench [--json FILE] [--rounds 15] [--device cuda]

The peer is qkv.reshape.permute.unbind -> scaled_dot_product_attention -> transpose.reshape, with each backend that
has the shape; runs of all alternate in time. The ratio compares the medians (the fastest backend / ours, above 1: ours is
faster) of the forward pass, and of forward and backward together. Rows are written as they come.
"""
import argparse
import json
import pathlib
import statistics
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from ours import Ours

WORKLOADS = [  # what, batch, heads, tokens, width, bias: 0 none, 2 trained
    ("vit_tiny_patch4_32", 128, 3, 65, 64, 0),
    ("deit_tiny_patch16_224", 32, 3, 197, 64, 0),
    ("deit_small_patch16_224", 256, 6, 197, 64, 0),
    ("pit_tiny_32", 16, 12, 1025, 16, 0),
    ("pervit_tiny_224", 32, 4, 196, 48, 2),
]
BACKENDS = ("FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "MATH")


class Peer:
    def __init__(self, backend, workload, dtype, device):
        _, B, H, N, D, bias = workload
        self.backend, self.device, self.sizes = backend, device, (B, N, 3, H, D)
        self.qkv = torch.randn(B, N, 3 * H * D, dtype=dtype, device=device, requires_grad=True)
        self.bias = torch.randn(1, H, N, N, dtype=dtype, device=device, requires_grad=True) if bias else None
        self.dy = torch.randn(B, N, H * D, dtype=dtype, device=device)

    def wait(self):
        if self.device != "cpu":
            torch.cuda.synchronize()

    def forward(self):
        B, N, _, H, D = self.sizes
        q, k, v = self.qkv.reshape(self.sizes).permute(2, 0, 3, 1, 4).unbind(0)
        with sdpa_kernel(getattr(SDPBackend, self.backend)):
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=self.bias)
        return y.transpose(1, 2).reshape(B, N, H * D)

    def milliseconds(self, train):
        self.qkv.grad = None
        if self.bias is not None:
            self.bias.grad = None
        self.wait()
        start = time.perf_counter()
        if train:
            self.forward().backward(self.dy)
        else:
            with torch.no_grad():
                self.forward()
        self.wait()
        return 1e3 * (time.perf_counter() - start)


def peers_of(workload, train, dtype, device):
    """Those whose backend has the shape."""
    peers = []
    for backend in BACKENDS:
        try:
            peers.append(Peer(backend, workload, dtype, device))
            peers[-1].milliseconds(train)
        except RuntimeError:  # "No available kernel", or no memory for it
            peers.pop()
    return peers


def compared(ours, workload, train, precision, options):
    dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[precision]
    line = [*workload[1:], int(train), 1]
    ours.milliseconds(line)
    peers = peers_of(workload, train, dtype, options.device)
    rounds = [(ours.milliseconds(line), *(peer.milliseconds(train) for peer in peers)) for _ in range(options.rounds)]
    mine, *others = (statistics.median(times) for times in zip(*rounds))
    theirs, backend = min(zip(others, (peer.backend for peer in peers)))
    return {"workload": workload[0], "precision": precision, "mode": "train" if train else "infer", "ours_ms": mine,
            "peer_ms": theirs, "backend": backend.lower(), "ratio": theirs / mine}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--json", type=pathlib.Path, help="write the rows to this file, after each of them")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--divide-batch", type=int, default=1, metavar="N", help="a smaller batch, to try the script")
    options = parser.parse_args()
    rows = []
    print(f"torch {torch.__version__}")
    for precision in ("f32", "bf16"):
        ours = Ours(options.binary, 1, precision, options.device)
        for name, batch, *others in WORKLOADS:
            for train in (False, True):
                row = compared(ours, (name, max(1, batch // options.divide_batch), *others), train, precision, options)
                rows.append(row)
                print(f"{name:<24}{precision:<6}{row['mode']:<7}{row['ours_ms']:9.3f}{row['peer_ms']:9.3f}"
                      f"{row['ratio']:7.2f}  {row['backend']}", flush=True)
                if options.json:
                    options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
