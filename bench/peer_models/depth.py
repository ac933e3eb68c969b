"""A ViT with a dense head for depth in PyTorch, with timm's blocks, for all settings in the golden files.

    depth.py GOLDEN...        compares depths, loss and gradients with golden files
"""
import functools
import sys

import torch
from timm.models.vision_transformer import VisionTransformer
from torch.nn import functional as F

SIZES = {"depth_pit_small_48x64": dict(img_size=[48, 64], patch_size=1, num_heads=12),
         "depth_vit_small_patch2_48x64": dict(img_size=[48, 64], patch_size=2, num_heads=6)}
LEAST = 1e-3  # metres, of a model for the scale-invariant loss


def settings(name):
    return dict(in_chans=3, embed_dim=384, depth=12, mlp_ratio=4.0, class_token=True, pos_embed="learned",
                norm_eps=1e-6, loss="l1") | SIZES[name]


class Depth(VisionTransformer):
    """Images [B, 3, H, W] -> depths [B, H, W]; the class token has none."""

    def __init__(self, c):
        p = c["patch_size"]
        super().__init__(img_size=c["img_size"], patch_size=p, in_chans=c["in_chans"], embed_dim=c["embed_dim"],
                         depth=c["depth"], num_heads=c["num_heads"], mlp_ratio=c["mlp_ratio"], num_classes=p * p,
                         class_token=c["class_token"], global_pool="token" if c["class_token"] else "avg", fc_norm=False,
                         norm_layer=functools.partial(torch.nn.LayerNorm, eps=c["norm_eps"]))
        self.c = c

    def forward(self, images):
        tokens = self.forward_features(images)[:, self.num_prefix_tokens:]
        p, (height, width) = self.c["patch_size"], self.c["img_size"]
        patches = self.head(tokens).view(-1, height // p, width // p, p, p)
        depths = patches.permute(0, 1, 3, 2, 4).reshape(-1, height, width)
        return F.softplus(depths) + LEAST if self.c["loss"] == "scale_invariant" else depths


def loss(c, depths, target):
    """Over the pixels with a target above 0."""
    known = target > 0
    if c["loss"] == "l1":
        return (depths - target).abs()[known].mean()
    errors = [(one.log() - two.log())[where] for one, two, where in zip(depths, target.clamp(min=LEAST), known)]
    return torch.stack([(e * e).mean() - 0.5 * e.mean() ** 2 for e in errors]).mean()


def worst_error(path):
    from golden import difference, parameters, read
    config, zero, golden = read(path)
    model = Depth(config).double()
    model.load_state_dict(parameters(golden))
    x = golden["input"].clone().requires_grad_()
    depths = model(x)
    value = loss(config, depths, golden["target"])
    value.backward()
    found = {"output": depths, "loss": value, "grad_input": x.grad}
    found |= {"grad/" + name: p.grad for name, p in model.named_parameters()}
    return difference(found, golden, zero)


if __name__ == "__main__":
    from golden import report
    sys.exit(report(map(worst_error, sys.argv[1:])))
