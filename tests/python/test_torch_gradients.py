"""Gradients beside PyTorch's, in f64, to 1e-12: ten ops written in Python, and thirty drawn expressions."""
import unittest

import numpy as np

import fovea
from fovea import ops

try:
    import torch
    from torch.nn import functional as theirs
except ImportError:
    torch = None

BOUND = 1e-12
OWN = {}  # name: our op, the same in PyTorch, shapes of its inputs


def own(reference, *shapes):
    """A function of tensors that gives (output, saved, derivative) becomes an op on the tape."""
    def keep(f):
        def op(*inputs):
            with fovea.no_grad():
                output, saved, derivative = f(*inputs)
            return fovea.record(f.__name__, output, list(inputs), saved, derivative)
        OWN[f.__name__] = op, reference, shapes
        return op
    return keep


@own(lambda x: theirs.mish(x), (3, 5))
def mish(x):
    def backward(dy, x):
        t = fovea.tanh(ops.softplus(x))
        return dy * (t + (x - x * t * t) * fovea.sigmoid(x))
    return x * fovea.tanh(ops.softplus(x)), [x], backward


@own(lambda x: theirs.softsign(x), (7,))
def softsign(x):
    return x / (abs(x) + 1), [x], lambda dy, x: dy / (abs(x) + 1) ** 2


@own(lambda x: torch.relu(x) ** 2, (4, 3))
def squared_relu(x):
    return fovea.relu(x) ** 2, [x], lambda dy, x: dy * fovea.relu(x) * 2


@own(lambda x: torch.logsumexp(x, -1), (4, 6))
def log_sum_exp(x):
    y = fovea.log(fovea.exp(x - x.amax(1, keepdim=True)).sum(1)) + x.amax(1)
    return y, [x, y], lambda dy, x, y: dy[:, None] * fovea.exp(x - y[:, None])


@own(lambda a, b: theirs.silu(a) * b, (3, 4), (3, 4))
def swiglu(a, b):
    def backward(dy, a, b):
        s = fovea.sigmoid(a)
        return dy * b * (s + a * s * (1 - s)), dy * a * s
    return a * fovea.sigmoid(a) * b, [a, b], backward


@own(lambda a, b: theirs.cosine_similarity(a, b), (5, 4), (5, 4))
def cosine(a, b):
    def parts(a, b):
        return fovea.sqrt((a * a).sum(1, keepdim=True)), fovea.sqrt((b * b).sum(1, keepdim=True))

    def backward(dy, a, b, y):
        (p, q), dy, y = parts(a, b), dy[:, None], y[:, None]
        return dy * (b / (p * q) - y * a / p ** 2), dy * (a / (p * q) - y * b / q ** 2)
    p, q = parts(a, b)
    y = (a * b / (p * q)).sum(1)
    return y, [a, b, y], backward


@own(lambda x, target: theirs.smooth_l1_loss(x, target, reduction="none"), (6, 2), (6, 2))
def smooth_l1(x, target):
    d = x - target
    y = fovea.where(abs(d) < 1, d * d / 2, abs(d) - 0.5)
    return y, [d], lambda dy, d: (dy * fovea.clamp(d, -1, 1), dy * fovea.clamp(d, -1, 1) * -1)


@own(lambda x, w, y: torch.einsum("ni,ij,nj->n", x, w, y), (5, 3), (3, 4), (5, 4))
def bilinear(x, w, y):
    def backward(dy, x, w, y):
        dy = dy[:, None]
        return dy * (y @ w.T), (x * dy).T @ y, dy * (x @ w)
    return ((x @ w) * y).sum(1), [x, w, y], backward


@own(lambda a, b: torch.outer(a, b), (4,), (3,))
def outer(a, b):
    return a[:, None] * b, [a, b], lambda dy, a, b: ((dy * b).sum(1), (dy * a[:, None]).sum(0))


@own(lambda x: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6), (3, 8))
def root_mean_square(x):
    def backward(dy, x):
        r = fovea.ops.rsqrt((x * x).mean(1, keepdim=True) + 1e-6)
        return r * dy - x * r ** 3 * (dy * x).mean(1, keepdim=True)
    return x * ops.rsqrt((x * x).mean(1, keepdim=True) + 1e-6), [x], backward


# What expressions are drawn from: ours and PyTorch's on [4, 4], with values and slopes of moderate size.
ONE = [(fovea.tanh, lambda x: torch.tanh(x)), (fovea.sigmoid, lambda x: torch.sigmoid(x)), (fovea.sin, lambda x: torch.sin(x)),
       (fovea.gelu, lambda x: theirs.gelu(x)), (ops.softplus, lambda x: theirs.softplus(x)), (lambda x: abs(x), lambda x: abs(x)),
       (lambda x: fovea.exp(x * -0.5), lambda x: torch.exp(x * -0.5)), (lambda x: fovea.sqrt(x * x + 1), lambda x: torch.sqrt(x * x + 1)),
       (lambda x: fovea.softmax(x, 1), lambda x: torch.softmax(x, 1)), (lambda x: x.T, lambda x: x.T),
       (lambda x: x.mean(1, keepdim=True).expand(4, 4), lambda x: x.mean(1, keepdim=True).expand(4, 4)),
       (lambda x: fovea.cat([x[2:], x[:2]], 0), lambda x: torch.cat([x[2:], x[:2]], 0)),
       (lambda x: x - x.amax(0), lambda x: x - x.amax(0)), (lambda x: x.reshape(2, 8).reshape(4, 4), lambda x: x.reshape(2, 8).reshape(4, 4)),
       (lambda x: fovea.layer_norm(x), lambda x: theirs.layer_norm(x, (4,), eps=1e-6))]
TWO = [(lambda a, b: a + b,) * 2, (lambda a, b: a - b,) * 2, (lambda a, b: a * b,) * 2, (lambda a, b: a @ b / 4,) * 2,
       (lambda a, b: a / (b * b + 1),) * 2, (fovea.maximum, lambda a, b: torch.maximum(a, b)), (lambda a, b: a + b[1],) * 2,
       (lambda a, b: a * b[:, 2:3],) * 2]


def drawn_expression(rng, depth):
    """A tree as a function of three leaves: (ours, PyTorch's)."""
    if depth == 0:
        leaf = int(rng.integers(3))
        return (lambda leaves: leaves[leaf],) * 2
    if rng.random() < 0.5:
        inner, (ours, torchs) = drawn_expression(rng, depth - 1), ONE[rng.integers(len(ONE))]
        return lambda leaves: ours(inner[0](leaves)), lambda leaves: torchs(inner[1](leaves))
    left, right, (ours, torchs) = drawn_expression(rng, depth - 1), drawn_expression(rng, depth - 1), TWO[rng.integers(len(TWO))]
    return lambda leaves: ours(left[0](leaves), right[0](leaves)), lambda leaves: torchs(left[1](leaves), right[1](leaves))


@unittest.skipIf(torch is None, "SKIPPED: PyTorch is not installed")
class Gradients(unittest.TestCase):
    def compare(self, ours, reference, arrays, rng):
        """Values and all gradients for a random cotangent."""
        mine = [fovea.tensor(array, requires_grad=True) for array in arrays]
        others = [torch.tensor(array, requires_grad=True) for array in arrays]
        y, expected = ours(mine), reference(others)
        dy = rng.normal(size=y.shape)
        y.backward(fovea.tensor(dy))
        expected.backward(torch.tensor(dy))
        self.near(y.detach(), expected.detach())
        for x, other in zip(mine, others):
            self.assertEqual(x.grad is None, other.grad is None)
            if x.grad is not None:
                self.near(x.grad, other.grad)

    def near(self, x, expected):
        x, expected = x.numpy(), expected.numpy()
        self.assertEqual(x.shape, expected.shape)
        scale = max(np.linalg.norm(expected), 1)  # leaves are of size 1; some gradients cancel to nearly 0
        self.assertLessEqual(np.linalg.norm(x - expected), BOUND * scale)

    def test_ten_ops_written_in_python(self):
        self.assertEqual(len(OWN), 10)
        for name, (op, reference, shapes) in OWN.items():
            for seed in range(3):
                rng = np.random.default_rng(seed)
                with self.subTest(op=name, seed=seed):
                    self.compare(lambda x: op(*x), lambda x: reference(*x), [rng.normal(size=shape) for shape in shapes], rng)

    def test_ten_ops_pass_our_own_check(self):
        for name, (op, _, shapes) in OWN.items():
            inputs = [fovea.randn(*shape, seed=i + 1, dtype=fovea.f64, requires_grad=True) for i, shape in enumerate(shapes)]
            result = fovea.gradcheck(op, inputs, has_kinks=True)
            self.assertTrue(result, f"{name}: {result.message}")

    def test_thirty_drawn_expressions(self):
        for seed in range(30):
            rng = np.random.default_rng(seed)
            ours, reference = drawn_expression(rng, 5)
            with self.subTest(seed=seed):
                self.compare(lambda x: ours(x), lambda x: reference(x), [rng.normal(size=(4, 4)) for _ in range(3)], rng)

    def test_own_ops_inside_an_expression(self):
        def expression(namespace, leaves):
            x, w, y = leaves
            f = {name: entry[namespace] for name, entry in OWN.items()}
            return f["bilinear"](f["mish"](x), f["swiglu"](w, f["root_mean_square"](w)), f["softsign"](y) * y) * f["log_sum_exp"](x)
        rng = np.random.default_rng(1)
        self.compare(lambda x: expression(0, x), lambda x: expression(1, x), [rng.normal(size=(4, 4)) for _ in range(3)], rng)


if __name__ == "__main__":
    unittest.main()
