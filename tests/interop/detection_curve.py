#!/usr/bin/env python3
"""DETR and Deformable DETR in f32, fovea compared with PyTorch: the same weights and batches of padded pictures.

    PYTHON tests/interop/detection_curve.py [--build build] [--csv PREFIX]    (PYTHON has torch, torchvision and scipy)

First checks the PyTorch models (bench/peer_models/detr.py) on the golden files. Then PyTorch trains each for 500 steps,
as queries of random weights resemble each other: rounding would decide which of them gets an object, and Adam's first
steps depend on the sign of a gradient alone. From there PyTorch takes 100 steps without dropout, and `parity --precision
f32 --dump` takes the same. Fails if a loss differs by more than 1e-3 relative, or if an assignment of objects to queries
costs more than PyTorch's by over 1e-4 of it: other pairs are ties.
"""
import argparse
import pathlib
import sys
import tempfile

import torch

import curves

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/peer_models"))
import detr  # noqa: E402

STEPS, BATCH, CLASSES, OBJECTS, BOUND, TIE, RATE = 100, 4, 5, 3, 1e-3, 1e-4, 1e-4
FIRST_STEPS, FIRST_RATE = 500, 1e-3
SIZES = [(64, 64), (48, 64), (64, 48), (56, 40)]
MODEL = dict(num_classes=CLASSES, num_queries=12, d_model=32, nheads=4, enc_layers=2, dec_layers=2, dim_feedforward=64,
             stem=8, planes=[8, 16], blocks=[1, 1], backbone_norm="batch", train_stem=True, dropout=0.0)


def batches():
    """Noise with one to three filled rectangles, whose colour is their class, in pictures of four sizes."""
    generator = torch.Generator().manual_seed(5)
    height, width = (max(side) for side in zip(*SIZES))
    colours = torch.randn(CLASSES, 3, generator=generator)
    images, padding = torch.zeros(STEPS, BATCH, 3, height, width), torch.ones(STEPS, BATCH, height, width)
    labels, boxes = torch.full((STEPS, BATCH, OBJECTS), -1), torch.full((STEPS, BATCH, OBJECTS, 4), 0.5)
    for step in range(STEPS):
        for b, (h, w) in enumerate(SIZES):
            picture = 0.2 * torch.randn(3, h, w, generator=generator)
            for i in range(1 + int(torch.randint(0, OBJECTS, (1,), generator=generator))):
                size = (0.25 + 0.35 * torch.rand(2, generator=generator)) * torch.tensor([w, h])
                x, y = ((torch.tensor([w, h]) - size) * torch.rand(2, generator=generator)).int().tolist()
                dx, dy = size.int().tolist()
                label = int(torch.randint(0, CLASSES, (1,), generator=generator))
                picture[:, y:y + dy, x:x + dx] += colours[label][:, None, None]
                labels[step, b, i] = label
                boxes[step, b, i] = torch.tensor([(x + dx / 2) / w, (y + dy / 2) / h, dx / w, dy / h])
            images[step, b, :, :h, :w], padding[step, b, :h, :w] = picture, 0
    return {"batch_input": images, "batch_mask": padding, "batch_labels": labels, "batch_boxes": boxes}


class Costs(detr.Criterion):
    """Keeps the matrix of costs of every matching."""

    def __init__(self, family):
        super().__init__(family)
        self.matrices = []

    def match(self, logits, boxes, labels, targets):
        from scipy import optimize
        solve, seen = optimize.linear_sum_assignment, []
        optimize.linear_sum_assignment = lambda cost: seen.append(cost) or solve(cost)
        try:
            pairs = super().match(logits, boxes, labels, targets)
        finally:
            optimize.linear_sum_assignment = solve
        self.matrices.append(seen[0])
        return pairs


def steps(model, criterion, rate, drawn, count):
    """Takes steps with AdamW; yields loss and matching of each."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0)
    for step in range(count):
        x, padding, labels, boxes = (tensor[step % STEPS] for tensor in drawn.values())
        objects = [(labels[b][labels[b] >= 0], boxes[b][labels[b] >= 0]) for b in range(BATCH)]
        loss, _, matches = criterion(*model(x, padding.bool()), objects)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item(), matches


def official(model):
    """The contents of a golden file that hold a model: its parameters and buffers."""
    tensors = {f"param/{n}": p for n, p in model.named_parameters()}
    return tensors | {f"buffer/{n}": b for n, b in model.named_buffers() if b.is_floating_point()}


def train(family, config, model, criterion, named, path):
    """PyTorch's steps, written as a golden file; the costs of the S L B matchings. `named` is a function like official()."""
    drawn, losses, queries = batches(), [], []
    for _ in steps(model, criterion, FIRST_RATE, drawn, FIRST_STEPS):
        pass
    criterion.matrices.clear()
    tensors = {n: x.detach().double().clone() for n, x in named(model).items()}
    for loss, matches in steps(model, criterion, RATE, drawn, STEPS):
        losses.append(loss)
        table = torch.full((len(matches), BATCH, OBJECTS), -1)
        for i, layer in enumerate(matches):
            for b, (q, t) in enumerate(layer):
                table[i, b, t] = q
        queries.append(table)
    config = dict(model=dict(config, family=family, img_size=[64, 64], in_chans=3), optimizer="adamw", betas=[0.9, 0.999],
                  eps=1e-8, weight_decay=0.0, steps=STEPS)
    tensors |= {n: x.double() if x.is_floating_point() else x for n, x in drawn.items()}
    tensors |= {"lr": torch.full((STEPS,), RATE, dtype=torch.float64), "losses": torch.tensor(losses, dtype=torch.float64),
                "queries": torch.stack(queries)}
    curves.write_case(path, tensors, config)
    return criterion.matrices


def other_pairs(ours, theirs, costs):
    """How many matchings differ, and the largest relative cost of that."""
    count, worst = 0, 0.0
    for a, b, cost in zip(ours.flatten(0, 2).long().tolist(), theirs.flatten(0, 2).long().tolist(), costs):
        if a == b:
            continue
        total = [sum(float(cost[query, i]) for i, query in enumerate(q) if query >= 0) for q in (a, b)]
        count, worst = count + 1, max(worst, abs(total[0] - total[1]) / abs(total[1]))
    return count, worst


def compare(case, costs, build, csv=None):
    """Losses and pairs of a case."""
    good, ours, theirs = curves.compare(case, build, BOUND, csv)
    count, gap = other_pairs(ours["queries"], theirs["queries"], costs)
    print(f"{case.stem}: {count} of {len(costs)} assignments differ, at a cost of {gap:.1e} at most")
    return good and gap <= TIE


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--csv", help="write the curves to PREFIX_detr.csv and PREFIX_ddetr.csv")
    options = parser.parse_args()
    files = [path for family in ("detr", "ddetr") for path in sorted((ROOT / "tests/golden").glob(f"{family}_*.safetensors"))]
    if detr.check(files):
        sys.exit("the PyTorch models differ from the golden files")
    torch.set_default_dtype(torch.float32)
    good = True
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for family in ("detr", "ddetr"):
            torch.manual_seed(0)
            model, case = detr.build(family, MODEL).train(), folder / f"{family}.safetensors"
            costs = train(family, MODEL, model, Costs(family), official, case)
            good &= compare(case, costs, options.build, options.csv and f"{options.csv}_{family}.csv")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
