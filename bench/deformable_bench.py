"""deformable_attention compared with PyTorch: the form with grid_sample of the official code.

Values and gradients are first compared with PyTorch's. Runs of the two alternate in time; the ratio compares
the medians (peer / ours, above 1: ours is faster).

    ninja -C BUILD deformable_bench
    python bench/deformable_bench.py BUILD/rooms/bench/deformable_bench [--threads 2] [--rounds 15]

FOVEA_ISA=v3 measures the AVX2 kernels.
"""

import tempfile

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

import alternate

# (what, B, h, w, H, D, Q, P): the published model at 480 x 640 (as many cells as queries) and 800 x 1333, a small one
WORKLOADS = [
    ("480 x 640, 300 queries", 2, 15, 20, 8, 32, 300, 4),
    ("encoder, 800 x 1333", 2, 25, 42, 8, 32, 1050, 4),
    ("decoder, 800 x 1333", 2, 25, 42, 8, 32, 300, 4),
    ("small, 8 x 8 map", 32, 8, 8, 4, 16, 64, 4),
]


def deformable_attention(value, locations, weights):
    """value [B, h, w, H, D], locations [B, Q, H, P, 2], weights [B, Q, H, P] -> [B, Q, H D]."""
    B, h, w, H, D = value.shape
    _, Q, _, P, _ = locations.shape
    maps = value.reshape(B, h * w, H * D).transpose(1, 2).reshape(B * H, D, h, w)
    grid = (2 * locations - 1).transpose(1, 2).reshape(B * H, Q, P, 2)
    samples = F.grid_sample(maps, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
    shares = weights.transpose(1, 2).reshape(B * H, 1, Q, P)
    return (samples * shares).sum(-1).reshape(B, H * D, Q).transpose(1, 2).contiguous()


class Peer(alternate.Peer):
    def __init__(self, tensors):
        self.leaves = [tensors[name].clone().requires_grad_() for name in ("value", "locations", "weights")]
        self.dy = tensors["dy"]

    def forward(self):
        return deformable_attention(*self.leaves)


def numbers_of(workload, train):
    return [*workload[1:], int(train)]


def compared_peer(ours, workload):
    """The peer on our program's tensors, and the largest relative difference of the output and of the gradients."""
    ours.milliseconds(numbers_of(workload, True))
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        ours.ask(f"check {file.name}")
        tensors = load_file(file.name)
    peer = Peer(tensors)
    peer.milliseconds(True)
    theirs = [peer.y.detach(), *(leaf.grad for leaf in peer.leaves)]
    names = ["y", "dvalue", "dlocations", "dweights"]
    worst = max(float((tensors[n] - t).norm() / t.norm()) for n, t in zip(names, theirs))
    assert worst < 2e-5, worst
    return peer, f"  difference {worst:.1e}"


if __name__ == "__main__":
    alternate.main(__doc__, WORKLOADS, compared_peer, numbers_of)
