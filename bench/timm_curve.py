#!/usr/bin/env python3
"""Trains timm's ViT on CIFAR-10 with the recipe of recipes/cifar.json, by PyTorch and timm alone:
their augmentations, mixing, optimizer and schedule. Writes OUT/log.csv in the columns of a run, so
that `./run compare` puts it beside ours. bench/timm_curve.sh runs both sides.

    timm_curve.py OUT --data-dir DIR [--seed 42] [--epochs 4] [--warmup-epochs 1] [--embed-dim 64]
                  [--depth 4] [--num-heads 2] [--threads 1]          needs torch and timm
"""
import argparse
import csv
import pathlib
import time

import numpy as np
import timm
import torch
import torch.nn.functional as F
from PIL import Image, ImageOps
from timm.data.auto_augment import rand_augment_transform
from timm.data.mixup import Mixup
from timm.data.random_erasing import RandomErasing
from timm.loss import SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from torchvision import transforms as T

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
BATCH = 128
COLUMNS = ["epoch", "train_loss", "eval_loss", "eval_top1", "eval_top5", "lr", "ema_loss", "ema_top1",
           "ema_top5", "img_s", "seconds"]


def read_cifar(folder, names):
    """Images [N, 32, 32, 3] u8 and labels."""
    raw = np.concatenate([np.fromfile(folder / name, np.uint8).reshape(-1, 3073) for name in names])
    return raw[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), raw[:, 0].astype(np.int64)


class Pictures(torch.utils.data.Dataset):
    def __init__(self, images, labels, transform):
        self.images, self.labels, self.transform = images, labels, transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.transform(Image.fromarray(self.images[index])), int(self.labels[index])


def posterize(image, bits, strict=ImageOps.posterize):
    """Newer Pillow versions reject 0 bits, which magnitudes near 10 require; older ones give black."""
    return strict(image, bits) if bits > 0 else image.point(lambda _: 0)


def cutmix_box(shape, lam, margin=0.0, count=None):
    """The cutmix box of the papers' timm version and of fovea, with sides 2 (cut // 2); newer ones keep odd sides."""
    ratio = np.sqrt(1 - lam)
    edges = []
    for side in shape[-2:]:
        half, centre = int(side * ratio) // 2, np.random.randint(0, side, size=count)
        edges += [np.clip(centre - half, 0, side), np.clip(centre + half, 0, side)]
    return edges


def training_transform():
    ImageOps.posterize = posterize
    fill = tuple(round(255 * m) for m in MEAN)
    policy = rand_augment_transform("rand-m9-mstd0.5-inc1", {
        "translate_const": int(32 * 0.45), "img_mean": fill, "interpolation": Image.Resampling.BICUBIC})
    return T.Compose([T.RandomCrop(32, padding=4), T.RandomHorizontalFlip(), policy, T.ToTensor(),
                      T.Normalize(MEAN, STD), RandomErasing(0.25, mode="pixel", device="cpu")])


def evaluate(model, images, labels):
    model.eval()
    x = (torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255 - torch.tensor(MEAN)[:, None, None]) \
        / torch.tensor(STD)[:, None, None]
    target = torch.from_numpy(labels)
    with torch.no_grad():
        z = torch.cat([model(part) for part in x.split(250)])
    ranks = z.argsort(1, descending=True)
    hit = ranks == target[:, None]
    return F.cross_entropy(z, target).item(), 100 * hit[:, 0].float().mean().item(), \
        100 * hit[:, :5].any(1).float().mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--data-dir", type=pathlib.Path, required=True)
    for flag, value in (("seed", 42), ("epochs", 4), ("embed-dim", 64), ("depth", 4), ("num-heads", 2), ("threads", 1)):
        parser.add_argument("--" + flag, type=int, default=value)
    parser.add_argument("--warmup-epochs", type=float, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    timm.utils.random_seed(args.seed)

    train = read_cifar(args.data_dir, [f"data_batch_{i}.bin" for i in range(1, 6)])
    test = read_cifar(args.data_dir, ["test_batch.bin"])
    loader = torch.utils.data.DataLoader(Pictures(*train, training_transform()), BATCH, shuffle=True, drop_last=True,
                                         num_workers=1)
    model = timm.models.VisionTransformer(img_size=32, patch_size=4, num_classes=10, embed_dim=args.embed_dim,
                                          depth=args.depth, num_heads=args.num_heads, drop_path_rate=0.1)
    timm.data.mixup.rand_bbox = cutmix_box
    mixup = Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, label_smoothing=0.1, num_classes=10)
    peak = 1e-3 * BATCH / 512
    optimizer = create_optimizer_v2(model, "adamw", lr=peak, weight_decay=0.05, betas=(0.9, 0.999), eps=1e-8)
    steps = len(loader)
    schedule = CosineLRScheduler(optimizer, t_initial=args.epochs * steps, lr_min=1e-5, warmup_lr_init=1e-6,
                                 warmup_t=int(args.warmup_epochs * steps), t_in_epochs=False)
    loss_of = SoftTargetCrossEntropy()
    args.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for epoch in range(args.epochs):
        start, total = time.perf_counter(), 0.0
        model.train()
        for i, (images, labels) in enumerate(loader):
            schedule.step_update(epoch * steps + i)
            images, targets = mixup(images, labels)
            loss = loss_of(model(images), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        seconds = time.perf_counter() - start
        eval_loss, top1, top5 = evaluate(model, *test)
        row = dict.fromkeys(COLUMNS, "") | {
            "epoch": epoch, "train_loss": total / steps, "eval_loss": eval_loss, "eval_top1": round(top1, 4),
            "eval_top5": round(top5, 4), "lr": optimizer.param_groups[0]["lr"],
            "img_s": steps * BATCH / seconds, "seconds": time.perf_counter() - start}
        rows.append(row)
        print(f"seed {args.seed} epoch {epoch + 1} loss {row['train_loss']:.4f} top-1 {top1:.2f} %", flush=True)
        with open(args.out / "log.csv", "w", newline="") as f:
            writer = csv.DictWriter(f, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
