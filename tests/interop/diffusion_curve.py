#!/usr/bin/env python3
"""Diffusion in f32, fovea compared with PyTorch: the same weights, batches, time steps, noise and dropped labels.

    PYTHON tests/interop/diffusion_curve.py [--build build] [--csv FILE]      (PYTHON has torch and timm)

First checks the PyTorch model (bench/peer_models/dit.py) on the golden files and, if diffusers is installed, its
predictions and noised images against diffusers'. Then PyTorch trains a DiT for 200 steps, and `parity --precision f32
--dump` takes the same steps. Fails if a loss differs by more than 1e-3 relative.
"""
import argparse
import pathlib
import sys
import tempfile

import torch

import curves

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/peer_models"))
import dit  # noqa: E402

STEPS, BATCH, CLASSES, SIDE, BOUND, RATE = 200, 16, 10, 16, 1e-3, 1e-3
MODEL = dict(input_size=SIDE, patch_size=2, in_channels=3, hidden_size=48, depth=3, num_heads=3, mlp_ratio=4.0,
             num_classes=CLASSES, class_dropout_prob=0.1, learn_sigma=True, pos_embed="sincos")


def batches():
    """Noisy copies of one smooth picture per class in [-1, 1], and everything that is drawn at a step."""
    generator = torch.Generator().manual_seed(5)
    draw = dict(generator=generator)
    coarse = torch.randn(CLASSES, 3, 4, 4, **draw)
    smooth = torch.nn.functional.interpolate(coarse, (SIDE, SIDE), mode="bicubic")
    labels = torch.randint(0, CLASSES, (STEPS, BATCH), **draw)
    images = (smooth[labels] / 3 + 0.1 * torch.randn(STEPS, BATCH, 3, SIDE, SIDE, **draw)).clamp(-1, 1)
    t = torch.randint(0, 1000, (STEPS, BATCH), **draw)
    t[:, 0] = 0  # the term of the decoder, which a step of 1000 has
    return {"batch_input": images, "batch_target": labels, "batch_t": t, "batch_noise": torch.randn(images.shape, **draw),
            "batch_drop_noise": torch.rand(STEPS, BATCH, **draw)}


def train(path):
    """PyTorch's steps with AdamW, written as a golden file."""
    torch.manual_seed(0)
    model, diffusion, drawn, losses = dit.DiT(MODEL).train(), dit.Diffusion(), batches(), []
    start = {n: p.detach().double().clone() for n, p in model.named_parameters()}
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=RATE, weight_decay=0)
    for step in range(STEPS):
        x, y, t, noise, drop = (tensor[step] for tensor in drawn.values())
        xt = diffusion.noisy(x, t, noise)
        loss = diffusion.loss(x, t, noise, xt, model(xt, t, y, drop))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    official = dict(MODEL)
    ours = {"family": "dit", "img_size": [SIDE, SIDE], "in_chans": official.pop("in_channels"),
            "embed_dim": official.pop("hidden_size")}
    official.pop("input_size")
    config = dict(model=ours | official, optimizer="adamw", betas=[0.9, 0.999], eps=1e-8, weight_decay=0.0, steps=STEPS)
    tensors = {n: x.double() if x.is_floating_point() else x for n, x in drawn.items()}
    tensors |= {"lr": torch.full((STEPS,), RATE, dtype=torch.float64), "losses": torch.tensor(losses, dtype=torch.float64)}
    tensors |= {f"param/{n}": p for n, p in start.items()}
    curves.write_case(path, tensors, config)


def diffusers_weights(state, depth):
    """The weights under diffusers' names; each block there has its own copy of the embeddings."""
    names = {"pos_embed.proj": "x_embedder.proj", "proj_out_1": "final_layer.adaLN_modulation.1",
             "proj_out_2": "final_layer.linear"}
    found = {}
    for i in range(depth):
        at, block, emb = f"transformer_blocks.{i}", f"blocks.{i}", f"transformer_blocks.{i}.norm1.emb"
        names |= {f"{at}.norm1.linear": f"{block}.adaLN_modulation.1", f"{at}.attn1.to_out.0": f"{block}.attn.proj",
                  f"{at}.ff.net.0.proj": f"{block}.mlp.fc1", f"{at}.ff.net.2": f"{block}.mlp.fc2",
                  f"{emb}.timestep_embedder.linear_1": "t_embedder.mlp.0",
                  f"{emb}.timestep_embedder.linear_2": "t_embedder.mlp.2"}
        found[f"{emb}.class_embedder.embedding_table.weight"] = state["y_embedder.embedding_table.weight"]
        for kind in ("weight", "bias"):
            parts = state[f"{block}.attn.qkv.{kind}"].chunk(3)
            found |= {f"{at}.attn1.to_{letter}.{kind}": part for letter, part in zip("qkv", parts)}
    return found | {f"{theirs}.{kind}": state[f"{ours}.{kind}"] for theirs, ours in names.items()
                    for kind in ("weight", "bias")}


def second_opinion():
    """The largest difference from diffusers, relative to the largest prediction, in float64."""
    import diffusers
    torch.manual_seed(2)
    model = dit.DiT(MODEL).double().eval()
    with torch.no_grad():
        for p in model.parameters():
            if p.requires_grad:
                p.add_(0.1 * torch.randn_like(p))
    other = diffusers.DiTTransformer2DModel(
        num_attention_heads=MODEL["num_heads"], attention_head_dim=MODEL["hidden_size"] // MODEL["num_heads"], in_channels=3,
        out_channels=6, num_layers=MODEL["depth"], sample_size=SIDE, patch_size=2, num_embeds_ada_norm=CLASSES,
        norm_eps=1e-6).double().eval()
    missing, unexpected = other.load_state_dict(diffusers_weights(model.state_dict(), MODEL["depth"]), strict=False)
    assert not unexpected and all("pos_embed" in name for name in missing), (missing, unexpected)
    for block in other.transformer_blocks:
        block.norm1.emb.time_proj.downscale_freq_shift = 0  # the official frequencies; diffusers divides by 127
    x, t, y = torch.randn(4, 3, SIDE, SIDE, dtype=torch.float64), torch.tensor([0, 3, 500, 999]), torch.tensor([0, 4, 9, CLASSES])
    with torch.no_grad():
        ours, theirs = model(x, t, y), other(x, timestep=t, class_labels=y).sample
        # diffusers computes the waves of a time and its table of positions in f32.
        noise = torch.randn_like(x)
        schedule = diffusers.DDPMScheduler(1000, beta_start=1e-4, beta_end=0.02, beta_schedule="linear")
        noised = (schedule.add_noise(x, noise, t) - dit.Diffusion().noisy(x, t, noise)).abs().max()
    return diffusers.__version__, max(((ours - theirs).abs().max() / ours.abs().max()).item(), noised.item())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--csv", help="write both curves to this file")
    options = parser.parse_args()
    if dit.check([path for path in sorted((ROOT / "tests/golden").glob("dit_*.safetensors")) if "cosine" not in path.name]):
        sys.exit("the PyTorch model differs from the golden files")
    try:
        version, error = second_opinion()
        print(f"diffusers {version}: largest difference {error:.1e}")
        if error > 1e-5:
            sys.exit("the PyTorch model differs from diffusers'")
    except ImportError:
        print("skipped: diffusers is not installed")
    with tempfile.TemporaryDirectory() as temporary:
        case = pathlib.Path(temporary) / "diffusion.safetensors"
        train(case)
        good, _, _ = curves.compare(case, options.build, BOUND, options.csv)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
