"""The matched loss of DETR and Deformable DETR in PyTorch."""
import torch
import torch.nn.functional as F


def corners(boxes):
    centre, size = boxes.split(2, -1)
    return torch.cat([centre - size / 2, centre + size / 2], -1)


def giou(a, b):
    """Of every pair: corners (N, 4), (M, 4) -> (N, M)."""
    a, b = a[:, None], b[None]
    inside = (torch.min(a[..., 2:], b[..., 2:]) - torch.max(a[..., :2], b[..., :2])).clamp(min=0).prod(-1)
    union = (a[..., 2:] - a[..., :2]).prod(-1) + (b[..., 2:] - b[..., :2]).prod(-1) - inside
    hull = (torch.max(a[..., 2:], b[..., 2:]) - torch.min(a[..., :2], b[..., :2])).prod(-1)
    return inside / union - (hull - union) / hull


class Criterion:
    """The matched loss of `family` detr or ddetr."""

    def __init__(self, family, eos_coef=0.1, alpha=0.25):
        self.focal, self.eos_coef, self.alpha = family == "ddetr", eos_coef, alpha
        self.class_weight = 2 if self.focal else 1

    def match(self, logits, boxes, labels, targets):
        """Queries and objects of one image, by ascending query."""
        from scipy.optimize import linear_sum_assignment
        with torch.no_grad():
            if self.focal:
                p = logits.sigmoid()
                cost = 0.25 * (1 - p) ** 2 * -(p + 1e-8).log() - 0.75 * p**2 * -(1 - p + 1e-8).log()
            else:
                cost = -logits.softmax(-1)
            cost = self.class_weight * cost[:, labels] + 5 * torch.cdist(boxes, targets, p=1) - 2 * giou(
                corners(boxes), corners(targets))
        return [torch.as_tensor(side) for side in linear_sum_assignment(cost.cpu())]

    def layer(self, logits, boxes, objects, given=None):
        """The three terms of a layer, and its pairs."""
        B, Q, C = logits.shape
        count = max(1, sum(len(labels) for labels, _ in objects))
        classes = torch.full((B, Q), C if self.focal else C - 1, device=logits.device)
        l1 = overlap = logits.sum() * 0
        pairs = []
        for b, (labels, targets) in enumerate(objects):
            q, t = given[b] if given else self.match(logits[b], boxes[b], labels, targets)
            pairs.append((q, t))
            classes[b, q] = labels[t]
            l1 = l1 + (boxes[b, q] - targets[t]).abs().sum() / count
            overlap = overlap + (1 - giou(corners(boxes[b, q]), corners(targets[t])).diag()).sum() / count
        if self.focal:
            goal = F.one_hot(classes, C + 1)[..., :-1].to(logits.dtype)
            p, ce = logits.sigmoid(), F.binary_cross_entropy_with_logits(logits, goal, reduction="none")
            p_t = p * goal + (1 - p) * (1 - goal)
            weight = self.alpha * goal + (1 - self.alpha) * (1 - goal)
            kind = (weight * ce * (1 - p_t) ** 2).sum() / count
        else:
            weight = torch.ones(C, dtype=logits.dtype, device=logits.device)
            weight[-1] = self.eos_coef
            kind = F.cross_entropy(logits.transpose(1, 2), classes, weight)
        return torch.stack([kind, l1, overlap]), pairs

    def __call__(self, logits, boxes, objects, given=None):
        """The weighted sum, the terms (L, 3), and the pairs of each layer."""
        layers = [self.layer(logits[i], boxes[i], objects, given and given[i]) for i in range(len(logits))]
        parts = torch.stack([part for part, _ in layers])
        return (parts * parts.new_tensor([self.class_weight, 5, 2])).sum(), parts, [pairs for _, pairs in layers]
