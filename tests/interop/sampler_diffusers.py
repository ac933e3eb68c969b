#!/usr/bin/env python3
"""Samplers compared with diffusers': DPM-Solver++(2M) and DDIM on random diffusions with a DiT, from the same noise.

    PYTHON tests/interop/sampler_diffusers.py [--build build] [--count 20]   (PYTHON has torch, timm, safetensors, diffusers)

diffusers computes steps in f32. So each step in f64, by the formulas of tests/golden/random_dit_diffusion.py, must be within
1e-5 of diffusers', and fovea's within the bounds of `parity` of those in f64.
"""
import argparse
import pathlib
import random
import subprocess
import sys
import tempfile

import torch
from diffusers import DDIMScheduler, DPMSolverMultistepScheduler

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/golden"))
import random_dit_diffusion as diffusion  # noqa: E402
import random_golden  # noqa: E402

BOUND = 1e-5


def scheduler_of(config, betas, steps):
    """Its tables are made f64, because differences of logarithms have few digits in f32."""
    ab, options = torch.cumprod(1 - betas, 0), dict(num_train_timesteps=len(betas), trained_betas=betas.tolist())
    if config["sampler"] == "ddim":
        scheduler = DDIMScheduler(**options, clip_sample=False, set_alpha_to_one=True, steps_offset=0,
                                  timestep_spacing="leading")
        scheduler.alphas_cumprod = ab
        scheduler.set_timesteps(len(steps))
    else:
        scheduler = DPMSolverMultistepScheduler(**options, algorithm_type="dpmsolver++", solver_order=2, solver_type="midpoint",
                                                final_sigmas_type="zero", thresholding=False)
        scheduler.set_timesteps(timesteps=steps[::-1])
        scheduler.sigmas = torch.cat([((1 - ab) / ab).sqrt()[steps[::-1]], torch.zeros(1)])
    assert scheduler.timesteps.tolist() == steps[::-1], (scheduler.timesteps, steps)
    return scheduler


def largest_error(config, model, tensors, betas):
    """Of diffusers' steps, each from the x that the f64 formulas had before it."""
    steps, y = tensors["timestep_map"].tolist(), tensors["sample_y"]
    scheduler = scheduler_of(config, betas, steps)
    x, worst, channels = tensors["sample_init"], 0.0, config["in_channels"]
    for t, expected in zip(reversed(steps), tensors["sample_steps"]):
        eps = diffusion.predicted(model, config, x, t, y)[:, :channels]
        found = scheduler.step(eps, t, x).prev_sample
        worst = max(worst, ((found - expected).norm() / expected.norm()).item())
        x = expected
    return worst


def draw_config(rng, sampler):
    config = diffusion.draw_config(rng)
    config |= {"sampler": sampler, "eta": 0.0, "clip_denoised": False}  # diffusers clips otherwise
    if sampler == "ddim":
        config["timestep_respacing"] = "ddim10"  # equal strides are all that its scheduler takes
    return config


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--count", type=int, default=20)
    args = parser.parse_args()
    rng, worst = random.Random(1), {"ddim": 0.0, "dpmpp_2m": 0.0}
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for i in range(args.count):
            sampler = list(worst)[i % 2]
            config = draw_config(rng, sampler)
            tensors, model, betas = diffusion.draw_case(rng, config)
            with torch.no_grad():
                worst[sampler] = max(worst[sampler], largest_error(config, model, tensors, betas))
            random_golden.write(folder, i, "dit_diffusion", (config, tensors, []))
        for sampler, error in worst.items():
            print(f"{sampler}: diffusers' steps are at most {error:.1e} from f64 (bound {BOUND:.0e})")
        subprocess.run([args.build / "parity", *sorted(folder.iterdir())], check=True)
    return max(worst.values()) > BOUND


if __name__ == "__main__":
    sys.exit(main())
