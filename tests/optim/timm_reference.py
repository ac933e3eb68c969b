#!/usr/bin/env python3
"""Writes tests/optim/timm.safetensors: float64 results of timm's optimizers, schedules, clipping, layer decay, averages
and losses, for tests/optim/timm_test.cpp.

    PYTHON tests/optim/timm_reference.py [FILE]        (PYTHON has torch, timm and safetensors)
"""
import json
import pathlib
import sys
import warnings

import timm
import torch
from safetensors.torch import save_file
from timm.loss import BinaryCrossEntropy, JsdCrossEntropy, compute_class_weights
from timm.models.deit import VisionTransformerDistilled
from timm.models.vision_transformer import VisionTransformer
from timm.optim import Lamb, Lion, Muon, param_groups_layer_decay
from timm.optim import muon as timm_muon
from timm.scheduler import create_scheduler_v2
from timm.utils import ModelEmaV3
from timm.utils.agc import adaptive_clip_grad
from torchvision.transforms.functional import gaussian_blur

STEPS = 40
SHAPES = {"wide": (6, 10), "tall": (24, 5), "conv": (8, 3, 3, 3), "bias": (7,), "pos": (1, 5, 8),
          "thin": (2, 40)}
NOT_DECAYED = {"bias", "pos"}
OPTIMIZERS = {
    "adamw": lambda groups: torch.optim.AdamW(groups, lr=1),
    "sgd": lambda groups: torch.optim.SGD(groups, lr=1, momentum=0.9, nesterov=True),
    "momentum": lambda groups: torch.optim.SGD(groups, lr=1, momentum=0.9),
    "lamb": lambda groups: Lamb(groups, lr=1),
    "lion": lambda groups: Lion(groups, lr=1),
    "muon": lambda groups: Muon(groups, lr=1, momentum=0.9),
}
SCHEDULES = {
    "cosine": dict(sched="cosine", cooldown_epochs=3),
    "cosine_prefix": dict(sched="cosine", warmup_prefix=True),
    "linear": dict(sched="poly", decay_rate=1.0),
    "poly": dict(sched="poly", decay_rate=0.7),
    "step": dict(sched="step", decay_epochs=7.0, decay_rate=0.3),
    "multistep": dict(sched="multistep", decay_milestones=[6, 11, 17], decay_rate=0.5),
    "constant": dict(sched="constant"),
    "wsd": dict(sched="wsd", decay_epochs=0.2),
    "wsd_epochs": dict(sched="wsd", decay_epochs=6.0),
    "wsd_prefix": dict(sched="wsd", decay_epochs=0.3, warmup_prefix=True),
}
CLASS_WEIGHTS = torch.tensor([0.5, 2, 1, 0.25, 1, 1, 4], dtype=torch.float64)
EPOCHS, WARMUP, UPDATES, LR, MIN_LR, WARMUP_LR = 20, 3, 4, 0.8, 0.01, 0.05


def scheduled(options, on_updates):
    """The learning rates that timm's train.py would use, one per epoch or update."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=LR)
    scheduler, epochs = create_scheduler_v2(
        optimizer, num_epochs=EPOCHS, warmup_epochs=WARMUP, min_lr=MIN_LR, warmup_lr=WARMUP_LR,
        step_on_epochs=not on_updates, updates_per_epoch=UPDATES, **options)
    rates = []
    for tick in range(int(epochs) * (UPDATES if on_updates else 1)):
        scheduler.step_update(tick) if on_updates else scheduler.step(tick)
        rates.append(optimizer.param_groups[0]["lr"])
    return torch.tensor(rates, dtype=torch.float64)


def plateau(metrics, patience):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=LR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scheduler, _ = create_scheduler_v2(
            optimizer, sched="plateau", num_epochs=len(metrics), warmup_epochs=WARMUP, min_lr=MIN_LR,
            warmup_lr=WARMUP_LR, decay_rate=0.4, patience_epochs=patience)
    rates = []
    for epoch, metric in enumerate(metrics):
        rates.append(optimizer.param_groups[0]["lr"])
        scheduler.step(epoch + 1, metric)
    return torch.tensor(rates, dtype=torch.float64)


def optimized(make, start, gradients):
    parameters = {name: torch.nn.Parameter(value.clone()) for name, value in start.items()}
    groups = [dict(params=[p for n, p in parameters.items() if n not in NOT_DECAYED], weight_decay=0.05),
              dict(params=[p for n, p in parameters.items() if n in NOT_DECAYED], weight_decay=0.0)]
    optimizer = make(groups)
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = 0.02 / (1 + step)
        for name, p in parameters.items():
            p.grad = gradients[name][step].double().clone()
        optimizer.step()
    return {name: p.detach() for name, p in parameters.items()}


def layer_scales(model):
    scales = {}
    names = {id(p): n for n, p in model.named_parameters()}
    for group in param_groups_layer_decay(model, layer_decay=0.65):
        scales |= {names[id(p)]: group["lr_scale"] for p in group["params"]}
    return scales


def averaging_factors():
    model = torch.nn.Linear(1, 1)
    ema = ModelEmaV3(model, decay=0.99, use_warmup=True)
    return torch.tensor([ema.get_decay(step) for step in range(1, 2001)], dtype=torch.float64)


def losses(tensors, generator):
    logits = torch.randn(5, 7, dtype=torch.float64, generator=generator) * 3
    labels = torch.tensor([0, 6, 3, 3, 1])
    soft = torch.softmax(torch.randn(5, 7, dtype=torch.float64, generator=generator) * 2, 1)
    tensors |= {"bce/logits": logits, "bce/labels": labels, "bce/soft": soft}
    for name, options in {"plain": dict(smoothing=0.0), "smooth": dict(smoothing=0.1),
                          "threshold": dict(smoothing=0.1, target_threshold=0.2),
                          "sum": dict(smoothing=0.1, sum_classes=True),
                          "weight": dict(smoothing=0.1, pos_weight=2.5),
                          "classes": dict(smoothing=0.1, pos_weight=2.5, weight=CLASS_WEIGHTS)}.items():
        for kind, target in {"labels": labels, "soft": soft}.items():
            z = logits.clone().requires_grad_()
            options_64 = dict(options)
            if "pos_weight" in options:
                options_64["pos_weight"] = torch.tensor(2.5, dtype=torch.float64)
            loss = BinaryCrossEntropy(**options_64)(z, target)
            loss.backward()
            tensors |= {f"bce/{name}/{kind}/loss": loss.detach(), f"bce/{name}/{kind}/grad": z.grad}


def class_weights(tensors):
    counts = [500, 1, 20, 0, 60, 60, 3000]  # of images
    tensors["class_weights/counts"] = torch.tensor(counts)
    for name, options in {"inv_freq": dict(method="inv_freq"), "power": dict(method="inv_freq", power=0.5),
                          "largest": dict(method="inv_freq", power=0.5, max_weight=1.5),
                          "effective_num": dict(method="effective_num"),
                          "beta": dict(method="effective_num", beta=0.9)}.items():
        kind, weights = compute_class_weights(counts, sum(counts), **options)
        assert kind == "class_weight"
        tensors[f"class_weights/{name}"] = weights


def weighted_cross_entropy(tensors):
    """PyTorch's mean, which divides by the weights of the labels."""
    z = tensors["bce/logits"].clone().requires_grad_()
    loss = torch.nn.functional.cross_entropy(z, tensors["bce/labels"], weight=CLASS_WEIGHTS)
    loss.backward()
    tensors |= {"weighted/weights": CLASS_WEIGHTS, "weighted/loss": loss.detach(), "weighted/grad": z.grad}


def jsd(tensors, generator):
    """timm concatenates the splits; in the file the three rows of an image are adjacent."""
    logits = torch.randn(3, 5, 7, dtype=torch.float64, generator=generator) * 3
    labels = torch.tensor([0, 6, 3, 3, 1])
    tensors["jsd/labels"] = labels[:, None].expand(5, 3).reshape(15)
    tensors["jsd/logits"] = logits.transpose(0, 1).reshape(15, 7)
    for smoothing in (0.0, 0.1):
        z = logits.clone().requires_grad_()
        loss = JsdCrossEntropy(num_splits=3, alpha=12, smoothing=smoothing)(z.reshape(15, 7), labels.repeat(3))
        loss.backward()
        tensors[f"jsd/{smoothing}/loss"] = loss.detach()
        tensors[f"jsd/{smoothing}/grad"] = z.grad.transpose(0, 1).reshape(15, 7)


def blurred(tensors, generator):
    image = torch.randint(0, 256, (3, 31, 26), generator=generator, dtype=torch.uint8)
    image[:, 12:20, 8:20] = 200
    tensors["blur/image"] = image
    for deviation in (0.1, 0.45, 1.0, 2.0):
        tensors[f"blur/{deviation}"] = gaussian_blur(image, 23, deviation)


def clipped(tensors, start, gradients):
    for name, value in start.items():
        p = torch.nn.Parameter(value.clone())
        p.grad = gradients[name][0].double() * 0.1
        adaptive_clip_grad([p], clip_factor=0.05)
        tensors[f"agc/{name}"] = p.grad


def main():
    # Newton-Schulz in float64 instead of bfloat16: the formula, not its rounding.
    plain = timm_muon.zeropower_via_newtonschulz
    timm_muon.zeropower_via_newtonschulz = lambda *a, **k: plain(*a, **k, dtype=torch.float64)
    generator = torch.Generator().manual_seed(11)
    start = {n: torch.randn(s, dtype=torch.float64, generator=generator) for n, s in SHAPES.items()}
    gradients = {n: torch.randn(STEPS, *s, generator=generator) for n, s in SHAPES.items()}
    tensors = {f"start/{n}": t for n, t in start.items()}
    tensors |= {f"gradient/{n}": t for n, t in gradients.items()}
    for name, make in OPTIMIZERS.items():
        tensors |= {f"{name}/{n}": t for n, t in optimized(make, start, gradients).items()}
    for name, options in SCHEDULES.items():
        tensors[f"epochs/{name}"] = scheduled(options, False)
        tensors[f"updates/{name}"] = scheduled(options, True)
    metrics = [10, 20, 5, 15, 15.0005, 14, 16, 16, 16, 15, 16.1, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10,
               10, 10, 10, 10, 10, 10]
    tensors["plateau/metrics"] = torch.tensor(metrics, dtype=torch.float64)
    tensors["plateau/rates"] = plateau(metrics, 2)
    tensors["ema"] = averaging_factors()
    clipped(tensors, start, gradients)
    losses(tensors, generator)
    class_weights(tensors)
    weighted_cross_entropy(tensors)
    jsd(tensors, generator)
    blurred(tensors, generator)
    small = dict(img_size=32, patch_size=8, num_classes=10, embed_dim=12, depth=3, num_heads=2)
    metadata = {"layers/vit": json.dumps(layer_scales(VisionTransformer(**small))),
                "layers/vit_avg": json.dumps(layer_scales(VisionTransformer(
                    **small, global_pool="avg", class_token=False))),
                "layers/deit": json.dumps(layer_scales(VisionTransformerDistilled(**small))),
                "timm": timm.__version__, "torch": torch.__version__}
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("timm.safetensors")
    save_file({n: t.contiguous() for n, t in tensors.items()}, path, metadata)
    print(f"{path}: {len(tensors)} tensors")


if __name__ == "__main__":
    main()
