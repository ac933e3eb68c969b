"""self_attention compared with PyTorch: the part of timm's Attention between its two linear layers.

The peer is qkv.reshape.permute.unbind -> scaled_dot_product_attention -> transpose.reshape. Runs of
the two alternate in time; the ratio compares the medians (peer / ours, above 1: ours is faster).

    python bench/attention_bench.py BUILD/attention_bench [--threads 2] [--rounds 15]

FOVEA_ISA=v3 measures the AVX2 kernels.
"""

import torch
import torch.nn.functional as F

import alternate

# (what, B, H, N, D, bias: 0 none, 1 constant, 2 trained)
WORKLOADS = [
    ("vit_tiny_patch4_32", 128, 3, 65, 64, 0),
    ("deit_tiny_patch16_224", 32, 3, 197, 64, 0),
    ("pit_tiny_32", 16, 12, 1025, 16, 0),
    ("pervit_tiny_224, fixed bias", 32, 4, 196, 48, 1),
    ("pervit_tiny_224, trained bias", 32, 4, 196, 48, 2),
]


class Peer(alternate.Peer):
    def __init__(self, workload):
        _, B, H, N, D, bias = workload
        self.sizes = B, N, 3, H, D
        self.qkv = torch.randn(B, N, 3 * H * D, requires_grad=True)
        self.bias = torch.randn(1, H, N, N, requires_grad=bias == 2) if bias else None
        self.dy = torch.randn(B, N, H * D)
        self.leaves = [x for x in (self.qkv, self.bias) if x is not None and x.requires_grad]

    def forward(self):
        B, N, _, H, D = self.sizes
        q, k, v = self.qkv.reshape(self.sizes).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=self.bias)
        return y.transpose(1, 2).reshape(B, N, H * D)


if __name__ == "__main__":
    alternate.main(__doc__, WORKLOADS, lambda ours, workload: (Peer(workload), ""),
                   lambda workload, train: [*workload[1:], int(train), 1],
                   lambda workload: (True,) if workload[5] == 2 else (False, True))
