"""PerViT in PyTorch, in the form of the official code, for all settings in the golden files.

The peer of ./run bench --peer includes the obvious optimisations: Phi_p once per forward pass, cached in
evaluation, and scaled_dot_product_attention with log Phi_p as its mask. With product=True attention
is written as in the paper, Phi_c Phi_p / sum: the oracle of tests/golden/random_pervit.py.

    pervit.py GOLDEN...        compares logits, loss and gradients of both forms with golden files
"""
import sys

import torch
import torch.nn.functional as F
from torch import nn


class Activation(nn.Module):
    """Phi_p of one block before its sigmoid, from R [N, 4H, P, P], which has one map per query."""

    def __init__(self, heads, kernel, layers):
        super().__init__()
        if layers == 2:
            self.conv1 = nn.Conv2d(4 * heads, 4 * heads, kernel)
        self.conv2 = nn.Conv2d(4 * heads, heads, kernel)
        if layers == 2:
            self.gn1 = nn.GroupNorm(4 * heads, 4 * heads)
        self.gn2 = nn.GroupNorm(heads, heads)

    def forward(self, r):
        if hasattr(self, "conv1"):
            r = F.relu(self.gn1(self.conv1(r)))
        z = self.gn2(self.conv2(r))                                   # [N, H, n, n]
        return z.flatten(2).transpose(0, 1)                           # [H, N, N]


class Attention(nn.Module):
    def __init__(self, dim, c):
        super().__init__()
        self.heads, self.product = c["num_heads"], c["product"]
        if c["phi_p"]:
            self.activation = Activation(self.heads, c["ppe_kernel"], c["ppe_layers"])
        if c["phi_c"]:
            self.to_qkv = nn.Linear(dim, 3 * dim, bias=False)
        else:
            self.to_v = nn.Linear(dim, dim, bias=False)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x, z):
        b, n, d = x.shape
        split = lambda t: t.view(b, n, self.heads, -1).transpose(1, 2)
        if not hasattr(self, "to_qkv"):
            y = F.normalize(z.sigmoid(), p=1, dim=-1, eps=1e-12) @ split(self.to_v(x))
        elif self.product:
            q, k, v = map(split, self.to_qkv(x).chunk(3, -1))
            s = q @ k.transpose(-1, -2) * (d // self.heads) ** -0.5
            phi = torch.exp(s - s.amax(-1, keepdim=True))
            if z is not None:
                phi = phi * z.sigmoid()
            y = F.normalize(phi, p=1, dim=-1, eps=1e-12) @ v
        else:
            q, k, v = map(split, self.to_qkv(x).chunk(3, -1))
            mask = None if z is None else F.logsigmoid(z)[None].to(q.dtype)
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.proj(y.transpose(1, 2).reshape(b, n, d))


class Block(nn.Module):
    def __init__(self, dim, out, c):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, eps=c["norm_eps"])
        if dim != out:
            self.res_path = nn.Linear(dim, out)
        self.attn = Attention(dim, c)
        if c["cpe"]:
            self.conv = nn.ModuleDict({"proj": nn.Conv2d(dim, dim, 3, padding=1, groups=dim)})
        self.norm2 = nn.LayerNorm(dim, eps=c["norm_eps"])
        hidden = int(dim * c["mlp_ratio"])
        self.mlp = nn.ModuleDict({"fc1": nn.Linear(dim, hidden), "fc2": nn.Linear(hidden, out)})

    def forward(self, x, z, n):
        y = x
        if hasattr(self, "conv"):
            y = self.conv["proj"](x.transpose(1, 2).unflatten(2, (n, n))).flatten(2).transpose(1, 2)
        x = x + self.attn(self.norm1(y), z)
        y = self.mlp["fc2"](F.gelu(self.mlp["fc1"](self.norm2(x))))
        return y + (self.res_path(x) if hasattr(self, "res_path") else x)


class PerViT(nn.Module):
    def __init__(self, c):
        super().__init__()
        c = {"product": False} | c
        self.config, self.kept = c, None
        dims, heads = c["emb_dims"], c["num_heads"]
        if c["conv_stem"]:
            stem = c["convstem_dims"]
            convs = [nn.Sequential(nn.Conv2d(i, o, 3, 2, 1), nn.BatchNorm2d(o), nn.ReLU())
                     for i, o in zip(stem, stem[1:])]
            self.conv_layers = nn.ModuleDict({"conv_layers": nn.Sequential(*convs),
                                              "conv1x1": nn.Conv2d(dims[0], dims[0], 1)})
            stride = 2 ** len(convs)
        else:
            stride = c["patch_size"]
            self.patch_embed = nn.ModuleDict({"proj": nn.Conv2d(c["in_chans"], dims[0], stride, stride)})
        self.n = c["img_size"][0] // stride
        self.pad = c["ppe_layers"] * (c["ppe_kernel"] // 2)
        if c["pos_embed"] == "learned":
            self.pos_embed = nn.Parameter(0.02 * torch.randn(1, self.n ** 2, dims[0]))
        if c["phi_p"] and c["ppe_embed"] == "euc":
            self.rpe_proj = nn.Linear(1, 4 * heads)
            g = -1 + (torch.arange(self.n + 2 * self.pad, dtype=torch.float64) - self.pad) * (2 / (self.n - 1))
            g = torch.stack(torch.meshgrid(g, g, indexing="ij"), -1)
            self.register_buffer("grid", g, persistent=False)
        elif c["phi_p"]:
            side = self.n + 2 * self.pad
            self.rpe_vec = nn.Parameter(0.02 * torch.randn(side, side, 4 * heads))
        widths = [d for d, count in zip(dims, c["depths"]) for _ in range(count)]
        self.blocks = nn.ModuleList(Block(i, o, c) for i, o in zip(widths, widths[1:] + widths[-1:]))
        self.norm = nn.LayerNorm(dims[-1], eps=c["norm_eps"])
        self.head = nn.Linear(dims[-1], c["num_classes"])

    def relative(self):
        """R [N, 4H, P, P] of the inner queries."""
        inner = slice(self.pad, self.pad + self.n)
        if hasattr(self, "rpe_vec"):
            v = self.rpe_vec
            r = v[None, None] - v[inner, inner, None, None]           # [n, n, P, P, 4H]
            return r.flatten(0, 1).permute(0, 3, 1, 2)
        q = self.grid[inner, inner]
        distance = (self.grid[None, None] - q[:, :, None, None]).norm(dim=-1)
        r = self.rpe_proj(distance.to(self.rpe_proj.weight.dtype)[..., None])
        return r.flatten(0, 1).permute(0, 3, 1, 2)

    def position(self):
        if not self.config["phi_p"]:
            return [None] * len(self.blocks)
        if not self.training and self.kept is not None:
            return self.kept
        r = self.relative()
        z = [block.attn.activation(r) for block in self.blocks]
        self.kept = None if self.training else z
        return z

    def forward(self, x, tap=None):
        if hasattr(self, "conv_layers"):
            x = self.conv_layers["conv1x1"](self.conv_layers["conv_layers"](x))
        else:
            x = self.patch_embed["proj"](x)
        x = x.flatten(2).transpose(1, 2)
        if hasattr(self, "pos_embed"):
            x = x + self.pos_embed
        if tap:
            tap("feat/embed", x)
        for i, (block, z) in enumerate(zip(self.blocks, self.position())):
            x = block(x, z, self.n)
            if tap and z is not None:
                tap(f"phi_p/{i}", z.sigmoid())
            if tap:
                tap(f"feat/{i}", x)
        return self.head(self.norm(x).mean(1))


def tiny_224():
    """The settings of pervit_tiny_224."""
    return {"img_size": [224, 224], "in_chans": 3, "num_classes": 1000, "mlp_ratio": 4.0, "norm_eps": 1e-6,
            "phi_p": True, "phi_c": True, "conv_stem": True, "cpe": True, "ppe_embed": "euc", "ppe_kernel": 3,
            "ppe_layers": 2, "pos_embed": "none", "emb_dims": [128, 192, 224, 280], "depths": [2, 2, 6, 2],
            "convstem_dims": [3, 48, 64, 96, 128], "num_heads": 4}


if __name__ == "__main__":
    from golden import check
    sys.exit(check([lambda c, product=product: PerViT(c | {"product": product}) for product in (False, True)],
                   sys.argv[1:]))
