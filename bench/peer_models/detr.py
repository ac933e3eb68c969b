"""DETR in PyTorch, in the form of its official code, with CPVT's detection PEG (algorithm 2); deformable_detr.py has
single-scale Deformable DETR, set_loss.py the matched loss of both.

    detr.py GOLDEN...          compares maps, memory, predictions, matching, losses and gradients with golden files
"""
import math
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torchvision.models.resnet import Bottleneck

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from set_loss import Criterion  # noqa: E402


class FrozenBatchNorm2d(nn.Module):
    def __init__(self, dim):
        super().__init__()
        for name, value in (("weight", 1), ("bias", 0), ("running_mean", 0), ("running_var", 1)):
            self.register_buffer(name, torch.full((dim,), float(value)))

    def forward(self, x):
        scale = self.weight * (self.running_var + 1e-5).rsqrt()
        return x * scale[:, None, None] + (self.bias - self.running_mean * scale)[:, None, None]


class Body(nn.Module):
    """torchvision's ResNet of bottlenecks at any widths."""

    def __init__(self, c):
        super().__init__()
        norm = FrozenBatchNorm2d if c.get("backbone_norm", "frozen") == "frozen" else nn.BatchNorm2d
        self.inplanes = c["stem"]
        self.conv1 = nn.Conv2d(3, c["stem"], 7, 2, 3, bias=False)
        self.bn1 = norm(c["stem"])
        self.stages = len(c["planes"])
        for i, (planes, blocks) in enumerate(zip(c["planes"], c["blocks"])):
            dilated = c.get("dilation", False) and i + 1 == self.stages
            stride = 2 if i > 0 and not dilated else 1
            setattr(self, f"layer{i + 1}", self.stage(planes, blocks, stride, 2 if dilated else 1, norm))
        if not c.get("train_stem", False):
            for part in (self.conv1, self.layer1):
                part.requires_grad_(False)

    def stage(self, planes, blocks, stride, dilation, norm):
        shortcut = None
        if stride != 1 or self.inplanes != 4 * planes:
            shortcut = nn.Sequential(nn.Conv2d(self.inplanes, 4 * planes, 1, stride, bias=False), norm(4 * planes))
        layers = [Bottleneck(self.inplanes, planes, stride, shortcut, norm_layer=norm)]  # keeps dilation 1
        self.inplanes = 4 * planes
        layers += [Bottleneck(self.inplanes, planes, dilation=dilation, norm_layer=norm) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        for i in range(self.stages):
            x = getattr(self, f"layer{i + 1}")(x)
        return x


def sine(mask, dim, shift):
    """mask (B, h, w) is True on padding -> (B, D, h, w)."""
    dtype = torch.get_default_dtype()
    parts = []
    for axis in (1, 2):
        e = (~mask).cumsum(axis, dtype=dtype)
        e = (e + shift) / (e.select(axis, -1).unsqueeze(axis) + 1e-6) * 2 * math.pi
        i = torch.arange(dim // 2, dtype=dtype, device=mask.device)
        angle = e[..., None] / 10000 ** (2 * torch.div(i, 2, rounding_mode="floor") / (dim // 2))
        parts.append(torch.stack((angle[..., 0::2].sin(), angle[..., 1::2].cos()), 4).flatten(3))
    return torch.cat(parts, 3).permute(0, 3, 1, 2)


class Peg(nn.Module):
    def __init__(self, dim, mask_input):
        super().__init__()
        self.proj = nn.Sequential(nn.Conv2d(dim, dim, 3, 1, 1, bias=False, groups=dim), nn.BatchNorm2d(dim), nn.ReLU())
        self.mask_input = mask_input

    def forward(self, x, mask):
        """x (B, N, D), mask (B, h, w)."""
        flat = mask.flatten(1)[..., None]
        seen = x.masked_fill(flat, 0) if self.mask_input else x
        y = self.proj(seen.transpose(1, 2).unflatten(2, mask.shape[1:])).flatten(2).transpose(1, 2) + x
        return torch.where(flat, x, y)


class Pegs(nn.Module):
    """The PEGs of an encoder by layer: peg, peg.1, ..."""

    def __init__(self, c):
        super().__init__()
        self.positions = c.get("peg_positions", [0])
        first, mask_input = None, c.get("peg_mask_input", False)
        for i in range(len(self.positions)):
            peg = Peg(c["d_model"], mask_input)
            if first is None:
                first = self.first = peg
            else:
                first.add_module(str(i), peg)

    def after(self, layer, x, mask):
        for i, position in enumerate(self.positions):
            if position == layer:
                x = (self.first if i == 0 else self.first.get_submodule(str(i)))(x, mask)
        return x


def attention(c):
    return nn.MultiheadAttention(c["d_model"], c["nheads"], c.get("dropout", 0), batch_first=True)


class Layer(nn.Module):
    """What all layers have: the perceptron, norms, dropout."""

    def __init__(self, c, norms):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(c["d_model"], c["dim_feedforward"]), nn.Linear(c["dim_feedforward"], c["d_model"])
        for i in range(norms):
            setattr(self, f"norm{i + 1}", nn.LayerNorm(c["d_model"]))
        self.rate, self.pre_norm = c.get("dropout", 0), c.get("pre_norm", False)

    def drop(self, x):
        return F.dropout(x, self.rate, self.training)

    def mlp(self, x):
        return self.drop(self.linear2(self.drop(F.relu(self.linear1(x)))))


class EncoderLayer(Layer):
    def __init__(self, c):
        super().__init__(c, 2)
        self.self_attn = attention(c)

    def attend(self, x, pos, mask):
        q = x + pos
        return self.drop(self.self_attn(q, q, x, key_padding_mask=mask, need_weights=False)[0])

    def forward(self, x, pos, mask):
        if self.pre_norm:
            x = x + self.attend(self.norm1(x), pos, mask)
            return x + self.mlp(self.norm2(x))
        x = self.norm1(x + self.attend(x, pos, mask))
        return self.norm2(x + self.mlp(x))


class DecoderLayer(Layer):
    def __init__(self, c):
        super().__init__(c, 3)
        self.self_attn, self.multihead_attn = attention(c), attention(c)

    def among(self, x, query):
        q = x + query
        return self.drop(self.self_attn(q, q, x, need_weights=False)[0])

    def look(self, x, query, memory, pos, mask):
        return self.drop(self.multihead_attn(x + query, memory + pos, memory, key_padding_mask=mask, need_weights=False)[0])

    def forward(self, x, query, memory, pos, mask):
        if self.pre_norm:
            x = x + self.among(self.norm1(x), query)
            x = x + self.look(self.norm2(x), query, memory, pos, mask)
            return x + self.mlp(self.norm3(x))
        x = self.norm1(x + self.among(x, query))
        x = self.norm2(x + self.look(x, query, memory, pos, mask))
        return self.norm3(x + self.mlp(x))


def stack(layers, c):
    """An encoder or a decoder."""
    module = nn.Module()
    module.layers = nn.ModuleList(layers)
    return module


class Transformer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.encoder = stack([EncoderLayer(c) for _ in range(c["enc_layers"])], c)
        self.decoder = stack([DecoderLayer(c) for _ in range(c["dec_layers"])], c)
        if c.get("pre_norm", False):
            self.encoder.norm = nn.LayerNorm(c["d_model"])
        self.decoder.norm = nn.LayerNorm(c["d_model"])
        self.positions = c.get("encoder_pos", "sine")
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)
        self.pegs = None
        if self.positions == "peg":
            pegs = Pegs(c)
            self.encoder.peg, self.pegs = pegs.first, [pegs]  # a list: its parameters have one name

    def forward(self, x, pos, mask, queries, tap):
        """x, pos (B, D, h, w), mask (B, h, w)."""
        x, pos, keys = x.flatten(2).transpose(1, 2), pos.flatten(2).transpose(1, 2), mask.flatten(1)
        added = pos if self.positions == "sine" else torch.zeros_like(pos)
        keys = keys if keys.any() else None
        after = self.pegs[0].after if self.pegs else lambda layer, x, mask: x
        x = after(-1, x, mask)
        for i, layer in enumerate(self.encoder.layers):
            x = after(i, layer(x, added, keys), mask)
        if hasattr(self.encoder, "norm"):
            x = self.encoder.norm(x)
        tap("feat/memory", x)
        out, found = torch.zeros(len(x), *queries.shape, dtype=x.dtype, device=x.device), []
        for layer in self.decoder.layers:
            out = layer(out, queries, x, pos, keys)
            found.append(self.decoder.norm(out))
        return torch.stack(found)


class Mlp(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, 4)])

    def forward(self, x):
        return self.layers[2](F.relu(self.layers[1](F.relu(self.layers[0](x)))))


class Detector(nn.Module):
    """The backbone under its official name, and the mask of its map."""

    def __init__(self, c):
        super().__init__()
        self.config = {"dropout": 0.1} | c
        joint = nn.Module()
        joint.body = Body(c)
        self.backbone = nn.ModuleList([joint])

    def map(self, x, mask, tap):
        x = self.backbone[0].body(x)
        tap("feat/backbone", x)
        return x, F.interpolate(mask[None].float(), x.shape[-2:])[0].bool()

    @staticmethod
    def no_tap(name, value):
        pass


class Detr(Detector):
    """c has the keys of the golden files; mask (B, H, W) is True on padding."""

    def __init__(self, c):
        super().__init__(c)
        c, dim = self.config, c["d_model"]
        self.input_proj = nn.Conv2d(4 * c["planes"][-1], dim, 1)
        self.transformer = Transformer(c)
        self.query_embed = nn.Embedding(c["num_queries"], dim)
        self.class_embed, self.bbox_embed = nn.Linear(dim, c["num_classes"] + 1), Mlp(dim)

    def forward(self, x, mask, tap=None):
        tap = tap or self.no_tap
        x, mask = self.map(x, mask, tap)
        x, pos = self.input_proj(x), sine(mask, self.config["d_model"], 0).to(x.dtype)
        tap("feat/proj", x)
        tap("feat/pos", pos)
        x = self.transformer(x, pos, mask, self.query_embed.weight, tap)
        return self.class_embed(x), self.bbox_embed(x).sigmoid()


def build(family, config):
    from deformable_detr import DeformableDetr
    return (DeformableDetr if family == "ddetr" else Detr)(config)


RESNET50 = dict(num_classes=91, num_queries=100, d_model=256, nheads=8, enc_layers=6, dec_layers=6, dim_feedforward=2048,
                stem=64, planes=[64, 128, 256, 512], blocks=[3, 4, 6, 3])


def subject(make, command, shape):
    """DETR-R50 on images without padding, with seven random objects each."""
    model, criterion, device = Detr(RESNET50), Criterion("detr"), torch.device(command["device"])
    mask = torch.zeros(command["batch"], *shape[1:], dtype=torch.bool, device=device)
    objects = []
    for _ in range(command["batch"]):
        size = 0.1 + 0.5 * torch.rand(7, 2)
        boxes = torch.cat([size / 2 + (1 - size) * torch.rand(7, 2), size], 1)
        objects.append((torch.randint(0, 91, (7,), device=device), boxes.to(device)))
    return make(model, shape, lambda images: model(images, mask), lambda images: criterion(*model(images, mask), objects)[0])


def outputs(family, model, config, golden):
    """All contents of a golden file by name, computed by this model."""
    x, mask = golden["input"].clone().requires_grad_(), golden["mask"].bool()
    objects = [tuple(golden.get(f"target/{b}/{what}", empty) for what, empty in
                     (("labels", torch.zeros(0, dtype=torch.long)), ("boxes", x.new_zeros(0, 4)))) for b in range(len(x))]
    with torch.no_grad():
        logits, boxes = model.eval()(x, mask)
        found = {"logits_eval": logits[-1], "boxes_eval": boxes[-1]}
    logits, boxes = model.train()(x, mask, lambda name, value: found.__setitem__(name, value))
    criterion = Criterion(family, config.get("eos_coef", 0.1), config.get("focal_alpha", 0.25))
    loss, parts, matches = criterion(logits, boxes, objects)
    loss.backward()
    found |= {"logits": logits, "boxes": boxes, "loss": loss, "losses": parts, "grad_input": x.grad}
    found |= {f"match/{i}/{b}": torch.stack(pair, 1) for i, layer in enumerate(matches)
              for b, pair in enumerate(layer) if len(pair[0])}
    found |= {"buffer_after/" + k: v for k, v in model.named_buffers() if "running" in k and "encoder.peg" in k}
    found |= {"grad/" + k: p.grad for k, p in model.named_parameters() if p.grad is not None}
    return {k: v.detach().clone().contiguous() for k, v in found.items()}


def check(paths):
    """Main function: the exit code is 1 for errors above 1e-9 and for other pairs."""
    from golden import difference, read, report
    from safetensors import safe_open
    torch.set_default_dtype(torch.float64)
    errors = []
    for path in paths:
        with safe_open(path, "pt") as f:
            family = f.metadata()["family"]
        config, zero, golden = read(path)
        model = build(family, config | {"dropout": 0}).double()
        state = {k.split("/", 1)[1]: v for k, v in golden.items() if k.startswith(("param/", "buffer/"))}
        missing, unexpected = model.load_state_dict(state, strict=False)
        assert not unexpected and all(k.endswith("num_batches_tracked") for k in missing), (missing, unexpected)
        ours = outputs(family, model, config, golden)
        lost = [k for k in golden if k.split("/")[0] not in ("param", "buffer", "input", "mask", "target") and k not in ours]
        assert not lost, lost
        assert all(torch.equal(ours[k], v) for k, v in golden.items() if k.startswith("match/")), path
        real = {k: v for k, v in golden.items() if k in ours and v.is_floating_point()}
        assert all(ours[k].count_nonzero() == 0 for k, v in real.items() if v.count_nonzero() == 0), path
        errors.append(difference(ours, {k: v for k, v in real.items() if v.count_nonzero() > 0}, zero))
    return report(errors)


if __name__ == "__main__":
    sys.exit(check(sys.argv[1:]))
