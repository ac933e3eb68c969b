"""CPVT in PyTorch: timm's blocks (DeiT's) with position encoding generators in the form of Twins'
code, and the relative position encodings that the papers compare with, for all settings in the
golden files.

    cpvt.py GOLDEN...          compares logits, loss and gradients with golden files
"""
import math
import sys

import torch
import torch.nn.functional as F
from torch import nn


def sincos(dim, grid, prefix):
    """MAE's table: the first half of the channels encodes the column."""
    omega = 10000.0 ** (-torch.arange(dim // 4, dtype=torch.float64) / (dim // 4))
    y, x = (t.flatten()[:, None] * omega for t in torch.meshgrid(*map(torch.arange, grid), indexing="ij"))
    table = torch.cat([x.sin(), x.cos(), y.sin(), y.cos()], 1)
    return torch.cat([torch.zeros(prefix, dim, dtype=torch.float64), table])[None]


class PEG(nn.Module):
    """Twins' PosCNN at stride 1, with the paper's ablations."""

    def __init__(self, dim, c):
        super().__init__()
        k = c["peg_kernel"]
        self.margin = k // 2
        self.crop, self.residual = c["peg_padding"] == "none", c["peg_residual"]
        layers = [nn.Conv2d(dim, dim, k, 1, 0 if self.crop else k // 2,
                            groups=1 if c["peg_conv"] == "full" else dim)]
        if c["peg_conv"] == "separable":
            layers.append(nn.Conv2d(dim, dim, 1))
        self.proj = nn.Sequential(*layers)

    def forward(self, x, grid, prefix):
        cls, patches = x[:, :prefix], x[:, prefix:]
        f = patches.transpose(1, 2).unflatten(2, grid)                # [B, D, gh, gw]
        y = self.proj(f)
        if self.residual:
            m = self.margin if self.crop else 0
            y = y + f[:, :, m:grid[0] - m, m:grid[1] - m]
        return torch.cat([cls, y.flatten(2).transpose(1, 2)], 1), tuple(y.shape[2:])


def offsets(grid):
    """Row and column of a key minus those of its query, [N, N] each."""
    y, x = (t.flatten() for t in torch.meshgrid(*map(torch.arange, grid), indexing="ij"))
    return y[None, :] - y[:, None], x[None, :] - x[:, None]


class RPE2D(nn.Module):
    """Shaw's relative positions in two dimensions: vectors a_ij [L, L, d], zero for prefix tokens."""

    def __init__(self, dim):
        super().__init__()
        self.h, self.w = (nn.Parameter(0.02 * torch.randn(17, dim)) for _ in range(2))

    def forward(self, grid, prefix):
        dy, dx = (t.clamp(-8, 8) + 8 for t in offsets(grid))
        return F.pad(self.h[dy] + self.w[dx], (0, 0, prefix, 0, prefix, 0))


class IRPE(nn.Module):
    """iRPE's contextual product on keys with 50 buckets."""

    def __init__(self, dim):
        super().__init__()
        self.lookup_table_weight = nn.Parameter(torch.zeros(1, dim, 50))

    def forward(self, q, grid, prefix):
        def g(t):
            far = 1.9 + (t.abs() / 1.9).log() / math.log(15.2 / 1.9) * 1.9
            return torch.where(t.abs() <= 1.9, t, t.sign() * far.round().clamp(max=3.8)).long()
        dy, dx = (g(-t.double()) for t in offsets(grid))
        bucket = F.pad((dy + 3) * 7 + dx + 3, (prefix, 0, prefix, 0), value=49)
        scores = q @ self.lookup_table_weight                         # [B, H, L, 50]
        return scores.gather(3, bucket.expand(*q.shape[:2], -1, -1))


class Attention(nn.Module):
    def __init__(self, dim, c):
        super().__init__()
        self.heads = c["num_heads"]
        self.qkv = nn.Linear(dim, 3 * dim, bias=c["qkv_bias"])
        self.proj = nn.Linear(dim, dim)
        if c["pos_embed"] == "rpe2d":
            self.rpe_k, self.rpe_v = RPE2D(dim // self.heads), RPE2D(dim // self.heads)
        if c.get("irpe"):
            self.rpe_k = IRPE(dim // self.heads)

    def forward(self, x, grid, prefix):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if hasattr(self, "rpe_v"):
            q = q * q.shape[-1] ** -0.5
            s = q @ k.transpose(-1, -2) + torch.einsum("bhid,ijd->bhij", q, self.rpe_k(grid, prefix))
            a = s.softmax(-1)
            y = a @ v + torch.einsum("bhij,ijd->bhid", a, self.rpe_v(grid, prefix))
        else:
            bias = self.rpe_k(q * q.shape[-1] ** -0.5, grid, prefix) if hasattr(self, "rpe_k") else None
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        return self.proj(y.transpose(1, 2).reshape(b, n, d))


class Block(nn.Module):
    def __init__(self, dim, c):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, eps=c["norm_eps"])
        self.attn = Attention(dim, c)
        self.norm2 = nn.LayerNorm(dim, eps=c["norm_eps"])
        hidden = int(dim * c["mlp_ratio"])
        self.mlp = nn.ModuleDict({"fc1": nn.Linear(dim, hidden), "fc2": nn.Linear(hidden, dim)})

    def forward(self, x, grid, prefix):
        x = x + self.attn(self.norm1(x), grid, prefix)
        return x + self.mlp["fc2"](F.gelu(self.mlp["fc1"](self.norm2(x))))


class CPVT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.config, dim, patch = c, c["embed_dim"], c["patch_size"]
        self.prefix = int(c["class_token"])
        self.grid = tuple(s // patch for s in c["img_size"])
        if c["class_token"]:
            self.cls_token = nn.Parameter(0.02 * torch.randn(1, 1, dim))
        if c["pos_embed"] == "learned":
            self.pos_embed = nn.Parameter(0.02 * torch.randn(1, self.prefix + self.grid[0] * self.grid[1], dim))
        elif c["pos_embed"] == "sincos":
            self.pos_embed = nn.Parameter(sincos(dim, self.grid, self.prefix), requires_grad=False)
        self.patch_embed = nn.ModuleDict({"proj": nn.Conv2d(c["in_chans"], dim, patch, patch)})
        pegs = len(c["peg_positions"]) * c["peg_stack"]
        self.pos_block = nn.ModuleList(PEG(dim, c) for _ in range(pegs))
        self.pos_block.requires_grad_(not c["peg_frozen"])
        self.blocks = nn.ModuleList(Block(dim, c) for _ in range(c["depth"]))
        self.norm = nn.LayerNorm(dim, eps=c["norm_eps"])
        self.head = nn.Linear(dim, c["num_classes"])

    def encode(self, after, x, grid, tap):
        stack = self.config["peg_stack"]
        for j, peg in enumerate(self.pos_block):
            if sorted(self.config["peg_positions"])[j // stack] == after:
                x, grid = peg(x, grid, self.prefix)
                if tap:
                    tap(f"peg/{j}", x)
        return x, grid

    def forward(self, x, tap=None):
        f = self.patch_embed["proj"](x)
        grid = tuple(f.shape[2:])
        x = f.flatten(2).transpose(1, 2)
        if self.prefix:
            x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1)
        if hasattr(self, "pos_embed"):
            x = x + self.pos_embed
        x, grid = self.encode(-1, x, grid, tap)
        if tap:
            tap("feat/embed", x)
        for i, block in enumerate(self.blocks):
            x = block(x, grid, self.prefix)
            if tap:
                tap(f"feat/{i}", x)
            x, grid = self.encode(i, x, grid, tap)
        x = self.norm(x)
        token = self.config["global_pool"] == "token"
        return self.head(x[:, 0] if token else x[:, self.prefix:].mean(1))


def tiny_peg0_224():
    """The settings of cpvt_tiny_peg0_224."""
    return {"img_size": [224, 224], "patch_size": 16, "in_chans": 3, "num_classes": 1000, "embed_dim": 192,
            "depth": 12, "num_heads": 3, "mlp_ratio": 4.0, "qkv_bias": True, "norm_eps": 1e-6,
            "class_token": True, "global_pool": "token", "pos_embed": "none", "peg_positions": [0],
            "peg_stack": 1, "peg_kernel": 3, "peg_padding": "zero", "peg_conv": "depthwise",
            "peg_residual": True, "peg_frozen": False}


if __name__ == "__main__":
    from golden import check
    sys.exit(check([CPVT], sys.argv[1:]))
