#!/usr/bin/env python3
"""Writes golden files of random diffusions with a DiT: schedule, respacing, hybrid loss, gradients and every step of
sampling, in float64 with the PyTorch model of bench/peer_models/dit.py and the textbook's formulas below.

    random_dit_diffusion.py FOLDER [--count 20] [--seed 0]        needs torch, timm and safetensors
    ./run parity FOLDER/*.safetensors
"""
import math

import torch

import random_golden
import dit  # random_golden has put its folder on the path

F64 = torch.float64


def betas_of(schedule, steps):
    if schedule == "linear":
        return torch.linspace(0.1 / steps, 20 / steps, steps, dtype=F64)
    left = [math.cos((i / steps + 0.008) / 1.008 * math.pi / 2) ** 2 for i in range(steps + 1)]
    return torch.tensor([min(1 - b / a, 0.999) for a, b in zip(left, left[1:])], dtype=F64)


def taken_steps(steps, text):
    """The steps that a sampler takes of the process's."""
    if text.startswith("ddim"):
        return next(list(range(0, steps, s)) for s in range(1, steps) if len(range(0, steps, s)) == int(text[4:]))
    counts, taken, start = [int(n) for n in text.split(",")], [], 0
    for i, count in enumerate(counts):
        size = steps // len(counts) + (i < steps % len(counts))
        stride, at = ((size - 1) / (count - 1) if count > 1 else 1), 0.0
        for _ in range(count):
            taken.append(start + round(at))
            at += stride
        start += size
    return taken


class Process:
    def __init__(self, betas):
        self.beta, self.ab = betas, torch.cumprod(1 - betas, 0)
        self.before = torch.cat([torch.ones(1, dtype=F64), self.ab[:-1]])
        self.variance = betas * (1 - self.before) / (1 - self.ab)
        clipped = torch.cat([self.variance[1:2], self.variance[1:]])
        self.log_variance = clipped.log()
        self.log_fixed = torch.cat([self.variance[1:2], betas[1:]]).log()

    def x0(self, xt, eps, t):
        return (xt - (1 - self.ab[t]).sqrt() * eps) / self.ab[t].sqrt()

    def posterior_mean(self, x0, xt, t):
        near = self.beta[t] * self.before[t].sqrt() / (1 - self.ab[t])
        return near * x0 + (1 - self.before[t]) * (1 - self.beta[t]).sqrt() / (1 - self.ab[t]) * xt

    def learned(self, v, t):
        share = (v + 1) / 2
        return share * self.beta[t].log() + (1 - share) * self.log_variance[t]


def bits_of_level(x, mean, log_variance):
    def cdf(y):
        return 0.5 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y ** 3)))
    above, below = (cdf((-log_variance / 2).exp() * (x - mean + side / 255)) for side in (1, -1))
    p = torch.where(x < -0.999, above, torch.where(x > 0.999, 1 - below, above - below))
    return -p.clamp(min=1e-12).log()


def losses(process, x0, t, noise, xt, out):
    """mse and vb of each image; vb is None without learned variances."""
    t, c = t[:, None, None, None], x0.shape[1]
    eps = out[:, :c]
    mse = ((noise - eps) ** 2).mean((1, 2, 3))
    if out.shape[1] == c:
        return mse, None
    mean, log_variance = process.posterior_mean(process.x0(xt, eps.detach(), t), xt, t), process.learned(out[:, c:], t)
    true, log_true = process.posterior_mean(x0, xt, t), process.log_variance[t]
    kl = 0.5 * (log_variance - log_true - 1 + (log_true - log_variance).exp() + (true - mean) ** 2 / log_variance.exp())
    return mse, torch.where(t == 0, bits_of_level(x0, mean, log_variance), kl).mean((1, 2, 3)) / math.log(2)


def dpm_solver_step(process, i, x, x0, before):
    """DPM-Solver++(2M), algorithm 2 of Lu et al. 2022; before is the x0 of the step before, or None."""
    if i == 0:
        return x0
    half_log_snr = 0.5 * (process.ab.log() - (1 - process.ab).log())
    h = half_log_snr[i - 1] - half_log_snr[i]
    if before is not None:
        x0 = x0 + (x0 - before) * h / (half_log_snr[i] - half_log_snr[i + 1]) / 2
    return ((1 - process.ab[i - 1]) / (1 - process.ab[i])).sqrt() * x - process.ab[i - 1].sqrt() * torch.expm1(-h) * x0


def predicted_image(process, config, i, x, out):
    x0 = process.x0(x, out[:, :x.shape[1]], i)
    return x0.clamp(-1, 1) if config["clip_denoised"] else x0


def step(process, config, i, x, out, noise, before):
    """x of the next step; before is the image that the step before predicted, or None."""
    c, x0 = x.shape[1], predicted_image(process, config, i, x, out)
    if config["sampler"] == "dpmpp_2m":
        return dpm_solver_step(process, i, x, x0, before)
    ab, next_ab = process.ab[i], process.before[i]
    if config["sampler"] == "ddim":
        eps = (x - ab.sqrt() * x0) / (1 - ab).sqrt()
        sigma = config["eta"] * ((1 - next_ab) / (1 - ab) * (1 - ab / next_ab)).sqrt()
        return next_ab.sqrt() * x0 + (1 - next_ab - sigma ** 2).sqrt() * eps + (sigma * noise if i else 0)
    log_variance = process.learned(out[:, c:], i) if out.shape[1] > c else process.log_fixed[i]
    return process.posterior_mean(x0, x, i) + ((0.5 * log_variance).exp() * noise if i else 0)


def predicted(model, config, x, t, y):
    t = torch.full((len(x),), t)
    if config["cfg_scale"] is None:
        return model(x, t, y)
    null = torch.full_like(y, config["num_classes"])
    own, other = model(torch.cat([x, x]), torch.cat([t, t]), torch.cat([y, null])).chunk(2)
    moved = other + config["cfg_scale"] * (own - other)
    return torch.cat([moved[:, :3], own[:, 3:]], 1)


def sampling(rng, config, model, process, steps):
    n, side = rng.randint(1, 3), config["input_size"]
    shape = (n, config["in_channels"], side, side)
    y, x = torch.randint(0, config["num_classes"], (n,)), torch.randn(shape, dtype=F64)
    tensors = {"timestep_map": torch.tensor(steps), "spaced_betas": process.beta, "sample_y": y, "sample_init": x,
               "sample_noise": torch.randn((len(steps), *shape), dtype=F64)}
    seen, before = [], None
    model.eval()  # no label is dropped
    with torch.no_grad():
        for noise, i in zip(tensors["sample_noise"], reversed(range(len(steps)))):
            out = predicted(model, config, x, steps[i], y)
            before, x = predicted_image(process, config, i, x, out), step(process, config, i, x, out, noise, before)
            seen.append(x)
    return tensors | {"sample_steps": torch.stack(seen)}


def draw_config(rng):
    patch, heads, dropout = rng.randint(1, 3), rng.randint(1, 2), rng.choice([0.0, 0.1, 0.5])
    steps = rng.choice([100, 250, 1000])
    return {
        "input_size": patch * rng.randint(1, 4), "patch_size": patch, "in_channels": rng.choice([1, 2, 3, 4]),
        "hidden_size": 4 * heads * rng.randint(2, 4), "depth": rng.randint(1, 2), "num_heads": heads, "mlp_ratio": 2.0,
        "class_dropout_prob": dropout, "num_classes": rng.randint(1, 7), "learn_sigma": rng.random() < 0.6,
        "pos_embed": rng.choice(["sincos", "learned"]), "diffusion_steps": steps,
        "noise_schedule": rng.choice(["linear", "squaredcos_cap_v2"]),
        "timestep_respacing": rng.choice(["7", "13", "4,3", "2,1,3", "ddim10", str(steps // 10)]),
        "sampler": rng.choice(["ddpm", "ddim", "dpmpp_2m"]), "eta": rng.choice([0.0, 0.3, 1.0]),
        "clip_denoised": rng.random() < 0.5, "cfg_scale": rng.choice([1.5, 4.0]) if dropout and rng.random() < 0.6 else None,
    }


def draw_case(rng, config):
    """The tensors of a golden file, the model and its betas."""
    batch, model = rng.randint(2, 5), dit.DiT(config).double()
    random_golden.disturb(p for p in model.parameters() if p.requires_grad)
    betas = betas_of(config["noise_schedule"], config["diffusion_steps"])
    whole = Process(betas)
    shape = (batch, config["in_channels"], config["input_size"], config["input_size"])
    x0, noise, t = torch.rand(shape, dtype=F64) * 2.2 - 1.1, torch.randn(shape, dtype=F64), torch.randint(0, len(betas), (batch,))
    t[0] = 0
    y, drop = torch.randint(0, config["num_classes"], (batch,)), torch.rand(batch, dtype=F64)
    at = whole.ab[t][:, None, None, None]
    xt = at.sqrt() * x0 + (1 - at).sqrt() * noise
    mse, vb = losses(whole, x0, t, noise, xt, model(xt, t, y, drop))
    loss = (mse if vb is None else mse + vb).mean()
    loss.backward()
    tensors = {"betas": betas, "alphas_cumprod": whole.ab, "input": x0, "t": t, "y": y, "drop_noise": drop, "noise": noise,
               "x_t": xt, "mse": mse, "loss": loss} | ({} if vb is None else {"vb": vb})
    for name, p in model.named_parameters():
        tensors[f"param/{name}"] = p
        if p.requires_grad:
            tensors[f"grad/{name}"] = torch.zeros_like(p) if p.grad is None else p.grad
    steps = taken_steps(len(betas), config["timestep_respacing"])
    last, spaced = 1.0, []
    for i in steps:
        spaced.append(1 - whole.ab[i] / last)
        last = whole.ab[i]
    return tensors | sampling(rng, config, model, Process(torch.stack(spaced)), steps), model, betas


def make_case(rng, _):
    config = draw_config(rng)
    return config, draw_case(rng, config)[0], []


if __name__ == "__main__":
    random_golden.main(__doc__, lambda _: "dit_diffusion", make_case)
