"""deformable_attention compared with PyTorch: the form with grid_sample of the official code.

Values and gradients are first compared with PyTorch's. Runs of the two alternate in time; the ratio compares
the medians (peer / ours, above 1: ours is faster).

    ninja -C BUILD deformable_bench
    python bench/deformable_bench.py BUILD/rooms/bench/deformable_bench [--threads 2] [--rounds 15]

FOVEA_ISA=v3 measures the AVX2 kernels.
"""

import argparse
import statistics
import subprocess
import tempfile
import time

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

# (what, B, h, w, H, D, Q, P): the published model at 480 x 640 (as many cells as queries) and 800 x 1333, a small one
WORKLOADS = [
    ("480 x 640, 300 queries", 2, 15, 20, 8, 32, 300, 4),
    ("encoder, 800 x 1333", 2, 25, 42, 8, 32, 1050, 4),
    ("decoder, 800 x 1333", 2, 25, 42, 8, 32, 300, 4),
    ("small, 8 x 8 map", 32, 8, 8, 4, 16, 64, 4),
]


class Ours:
    def __init__(self, binary, threads):
        self.process = subprocess.Popen([binary, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.about = self.process.stdout.readline().strip()

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def milliseconds(self, workload, train):
        return float(self.ask(" ".join(map(str, [*workload[1:], int(train)]))))

    def tensors(self):
        with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
            self.ask(f"check {file.name}")
            return load_file(file.name)


def deformable_attention(value, locations, weights):
    """value [B, h, w, H, D], locations [B, Q, H, P, 2], weights [B, Q, H, P] -> [B, Q, H D]."""
    B, h, w, H, D = value.shape
    _, Q, _, P, _ = locations.shape
    maps = value.reshape(B, h * w, H * D).transpose(1, 2).reshape(B * H, D, h, w)
    grid = (2 * locations - 1).transpose(1, 2).reshape(B * H, Q, P, 2)
    samples = F.grid_sample(maps, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
    shares = weights.transpose(1, 2).reshape(B * H, 1, Q, P)
    return (samples * shares).sum(-1).reshape(B, H * D, Q).transpose(1, 2).contiguous()


class Peer:
    def __init__(self, tensors):
        self.leaves = [tensors[name].clone().requires_grad_() for name in ("value", "locations", "weights")]
        self.dy = tensors["dy"]

    def milliseconds(self, train):
        for leaf in self.leaves:
            leaf.grad = None
        start = time.perf_counter()
        if train:
            self.y = deformable_attention(*self.leaves)
            self.y.backward(self.dy)
        else:
            with torch.no_grad():
                self.y = deformable_attention(*self.leaves)
        return 1e3 * (time.perf_counter() - start)


def compare(peer, tensors):
    """The largest relative difference of the output and of the gradients."""
    peer.milliseconds(True)
    theirs = [peer.y.detach(), *(leaf.grad for leaf in peer.leaves)]
    names = ["y", "dvalue", "dlocations", "dweights"]
    worst = max(float((tensors[n] - t).norm() / t.norm()) for n, t in zip(names, theirs))
    assert worst < 2e-5, worst
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    ours = Ours(args.binary, args.threads)
    print(f"{ours.about}; peer: torch {torch.__version__}")
    print(f"{'workload':<24}{'mode':<8}{'ours ms':>9}{'peer ms':>9}{'ratio':>7}{'of min':>8}{'difference':>12}")
    for workload in WORKLOADS:
        ours.milliseconds(workload, True)
        tensors = ours.tensors()
        peer = Peer(tensors)
        worst = compare(peer, tensors)
        for train in (False, True):
            ours.milliseconds(workload, train)
            peer.milliseconds(train)
            times = [(ours.milliseconds(workload, train), peer.milliseconds(train)) for _ in range(args.rounds)]
            a, b = zip(*times)
            print(f"{workload[0]:<24}{'train' if train else 'infer':<8}"
                  f"{statistics.median(a):9.2f}{statistics.median(b):9.2f}"
                  f"{statistics.median(b) / statistics.median(a):7.2f}{min(b) / min(a):8.2f}{worst:12.1e}", flush=True)


if __name__ == "__main__":
    main()
