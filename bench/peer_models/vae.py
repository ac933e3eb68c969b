"""The VAE of latent diffusion in PyTorch, under diffusers' names, for all settings in the golden files.

    vae.py GOLDEN...          compares moments, output, both terms of the loss and gradients with golden files
"""
import sys

import torch
from torch import nn
from torch.nn import functional as F


def norm(width, c):
    return nn.GroupNorm(c["norm_num_groups"], width, eps=1e-6)


def conv(width, out):
    return nn.Conv2d(width, out, 3, padding=1)


class Residual(nn.Module):
    def __init__(self, width, out, c):
        super().__init__()
        self.norm1, self.conv1 = norm(width, c), conv(width, out)
        self.norm2, self.conv2 = norm(out, c), conv(out, out)
        self.conv_shortcut = nn.Conv2d(width, out, 1) if width != out else nn.Identity()

    def forward(self, x):
        y = self.conv1(F.silu(self.norm1(x)))
        return self.conv_shortcut(x) + self.conv2(F.silu(self.norm2(y)))


class Attention(nn.Module):
    def __init__(self, width, c):
        super().__init__()
        self.group_norm = norm(width, c)
        self.to_q, self.to_k, self.to_v = (nn.Linear(width, width) for _ in range(3))
        self.to_out = nn.ModuleList([nn.Linear(width, width)])

    def forward(self, x):
        tokens = self.group_norm(x).flatten(2).transpose(1, 2)
        q, k, v = (layer(tokens)[:, None] for layer in (self.to_q, self.to_k, self.to_v))
        y = self.to_out[0](F.scaled_dot_product_attention(q, k, v)[:, 0])
        return x + y.transpose(1, 2).unflatten(2, x.shape[2:])


class Change(nn.Module):
    """Half or twice the size."""

    def __init__(self, width, up):
        super().__init__()
        self.up = up
        self.conv = conv(width, width) if up else nn.Conv2d(width, width, 3, stride=2)

    def forward(self, x):
        return self.conv(F.interpolate(x, scale_factor=2.0) if self.up else F.pad(x, (0, 1, 0, 1)))


class Level(nn.Module):
    def __init__(self, width, out, count, change, up, c):
        super().__init__()
        self.resnets = nn.ModuleList(Residual(width if i == 0 else out, out, c) for i in range(count))
        self.change = "upsamplers" if up else "downsamplers"
        setattr(self, self.change, nn.ModuleList([Change(out, up)] if change else []))

    def forward(self, x):
        for layer in [*self.resnets, *getattr(self, self.change)]:
            x = layer(x)
        return x


class Middle(nn.Module):
    def __init__(self, width, c):
        super().__init__()
        self.resnets = nn.ModuleList(Residual(width, width, c) for _ in range(2))
        self.attentions = nn.ModuleList([Attention(width, c)])

    def forward(self, x):
        return self.resnets[1](self.attentions[0](self.resnets[0](x)))


def levels(widths, count, first, up, c):
    pairs = zip([first, *widths], widths)
    return nn.ModuleList(Level(a, b, count, i + 1 < len(widths), up, c) for i, (a, b) in enumerate(pairs))


class Encoder(nn.Module):
    def __init__(self, c):
        super().__init__()
        widths = c["block_out_channels"]
        self.conv_in = conv(c["in_channels"], widths[0])
        self.down_blocks = levels(widths, c["layers_per_block"], widths[0], False, c)
        self.mid_block = Middle(widths[-1], c)
        self.conv_norm_out, self.conv_out = norm(widths[-1], c), conv(widths[-1], 2 * c["latent_channels"])

    def forward(self, x):
        x = self.conv_in(x)
        for level in self.down_blocks:
            x = level(x)
        return self.conv_out(F.silu(self.conv_norm_out(self.mid_block(x))))


class Decoder(nn.Module):
    def __init__(self, c):
        super().__init__()
        widths = c["block_out_channels"][::-1]
        self.conv_in = conv(c["latent_channels"], widths[0])
        self.mid_block = Middle(widths[0], c)
        self.up_blocks = levels(widths, c["layers_per_block"] + 1, widths[0], True, c)
        self.conv_norm_out, self.conv_out = norm(widths[-1], c), conv(widths[-1], 3)

    def forward(self, x):
        x = self.mid_block(self.conv_in(x))
        for level in self.up_blocks:
            x = level(x)
        return self.conv_out(F.silu(self.conv_norm_out(x)))


class VAE(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.encoder, self.decoder = Encoder(c), Decoder(c)
        self.quant_conv = nn.Conv2d(2 * c["latent_channels"], 2 * c["latent_channels"], 1)
        self.post_quant_conv = nn.Conv2d(c["latent_channels"], c["latent_channels"], 1)

    def encode(self, x):
        mean, log_variance = self.quant_conv(self.encoder(x)).chunk(2, 1)
        return mean, log_variance.clamp(-30, 20)

    def decode(self, z):
        return self.decoder(self.post_quant_conv(z))


SIZES = {"vae_f8": dict(in_channels=3, latent_channels=4, block_out_channels=[128, 256, 512, 512], layers_per_block=2,
                        norm_num_groups=32)}


def worst_error(path):
    """The largest relative error against a golden file, in float64."""
    from golden import difference, parameters, read
    config, zero, golden = read(path)
    model = VAE(config).double()
    model.load_state_dict(parameters(golden))
    x = golden["input"].clone().requires_grad_()
    mean, log_variance = model.encode(x)
    latent = mean + (log_variance / 2).exp() * golden["noise"]
    output = model.decode(latent)
    rec = (x - output).abs().mean()
    kl = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).flatten(1).sum(1).mean()
    loss = (output * golden["cotangent"]).mean() + rec + 1e-3 * kl
    loss.backward()
    found = {"moments": torch.cat([mean, log_variance], 1), "latent": latent, "output": output, "rec": rec, "kl": kl,
             "loss": loss, "grad_input": x.grad}
    found |= {"grad/" + k: p.grad for k, p in model.named_parameters()}
    return difference(found, golden, zero)


def check(paths):
    from golden import report
    return report(map(worst_error, paths))


if __name__ == "__main__":
    sys.exit(check(sys.argv[1:]))
