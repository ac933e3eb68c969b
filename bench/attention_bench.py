"""self_attention compared with PyTorch: the part of timm's Attention between its two linear layers.

The peer is qkv.reshape.permute.unbind -> scaled_dot_product_attention -> transpose.reshape. Runs of
the two alternate in time; the ratio compares the medians (peer / ours, above 1: ours is faster).

    python bench/attention_bench.py BUILD/attention_bench [--threads 2] [--rounds 15]

FOVEA_ISA=v3 measures the AVX2 kernels.
"""

import argparse
import statistics
import subprocess
import time

import torch
import torch.nn.functional as F

# (what, B, H, N, D, bias: 0 none, 1 constant, 2 trained)
WORKLOADS = [
    ("vit_tiny_patch4_32", 128, 3, 65, 64, 0),
    ("deit_tiny_patch16_224", 32, 3, 197, 64, 0),
    ("pit_tiny_32", 16, 12, 1025, 16, 0),
    ("pervit_tiny_224, fixed bias", 32, 4, 196, 48, 1),
    ("pervit_tiny_224, trained bias", 32, 4, 196, 48, 2),
]


class Ours:
    def __init__(self, binary, threads):
        self.process = subprocess.Popen([binary, str(threads)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.about = self.process.stdout.readline().strip()

    def milliseconds(self, workload, train):
        numbers = [*workload[1:], int(train), 1]
        self.process.stdin.write(" ".join(map(str, numbers)) + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


class Peer:
    def __init__(self, workload):
        _, B, H, N, D, bias = workload
        self.sizes = B, N, 3, H, D
        self.qkv = torch.randn(B, N, 3 * H * D, requires_grad=True)
        self.bias = torch.randn(1, H, N, N, requires_grad=bias == 2) if bias else None
        self.dy = torch.randn(B, N, H * D)

    def forward(self):
        B, N, _, H, D = self.sizes
        q, k, v = self.qkv.reshape(self.sizes).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=self.bias)
        return y.transpose(1, 2).reshape(B, N, H * D)

    def milliseconds(self, train):
        self.qkv.grad = None
        if self.bias is not None:
            self.bias.grad = None
        start = time.perf_counter()
        if train:
            self.forward().backward(self.dy)
        else:
            with torch.no_grad():
                self.forward()
        return 1e3 * (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    ours = Ours(args.binary, args.threads)
    print(f"{ours.about}; peer: torch {torch.__version__}")
    print(f"{'workload':<32}{'mode':<8}{'ours ms':>9}{'peer ms':>9}{'ratio':>7}{'of min':>8}")
    for workload in WORKLOADS:
        peer = Peer(workload)
        for train in (False, True):
            if workload[5] == 2 and not train:
                continue
            ours.milliseconds(workload, train)
            peer.milliseconds(train)
            times = [(ours.milliseconds(workload, train), peer.milliseconds(train))
                     for _ in range(args.rounds)]
            a, b = zip(*times)
            print(f"{workload[0]:<32}{'train' if train else 'infer':<8}"
                  f"{statistics.median(a):9.2f}{statistics.median(b):9.2f}"
                  f"{statistics.median(b) / statistics.median(a):7.2f}{min(b) / min(a):8.2f}",
                  flush=True)


if __name__ == "__main__":
    main()
