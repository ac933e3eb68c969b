"""The diffusion transformer in PyTorch, in the form of DiT's code, for all settings in the golden files,
with its hybrid loss and its guidance.

    dit.py GOLDEN...          compares predictions, guidance, loss and gradients with golden files
"""
import math
import sys

import torch
from timm.models.vision_transformer import Attention, Mlp, PatchEmbed
from torch import nn


def sincos(dim, side):
    """The table of positions: the first half of the channels encodes the column."""
    omega = 10000.0 ** (-torch.arange(dim // 4, dtype=torch.float64) / (dim // 4))
    y, x = (t.flatten()[:, None] * omega for t in torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij"))
    return torch.cat([x.sin(), x.cos(), y.sin(), y.cos()], 1)[None].float()


def modulate(x, shift, scale):
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


class TimestepEmbedder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(256, dim), nn.SiLU(), nn.Linear(dim, dim))

    def forward(self, t):
        dtype = self.mlp[0].weight.dtype
        frequencies = torch.exp(-math.log(10000) * torch.arange(128, dtype=dtype, device=t.device) / 128)
        angles = t[:, None].to(dtype) * frequencies
        return self.mlp(torch.cat([angles.cos(), angles.sin()], 1))


class LabelEmbedder(nn.Module):
    def __init__(self, classes, dropout, dim):
        super().__init__()
        self.classes, self.dropout = classes, dropout
        self.embedding_table = nn.Embedding(classes + (dropout > 0), dim)

    def forward(self, y, noise):
        if self.training and self.dropout > 0:
            y = torch.where(noise < self.dropout, self.classes, y)
        return self.embedding_table(y)


class Block(nn.Module):
    def __init__(self, dim, heads, ratio):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, elementwise_affine=False, eps=1e-6)
        self.attn = Attention(dim, num_heads=heads, qkv_bias=True)
        self.norm2 = nn.LayerNorm(dim, elementwise_affine=False, eps=1e-6)
        self.mlp = Mlp(dim, int(dim * ratio), act_layer=lambda: nn.GELU(approximate="tanh"))
        self.adaLN_modulation = nn.Sequential(nn.SiLU(), nn.Linear(dim, 6 * dim))

    def forward(self, x, c):
        shift1, scale1, gate1, shift2, scale2, gate2 = self.adaLN_modulation(c).chunk(6, 1)
        x = x + gate1.unsqueeze(1) * self.attn(modulate(self.norm1(x), shift1, scale1))
        return x + gate2.unsqueeze(1) * self.mlp(modulate(self.norm2(x), shift2, scale2))


class FinalLayer(nn.Module):
    def __init__(self, dim, out):
        super().__init__()
        self.norm_final = nn.LayerNorm(dim, elementwise_affine=False, eps=1e-6)
        self.linear = nn.Linear(dim, out)
        self.adaLN_modulation = nn.Sequential(nn.SiLU(), nn.Linear(dim, 2 * dim))

    def forward(self, x, c):
        shift, scale = self.adaLN_modulation(c).chunk(2, 1)
        return self.linear(modulate(self.norm_final(x), shift, scale))


class DiT(nn.Module):
    """c has the official keys (input_size, in_channels, hidden_size, ...)."""

    def __init__(self, c):
        super().__init__()
        self.config, dim, p = c, c["hidden_size"], c["patch_size"]
        self.channels = c["in_channels"] * (2 if c["learn_sigma"] else 1)
        self.side = c["input_size"] // p
        self.x_embedder = PatchEmbed(c["input_size"], p, c["in_channels"], dim)
        self.t_embedder = TimestepEmbedder(dim)
        self.y_embedder = LabelEmbedder(c["num_classes"], c["class_dropout_prob"], dim)
        self.pos_embed = nn.Parameter(sincos(dim, self.side), requires_grad=c["pos_embed"] == "learned")
        self.blocks = nn.ModuleList(Block(dim, c["num_heads"], c["mlp_ratio"]) for _ in range(c["depth"]))
        self.final_layer = FinalLayer(dim, p * p * self.channels)
        self.start()

    def start(self):
        """The official initial values."""
        def xavier(module):
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
        self.apply(xavier)
        nn.init.xavier_uniform_(self.x_embedder.proj.weight.flatten(1))
        nn.init.zeros_(self.x_embedder.proj.bias)
        for weight in (self.y_embedder.embedding_table.weight, self.t_embedder.mlp[0].weight,
                       self.t_embedder.mlp[2].weight):
            nn.init.normal_(weight, std=0.02)
        zero = [block.adaLN_modulation[1] for block in self.blocks]
        for module in zero + [self.final_layer.adaLN_modulation[1], self.final_layer.linear]:
            nn.init.zeros_(module.weight)
            nn.init.zeros_(module.bias)

    def forward(self, x, t, y, noise=None, tap=None):
        """noise decides which labels are dropped in training mode."""
        if noise is None:
            noise = torch.rand(len(x), device=x.device)
        x = self.x_embedder(x) + self.pos_embed
        c = self.t_embedder(t) + self.y_embedder(y, noise)
        tap = {} if tap is None else tap
        tap["feat/embed"] = x
        for i, block in enumerate(self.blocks):
            tap[f"feat/{i}"] = x = block(x, c)
        x = self.final_layer(x, c)  # values of a token by row, column, channel
        n, p = self.side, self.config["patch_size"]
        return x.reshape(-1, n, n, p, p, self.channels).permute(0, 5, 1, 3, 2, 4).reshape(
            -1, self.channels, n * p, n * p)

    def guided(self, x, t, y, scale):
        """The official forward_with_cfg: the second half of y is the null class."""
        half = x[:len(x) // 2]
        out = self(torch.cat([half, half]), t, y)
        noise, rest = out[:, :3], out[:, 3:]
        labelled, null = noise.chunk(2)
        noise = null + scale * (labelled - null)
        return torch.cat([torch.cat([noise, noise]), rest], 1)


class Diffusion:
    """The linear noise schedule of 1000 steps, and the hybrid loss, with tables in float64."""

    def __init__(self, steps=1000):
        scale = 1000 / steps
        beta = torch.linspace(1e-4 * scale, 0.02 * scale, steps, dtype=torch.float64)
        bar = (1 - beta).cumprod(0)
        before = torch.cat([torch.ones(1, dtype=torch.float64), bar[:-1]])
        variance = beta * (1 - before) / (1 - bar)
        self.bar, self.beta = bar, beta
        self.log_variance = torch.cat([variance[1:2], variance[1:]]).log()
        self.mean_x0 = beta * before.sqrt() / (1 - bar)
        self.mean_xt = (1 - before) * (1 - beta).sqrt() / (1 - bar)

    @staticmethod
    def at(table, t, x):
        return table.to(x.device)[t].to(x.dtype)[:, None, None, None]

    def noisy(self, x0, t, noise):
        return self.at(self.bar.sqrt(), t, x0) * x0 + self.at((1 - self.bar).sqrt(), t, x0) * noise

    def bound(self, x0, xt, t, eps, v):
        """The term of the variational bound in bits per value."""
        low, high = self.at(self.log_variance, t, x0), self.at(self.beta.log(), t, x0)
        log_variance = (v + 1) / 2 * (high - low) + low
        predicted = self.at((1 / self.bar).sqrt(), t, x0) * xt - self.at((1 / self.bar - 1).sqrt(), t, x0) * eps
        true = self.at(self.mean_x0, t, x0) * x0 + self.at(self.mean_xt, t, x0) * xt
        mean = self.at(self.mean_x0, t, x0) * predicted + self.at(self.mean_xt, t, x0) * xt
        kl = 0.5 * (-1 + log_variance - low + (low - log_variance).exp() + (true - mean)**2 * (-log_variance).exp())
        cdf = lambda z: 0.5 * (1 + (math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)).tanh())
        plus, minus = (cdf((x0 - mean + side) * (-0.5 * log_variance).exp()) for side in (1 / 255, -1 / 255))
        log = lambda z: z.clamp(min=1e-12).log()
        likelihood = torch.where(x0 < -0.999, log(plus), torch.where(x0 > 0.999, log(1 - minus), log(plus - minus)))
        kl, likelihood = (z.mean((1, 2, 3)) / math.log(2) for z in (kl, -likelihood))
        return torch.where(t == 0, likelihood, kl)

    def loss(self, x0, t, noise, xt, out):
        eps, v = out.split(x0.shape[1], 1) if out.shape[1] > x0.shape[1] else (out, None)
        loss = ((noise - eps)**2).mean((1, 2, 3))
        return (loss if v is None else loss + self.bound(x0, xt, t, eps.detach(), v)).mean()


class Training(nn.Module):
    """A DiT whose forward pass draws times, noise and dropped labels and returns the loss."""

    def __init__(self, model):
        super().__init__()
        self.model, self.diffusion = model, Diffusion()

    def draw(self, x):
        t = torch.randint(0, 1000, (len(x),), device=x.device)
        return t, torch.randint(0, self.model.config["num_classes"], (len(x),), device=x.device)

    def forward(self, x):
        t, y = self.draw(x)
        noise = torch.randn_like(x)
        xt = self.diffusion.noisy(x, t, noise)
        return self.diffusion.loss(x, t, noise, xt, self.model(xt, t, y))

    def predict(self, x):
        return self.model(x, *self.draw(x))


# The models that are measured.
SIZES = {"dit_s_2": dict(hidden_size=384, depth=12, num_heads=6, patch_size=2)}


def settings(name):
    base = {"input_size": 32, "in_channels": 4, "mlp_ratio": 4.0, "class_dropout_prob": 0.1, "num_classes": 1000,
            "learn_sigma": True, "pos_embed": "sincos"}
    return base | SIZES[name]


def outputs(model, golden, config):
    """All possible contents of a golden file by name."""
    x, found = golden["input"].clone().requires_grad_(), {}
    with torch.no_grad():
        found["output_eval"] = model.eval()(x, golden["t"], golden["y"])
        if config.get("cfg_scale"):
            found["cfg_output"] = model.guided(golden["cfg_input"], golden["cfg_t"], golden["cfg_y"], config["cfg_scale"])
    found["output"] = model.train()(x, golden["t"], golden["y"], golden["drop_noise"], found)
    found["loss"] = (found["output"] * golden["cotangent"]).mean()
    found["loss"].backward()
    found["grad_input"] = x.grad
    return found | {"grad/" + k: p.grad for k, p in model.named_parameters() if p.grad is not None}


def diffusion_outputs(model, golden):
    """The training part of a file of family dit_diffusion."""
    x, t, diffusion = golden["input"], golden["t"], Diffusion()
    xt = diffusion.noisy(x, t, golden["noise"])
    out = model.train()(xt, t, golden["y"], golden["drop_noise"])
    loss = diffusion.loss(x, t, golden["noise"], xt, out)
    loss.backward()
    found = {"x_t": xt, "loss": loss, "alphas_cumprod": diffusion.bar}
    return found | {"grad/" + k: p.grad for k, p in model.named_parameters() if p.grad is not None}


def worst_error(path):
    """The largest relative error against a golden file, in float64."""
    from golden import difference, parameters, read
    config, _, golden = read(path)
    model = DiT(config).double()
    model.load_state_dict(parameters(golden))
    found = diffusion_outputs(model, golden) if "noise" in golden else outputs(model, golden, config)
    return difference(found, golden)


def check(paths):
    from golden import report
    return report(map(worst_error, paths))


if __name__ == "__main__":
    sys.exit(check(sys.argv[1:]))
