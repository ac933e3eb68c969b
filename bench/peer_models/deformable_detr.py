"""Single-scale Deformable DETR in PyTorch, in the form of its official code; detr.py checks it on golden files."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from detr import Detector, Layer, Mlp, Pegs, attention, sine, stack


class MSDeformAttn(nn.Module):
    def __init__(self, dim, heads, points):
        super().__init__()
        self.heads, self.points = heads, points
        self.value_proj, self.output_proj = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.sampling_offsets = nn.Linear(dim, heads * points * 2)
        self.attention_weights = nn.Linear(dim, heads * points)

    def start(self):
        nn.init.zeros_(self.sampling_offsets.weight)
        angle = torch.arange(self.heads, dtype=torch.float32) * (2 * math.pi / self.heads)
        grid = torch.stack([angle.cos(), angle.sin()], -1)
        grid = (grid / grid.abs().max(-1, keepdim=True)[0])[:, None] * torch.arange(1, self.points + 1)[:, None]
        with torch.no_grad():
            self.sampling_offsets.bias.copy_(grid.flatten())
        for layer in (self.attention_weights,):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)
        for layer in (self.value_proj, self.output_proj):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, query, reference, memory, mask):
        """query (B, Q, D), reference (B, Q, 2) relative to the map, memory (B, N, D), mask (B, h, w)."""
        B, Q, D = query.shape
        h, w = mask.shape[1:]
        value = self.value_proj(memory).masked_fill(mask.flatten(1)[..., None], 0)
        value = value.view(B, h, w, self.heads, -1).permute(0, 3, 4, 1, 2).flatten(0, 1)  # (B H, d, h, w)
        offset = self.sampling_offsets(query).view(B, Q, self.heads, self.points, 2)
        weight = self.attention_weights(query).view(B, Q, self.heads, self.points).softmax(-1)
        where = reference[:, :, None, None] + offset / offset.new_tensor([w, h])
        grid = (2 * where - 1).transpose(1, 2).flatten(0, 1)  # (B H, Q, P, 2)
        sampled = F.grid_sample(value, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
        out = (sampled * weight.transpose(1, 2).flatten(0, 1)[:, None]).sum(-1)  # (B H, d, Q)
        return self.output_proj(out.view(B, D, Q).transpose(1, 2))


class DeformableEncoderLayer(Layer):
    def __init__(self, c):
        super().__init__(c, 2)
        self.self_attn = MSDeformAttn(c["d_model"], c["nheads"], c.get("enc_n_points", 4))

    def forward(self, x, pos, reference, mask):
        x = self.norm1(x + self.drop(self.self_attn(x + pos, reference, x, mask)))
        return self.norm2(x + self.mlp(x))


class DeformableDecoderLayer(Layer):
    def __init__(self, c):
        super().__init__(c, 3)
        self.cross_attn = MSDeformAttn(c["d_model"], c["nheads"], c.get("dec_n_points", 4))
        self.self_attn = attention(c)

    def forward(self, x, query, reference, memory, mask):
        q = x + query
        x = self.norm2(x + self.drop(self.self_attn(q, q, x, need_weights=False)[0]))
        x = self.norm1(x + self.drop(self.cross_attn(x + query, reference, memory, mask)))
        return self.norm3(x + self.mlp(x))


class DeformableTransformer(nn.Module):
    def __init__(self, c):
        super().__init__()
        dim = c["d_model"]
        self.encoder = stack([DeformableEncoderLayer(c) for _ in range(c["enc_layers"])], c)
        self.decoder = stack([DeformableDecoderLayer(c) for _ in range(c["dec_layers"])], c)
        self.level_embed = nn.Parameter(torch.zeros(1, dim))
        self.reference_points = nn.Linear(dim, 2)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)
        for module in self.modules():
            if isinstance(module, MSDeformAttn):
                module.start()
        nn.init.zeros_(self.reference_points.bias)
        nn.init.normal_(self.level_embed)
        self.pegs = None
        if c.get("encoder_pos", "sine") == "peg":
            pegs = Pegs(c)
            self.encoder.peg, self.pegs = pegs.first, [pegs]

    def forward(self, x, pos, mask, queries, tap):
        (B, D, h, w), dtype = x.shape, x.dtype
        free = ~mask
        ratio = torch.stack([free[:, 0].sum(1) / w, free[:, :, 0].sum(1) / h], -1).to(dtype)  # (B, 2)
        y, x_ = torch.meshgrid(*(torch.arange(n, dtype=dtype, device=x.device) + 0.5 for n in (h, w)), indexing="ij")
        centre = torch.stack([x_.flatten(), y.flatten()], -1)[None] / (ratio[:, None] * ratio.new_tensor([w, h]))
        centre = centre * ratio[:, None]
        x, pos = x.flatten(2).transpose(1, 2), pos.flatten(2).transpose(1, 2) + self.level_embed
        after = self.pegs[0].after if self.pegs else lambda layer, x, mask: x
        x = after(-1, x, mask)
        for i, layer in enumerate(self.encoder.layers):
            x = after(i, layer(x, pos, centre, mask), mask)
        tap("feat/memory", x)
        query, out = (part[None].expand(B, -1, -1) for part in queries.split(D, 1))
        reference, found = self.reference_points(query).sigmoid(), []
        for layer in self.decoder.layers:
            out = layer(out, query, reference * ratio[:, None], x, mask)
            found.append(out)
        return torch.stack(found), reference


def inverse_sigmoid(x):
    return (x.clamp(1e-5, 1) / (1 - x).clamp(1e-5, 1)).log()


class DeformableDetr(Detector):
    """Heads are made once and serve all layers."""

    def __init__(self, c):
        super().__init__(c)
        c, dim = self.config, c["d_model"]
        self.input_proj = nn.ModuleList([nn.Sequential(nn.Conv2d(4 * c["planes"][-1], dim, 1), nn.GroupNorm(32, dim))])
        self.transformer = DeformableTransformer(c)
        self.query_embed = nn.Embedding(c["num_queries"], 2 * dim)
        self.class_embed = nn.ModuleList([nn.Linear(dim, c["num_classes"])])
        self.bbox_embed = nn.ModuleList([Mlp(dim)])
        nn.init.xavier_uniform_(self.input_proj[0][0].weight)
        nn.init.zeros_(self.input_proj[0][0].bias)
        nn.init.constant_(self.class_embed[0].bias, -math.log(99))
        last = self.bbox_embed[0].layers[2]
        nn.init.zeros_(last.weight)
        with torch.no_grad():
            last.bias.copy_(torch.tensor([0.0, 0.0, -2.0, -2.0]))

    def forward(self, x, mask, tap=None):
        tap, dim = tap or self.no_tap, self.config["d_model"]
        x, mask = self.map(x, mask, tap)
        x = self.input_proj[0](x)
        tap("feat/proj", x)
        has_sine = self.config.get("encoder_pos", "sine") == "sine"
        pos = sine(mask, dim, -0.5).to(x.dtype) if has_sine else torch.zeros_like(x)
        tap("feat/pos", pos)
        x, reference = self.transformer(x, pos, mask, self.query_embed.weight, tap)
        moved = self.bbox_embed[0](x)
        moved = torch.cat([moved[..., :2] + inverse_sigmoid(reference), moved[..., 2:]], -1)
        return self.class_embed[0](x), moved.sigmoid()
