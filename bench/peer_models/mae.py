"""The masked autoencoder in PyTorch: timm's blocks in the form of MAE's code, for all settings in
the golden files.

    mae.py GOLDEN...          compares mask, latent, prediction, loss and gradients with golden files
"""
import functools
import sys

import torch
from timm.models.vision_transformer import Block, PatchEmbed
from torch import nn


def sincos(dim, grid):
    """MAE's table with a zero row for the class token: the first half of the channels encodes the column."""
    omega = 10000.0 ** (-torch.arange(dim // 4, dtype=torch.float64) / (dim // 4))
    y, x = (t.flatten()[:, None] * omega for t in torch.meshgrid(*map(torch.arange, grid), indexing="ij"))
    table = torch.cat([x.sin(), x.cos(), y.sin(), y.cos()], 1)
    return torch.cat([torch.zeros(1, dim, dtype=torch.float64), table])[None].float()


def blocks(dim, depth, c, heads):
    norm = functools.partial(nn.LayerNorm, eps=c["norm_eps"])
    return nn.ModuleList(Block(dim, heads, c["mlp_ratio"], qkv_bias=True, norm_layer=norm) for _ in range(depth))


class MAE(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.config, dim, width = c, c["embed_dim"], c["decoder_embed_dim"]
        self.patch = c["patch_size"]
        self.grid = tuple(s // self.patch for s in c["img_size"])
        self.count = self.grid[0] * self.grid[1]
        self.kept = int(self.count * (1 - c["mask_ratio"]))
        learned = c["pos_embed"] == "learned"
        table = lambda d: nn.Parameter(sincos(d, self.grid), requires_grad=learned)
        self.patch_embed = PatchEmbed(tuple(c["img_size"]), self.patch, c["in_chans"], dim)
        self.cls_token = nn.Parameter(0.02 * torch.randn(1, 1, dim))
        self.pos_embed = table(dim)
        self.blocks = blocks(dim, c["depth"], c, c["num_heads"])
        self.norm = nn.LayerNorm(dim, eps=c["norm_eps"])
        self.decoder_embed = nn.Linear(dim, width)
        self.mask_token = nn.Parameter(0.02 * torch.randn(1, 1, width))
        self.decoder_pos_embed = table(width)
        self.decoder_blocks = blocks(width, c["decoder_depth"], c, c["decoder_num_heads"])
        self.decoder_norm = nn.LayerNorm(width, eps=c["norm_eps"])
        self.decoder_pred = nn.Linear(width, self.patch**2 * c["in_chans"])

    def target(self, x):
        """Patches in the order row, column, channel."""
        (h, w), p = self.grid, self.patch
        t = x.unflatten(2, (h, p)).unflatten(4, (w, p)).permute(0, 2, 4, 3, 5, 1).flatten(3).flatten(1, 2)
        if not self.config["norm_pix_loss"]:
            return t
        return (t - t.mean(-1, keepdim=True)) / (t.var(-1, keepdim=True) + 1e-6).sqrt()

    def predict(self, x, noise=None):
        """Output of the encoder for the visible patches, of the decoder for all patches, and the mask."""
        if noise is None:
            noise = torch.rand(len(x), self.count, device=x.device)
        shuffle = noise.argsort(dim=1, stable=True)
        restore = shuffle.argsort(1)
        visible = shuffle[:, :self.kept, None]
        tokens = self.patch_embed(x) + self.pos_embed[:, 1:]
        tokens = tokens.gather(1, visible.expand(-1, -1, tokens.shape[2]))
        cls = (self.cls_token + self.pos_embed[:, :1]).expand(len(x), -1, -1)
        latent = torch.cat([cls, tokens], 1)
        for block in self.blocks:
            latent = block(latent)
        latent = self.norm(latent)
        y = self.decoder_embed(latent)
        holes = self.mask_token.expand(len(x), self.count - self.kept, -1)
        patches = torch.cat([y[:, 1:], holes], 1)
        patches = patches.gather(1, restore[:, :, None].expand(-1, -1, y.shape[2]))
        y = torch.cat([y[:, :1], patches], 1) + self.decoder_pos_embed
        for block in self.decoder_blocks:
            y = block(y)
        pred = self.decoder_pred(self.decoder_norm(y))[:, 1:]
        return latent, pred, restore

    def forward(self, x, noise=None, tap=None):
        """The loss."""
        latent, pred, restore = self.predict(x, noise)
        mask = (restore >= self.kept).to(x.dtype)
        if tap is not None:
            tap.update(latent=latent, pred=pred, mask=mask, ids_restore=restore)
        return (((pred - self.target(x)) ** 2).mean(-1) * mask).sum() / mask.sum()


# The models that are measured.
SIZES = {
    "mae_vit_base_patch16": dict(img_size=[224, 224], patch_size=16, embed_dim=768, depth=12, num_heads=12),
    "mae_pit_tiny_32": dict(img_size=[32, 32], patch_size=1, embed_dim=192, depth=12, num_heads=12),
}


def settings(name):
    base = {"in_chans": 3, "mlp_ratio": 4.0, "norm_eps": 1e-6, "decoder_embed_dim": 512, "decoder_depth": 8,
            "decoder_num_heads": 16, "norm_pix_loss": False, "mask_ratio": 0.75, "pos_embed": "sincos"}
    return base | SIZES[name]


def worst_error(path):
    """The largest relative error against a golden file, in float64."""
    from golden import difference, parameters, read
    config, zero, golden = read(path)
    model = MAE(config).double()
    model.load_state_dict(parameters(golden))
    x, found = golden["input"].clone().requires_grad_(), {}
    found["loss"] = loss = model(x, golden["noise"], found)
    loss.backward()
    found["grad_input"] = x.grad
    found |= {"grad/" + k: p.grad for k, p in model.named_parameters() if p.grad is not None}
    return difference(found, golden, zero)


def check(paths):
    from golden import report
    return report(map(worst_error, paths))


if __name__ == "__main__":
    sys.exit(check(sys.argv[1:]))
