#!/usr/bin/env python3
"""DETR compared with Hugging Face's transformers, which has its own form of model and loss: a second opinion.

    PYTHON tests/interop/detr_transformers.py [--build build]    (PYTHON has torch, torchvision, timm, scipy, transformers)

The model is small, with two stages of timm's ResNet-26. With random weights, outputs, loss and the gradients of all
parameters of a padded batch are compared by `parity` in f64. Then 100 steps in f32 are compared as in detection_curve.py.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import torch
import transformers
import transformers.loss.loss_for_object_detection as object_loss
from safetensors.torch import save_file

import detection_curve as curve

MODEL = dict(curve.MODEL, stem=64, planes=[64, 128], blocks=[2, 2], backbone_norm="frozen", train_stem=False)
NAMES = [(r"^model\.backbone\.model", "backbone.0.body"), (r"^model\.input_projection", "input_proj"),
         (r"^model\.query_position_embeddings", "query_embed"), (r"^model\.(encoder|decoder)", r"transformer.\1"),
         (r"decoder\.layernorm", "decoder.norm"), (r"self_attn_layer_norm", "norm1"),
         (r"encoder_attn_layer_norm", "norm2"), (r"(encoder\.layers\.\d+)\.final_layer_norm", r"\1.norm2"),
         (r"final_layer_norm", "norm3"), (r"encoder_attn\.", "multihead_attn."), (r"o_proj", "out_proj"),
         (r"mlp\.fc", "linear"), (r"^class_labels_classifier", "class_embed"), (r"^bbox_predictor", "bbox_embed")]


def official(named):
    """Tensors under DETR's official names, where one matrix projects queries, keys and values."""
    found, parts = {}, {}
    for name, tensor in named:
        for pattern, to in NAMES:
            name = re.sub(pattern, to, name)
        if match := re.fullmatch(r"(.*)\.([qkv])_proj\.(weight|bias)", name):
            parts.setdefault(f"{match[1]}.in_proj_{match[3]}", {})[match[2]] = tensor
        else:
            found[name] = tensor
    return found | {name: torch.cat([part[which] for which in "qkv"]) for name, part in parts.items()}


def state(model):
    return ({f"param/{n}": p for n, p in official(model.named_parameters()).items()}
            | {f"buffer/{n}": b for n, b in official(model.named_buffers()).items()})


class Detr(torch.nn.Module):
    """transformers' DETR that takes padding as True and returns the predictions of all layers.

    With auxiliary_loss, transformers' decoder layers read the normalised output of the layer before them, unlike the
    official ones. So the model is made without it, and a hook sees the output of each layer.
    """

    def __init__(self):
        super().__init__()
        c = MODEL
        backbone = dict(model_type="timm_backbone", backbone="resnet26", features_only=True, use_pretrained_backbone=False,
                        out_indices=[1, 2])
        self.detr = transformers.DetrForObjectDetection(transformers.DetrConfig(
            backbone_config=backbone, num_labels=c["num_classes"], num_queries=c["num_queries"], d_model=c["d_model"],
            encoder_layers=c["enc_layers"], decoder_layers=c["dec_layers"], encoder_attention_heads=c["nheads"],
            decoder_attention_heads=c["nheads"], encoder_ffn_dim=c["dim_feedforward"],
            decoder_ffn_dim=c["dim_feedforward"], dropout=0.0))
        self.seen = []
        for layer in self.detr.model.decoder.layers:
            layer.register_forward_hook(lambda layer, inputs, output: self.seen.append(output))
        for part in ("conv1", "layer1"):  # as in the official code; transformers trains them in a backbone of timm's
            self.detr.model.backbone.model.get_submodule(part).requires_grad_(False)
        with torch.no_grad():
            for name, norm in self.detr.named_buffers():
                if name.endswith("weight"):
                    norm.copy_(0.5 + 0.2 * torch.rand_like(norm))
                elif name.endswith(("bias", "running_mean")):
                    norm.copy_(0.1 * torch.randn_like(norm))

    def forward(self, x, padding):
        self.seen.clear()
        self.detr.model(x, pixel_mask=(~padding).long())
        hidden = self.detr.model.decoder.layernorm(torch.stack(self.seen))
        return self.detr.class_labels_classifier(hidden), self.detr.bbox_predictor(hidden).sigmoid()


class Criterion:
    """transformers' loss, with the interface of the official one: loss, terms (L, 3), pairs; keeps the matrices of costs."""

    def __init__(self, detr):
        self.detr, self.matrices = detr, []
        self.config = transformers.DetrConfig(**(detr.config.to_dict() | {"auxiliary_loss": True}))

    def __call__(self, logits, boxes, objects):
        labels = [{"class_labels": kinds, "boxes": where} for kinds, where in objects]
        solve, costs, pairs = object_loss.linear_sum_assignment, [], []

        def recorded(cost):
            costs.append(cost)
            pairs.append(tuple(torch.as_tensor(side) for side in solve(cost)))
            return pairs[-1]

        object_loss.linear_sum_assignment = recorded
        try:
            loss, terms, _ = self.detr.loss_function(logits[-1], labels, logits.device, boxes[-1], self.config, logits, boxes)
        finally:
            object_loss.linear_sum_assignment = solve
        # The last layer comes first there.
        last, layers = len(objects), len(logits)
        self.matrices += costs[last:] + costs[:last]
        pairs = pairs[last:] + pairs[:last]
        suffixes = [f"_{i}" for i in range(layers - 1)] + [""]
        parts = torch.stack([torch.stack([terms[f"loss_{term}{suffix}"] for term in ("ce", "bbox", "giou")])
                             for suffix in suffixes])
        return loss, parts, [pairs[i * last:(i + 1) * last] for i in range(layers)]


def compare_gradients(build, folder):
    """Outputs, loss and gradients of a padded batch by `parity`."""
    torch.set_default_dtype(torch.float64)
    model, path = Detr().train(), folder / "gradients.safetensors"
    drawn = {name: tensor[0] for name, tensor in curve.batches().items()}
    labels, boxes = drawn["batch_labels"], drawn["batch_boxes"].double()
    objects = [(labels[b][labels[b] >= 0], boxes[b][labels[b] >= 0]) for b in range(curve.BATCH)]
    x, padding = drawn["batch_input"].double().requires_grad_(), drawn["batch_mask"]
    predicted = model(x, padding.bool())
    loss, parts, pairs = Criterion(model.detr)(*predicted, objects)
    loss.backward()
    tensors = state(model.detr) | {"input": x, "mask": padding.double(), "logits": predicted[0], "boxes": predicted[1],
                                   "loss": loss, "losses": parts, "grad_input": x.grad}
    gradients = [(n, p.grad if p.grad is not None else torch.zeros_like(p)) for n, p in model.detr.named_parameters()
                 if p.requires_grad]
    tensors |= {f"grad/{n}": g for n, g in official(gradients).items()}
    for b, (kinds, where) in enumerate(objects):
        tensors |= {f"target/{b}/labels": kinds, f"target/{b}/boxes": where}
    tensors |= {f"match/{i}/{b}": torch.stack(pair, 1) for i, layer in enumerate(pairs) for b, pair in enumerate(layer)}
    tensors = {n: t.detach().clone().contiguous() for n, t in tensors.items()}
    zero = [n for n, t in tensors.items() if n.startswith("grad/") and t.norm() < 1e-12]
    config = dict(MODEL, sizes=curve.SIZES, boxes=[len(kinds) for kinds, _ in objects])
    save_file(tensors, path, {"format": "fovea-golden-1", "family": "detr", "config": json.dumps(config),
                              "zero_grad": json.dumps([n.removeprefix("grad/") for n in zero]),
                              "notes": f"transformers {transformers.__version__}, f64"})
    return subprocess.run([build / "parity", "--precision", "f64", path], check=False).returncode == 0


def compare_steps(build, folder):
    torch.set_default_dtype(torch.float32)
    model, path = Detr().train(), folder / "detr.safetensors"
    costs = curve.train("detr", MODEL, model, Criterion(model.detr), lambda model: state(model.detr), path)
    return curve.compare(path, costs, build)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=curve.ROOT / "build")
    options = parser.parse_args()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        good = [compare(options.build, folder) for compare in (compare_gradients, compare_steps)]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
