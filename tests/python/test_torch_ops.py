"""Ops beside PyTorch's, on the samples of PyTorch's own tests: values and gradients in f64, to 1e-12.

TABLE has the call for each operator of PyTorch. It raises Unlike, with the reason, for a sample that fovea leaves to
others on purpose; how many these are is checked too.
"""
import collections
import re
import unittest

import numpy as np

import fovea
from fovea import ops

try:
    import torch
    from torch.testing._internal.common_methods_invocations import op_db
except ImportError:
    torch, op_db = None, []

BOUND = 1e-12


class Unlike(Exception):
    """Why fovea has no answer to a sample."""


def need(holds, reason):
    if not holds:
        raise Unlike(reason)


def numbers(value):
    """A scalar tensor of PyTorch's as a number."""
    need(isinstance(value, (int, float)), "an exponent or a bound that is a tensor or a complex number")
    return float(value)


def unary(f):
    def call(x, **options):
        need(not options, "options of an elementwise op")
        return f(x)
    return call


def binary(f):
    def call(a, b, alpha=1, rounding_mode=None, **options):
        need(rounding_mode is None, "rounded division")
        need(isinstance(a, fovea.Tensor), "a number as the first operand")
        b = b * alpha if alpha != 1 else b
        need(a.ndim <= 6, "more than six axes")
        return f(a, b)
    return call


def two_tensors(f):
    def call(a, b):
        need(isinstance(b, fovea.Tensor), "an op between two tensors takes no numbers")
        return f(a, b)
    return call


def product(a, b):
    need(a.ndim >= 2 and b.ndim >= 2, "vectors: unsqueeze() makes matrices of them")
    return ops.matmul(a, b)


def reduction(f):
    def call(x, dim=None, keepdim=False, dtype=None):
        need(dtype is None, "dtype of a reduction: use .to()")
        need(dim is not None or not keepdim, "keepdim without axes: give the axes")
        return f(x, () if dim is None else dim, keepdim=keepdim)
    return call


def along(f):
    """max, min: PyTorch also gives the positions."""
    def call(x, dim=None, keepdim=False):
        need(isinstance(dim, int), "max(a, b) is maximum(); over all axes: amax()")
        need(x.ndim > 0, "tensors without axes")
        return f(x, dim, keepdim)
    return call


def softmax(f):
    def call(x, dim, dtype=None, **_):
        need(dtype is None, "dtype of softmax: use .to()")
        need(x.ndim > 0, "tensors without axes")
        return f(x, dim)
    return call


def variance(x, *dims, dim=None, correction=None, unbiased=None, keepdim=False):
    axes = [part for part in (*dims, dim) if not isinstance(part, bool) and part is not None]
    bools = [part for part in dims if isinstance(part, bool)]
    if unbiased is None and bools:
        unbiased = bools[0]
    need(correction is None or isinstance(correction, (int, float)), "no correction")
    correction = correction if correction is not None else 1 if unbiased in (None, True) else 0
    need(axes or not keepdim, "keepdim without axes: give the axes")
    return ops.var(x, axes[0] if axes else (), correction, keepdim)


def clamp(x, min=None, max=None):
    need(min is not None and max is not None, "one bound: the other may be infinite")
    return ops.clamp(x, numbers(min), numbers(max))


def layer_norm(x, shape, weight=None, bias=None, eps=1e-5):
    need(len(shape) == 1, "a norm over several axes: reshape() first")
    return ops.layer_norm(x, weight, bias, eps)


def rms_norm(x, shape, weight=None, eps=None):
    need(len(shape) == 1, "a norm over several axes: reshape() first")
    return ops.rms_norm(x, weight, np.finfo(float).eps if eps is None else eps)


def group_norm(x, groups, weight=None, bias=None, eps=1e-5):
    return ops.group_norm(x, groups, weight, bias, eps)


def batch_norm(x, mean, variance, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    need(mean is not None and variance is not None, "no running statistics")
    return ops.batch_norm(x, weight, bias, mean.clone(), variance.clone(), training, momentum, eps)


def instance_norm(x, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    need(use_input_stats, "running statistics of an instance norm")
    return ops.instance_norm(x, weight, bias, eps)


def conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    need(not isinstance(padding, str), "padding by a word")
    need(x.ndim == 4, "one image without a batch: unsqueeze() first")
    return ops.conv2d(x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)


def avg_pool2d(x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    need(not ceil_mode and divisor_override is None, "ceil_mode, divisor_override")
    need(x.ndim == 4, "one image without a batch: unsqueeze() first")
    return ops.avg_pool2d(x, kernel_size, stride or kernel_size, padding, count_include_pad)


def max_pool2d(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    need(not ceil_mode and dilation in (1, (1, 1)), "ceil_mode, dilation")
    need(x.ndim == 4, "one image without a batch: unsqueeze() first")
    return ops.max_pool2d(x, kernel_size, stride or kernel_size, padding)


def resized(mode):
    def call(x, size=None, scale_factor=None, mode=mode, align_corners=None, recompute_scale_factor=None, antialias=False):
        need(x.ndim == 4, "maps of one or three axes")
        need(not align_corners, "align_corners")
        need(size is not None, "a scale in place of a size")
        return ops.resize(x, size, mode, antialias)
    return call


def classes_loss(x, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0, **_):
    need(x.ndim == 2 and weight is None and ignore_index == -100, "weights, ignored labels, dense labels")
    need(reduction == "mean", "reductions other than the mean")
    if target.dtype == fovea.i64:
        return ops.cross_entropy(x, target, label_smoothing)
    need(label_smoothing == 0, "smoothing of soft targets: smooth them first")
    return ops.soft_cross_entropy(x, target.detach())


def mean_loss(f):
    def call(x, target, reduction="mean", weight=None, pos_weight=None, **_):
        need(reduction == "mean" and weight is None and pos_weight is None, "reductions other than the mean, weights")
        need(x.shape == target.shape, "broadcast targets")
        return f(x, target.detach())
    return call


def where(condition, x=None, y=None):
    need(isinstance(x, fovea.Tensor) and isinstance(y, fovea.Tensor), "where() of numbers, or of a condition alone")
    return ops.where(condition, x, y)


def where_of_x(x, condition, y):
    return where(condition, x, y)


def masked_fill(x, mask, value):
    need(isinstance(value, (int, float)), "a value that is a tensor")
    return ops.masked_fill(x, mask, float(value))


def padded(x, amounts, mode="constant", value=None):
    need(mode == "constant", "padding with other values than a constant")
    return ops.pad(x, amounts, value or 0)


def gathered(x, dim, index, sparse_grad=False):
    need(x.ndim > 0 and index.ndim > 0, "tensors without axes")
    return ops.gather(x, dim, index)


def rolled(x, shifts, dims=None):
    need(dims is not None, "rolling the flattened tensor: reshape() first")
    shifts, dims = (list(v) if isinstance(v, (list, tuple)) else [v] for v in (shifts, dims))
    for shift, axis in zip(shifts, dims, strict=True):
        x = ops.roll(x, shift, axis)
    return x


def flipped(x, dims):
    for axis in dims:
        x = ops.flip(x, axis)
    return x


def squeezed(x, *dims):
    need(len(dims) == 1 and isinstance(dims[0], int), "squeeze of all or of several axes")
    need(x.ndim > 0 and x.shape[dims[0]] == 1, "squeeze of an axis of another size than 1 changes nothing in PyTorch")
    return ops.squeeze(x, dims[0])


def attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    need(dropout_p == 0 and not is_causal and not enable_gqa, "dropout, causal masks, grouped queries")
    need(q.ndim == k.ndim == v.ndim == 4, "other numbers of axes than four")
    need(attn_mask is None or attn_mask.dtype == fovea.f64, "boolean masks: add -inf")
    return ops.attention(q, k, v, attn_mask, scale or 0)


def embedding(weight, ids, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    need(padding_idx is None and max_norm is None and not scale_grad_by_freq and not sparse, "padding_idx, max_norm, sparse")
    return ops.embedding(weight, ids)


def joined(f):
    def call(tensors, dim=0):
        need(isinstance(tensors, (list, tuple)), "a tensor in place of a list of tensors")
        need(len({t.dtype for t in tensors}) == 1, "several dtypes")
        need(all(t.shape != (0,) for t in tensors) or len({t.ndim for t in tensors}) == 1, "empty tensors of any rank")
        return f(list(tensors), dim)
    return call


def sort(x, dim=-1, descending=False, stable=False):
    need(x.ndim > 0, "tensors without axes")
    return list(ops.sort(x, dim, descending))


def topk(x, k, dim=-1, largest=True, sorted=True):
    need(largest and x.ndim > 0, "the smallest: topk(-x)")
    return list(ops.topk(x, k, dim))


def add_product(x, a, b, value=1):
    need(value == 1 and isinstance(a, fovea.Tensor), "a scaled product")
    need(np.broadcast_shapes(x.shape, a.shape, b.shape) == x.shape, "factors that are larger than x")
    return ops.add_product(x, a, b)


def reshaped(x, shape):
    return x.reshape(*shape) if shape else x.reshape(())


def permuted(x, dims):
    return x.permute(*dims) if dims else x.permute(())


def gelu(x, approximate="none"):
    return ops.gelu(x, {"none": "erf"}.get(approximate, approximate))


def softplus(x, beta=1, threshold=20):
    need(beta == 1 and threshold >= 20, "beta, threshold")
    return ops.softplus(x)


def power(x, exponent):
    return ops.pow(x, numbers(exponent))


def parts_of(x, sizes, dim=0):
    need(not isinstance(sizes, int), "equal parts: give the sizes")
    return ops.split(x, list(sizes), dim)


TABLE = {
    **{name: unary(getattr(ops, name)) for name in ["abs", "cos", "exp", "log", "neg", "rsqrt", "sigmoid", "sin", "sqrt", "tanh"]},
    "nn.functional.relu": unary(ops.relu), "nn.functional.silu": unary(ops.silu), "nn.functional.logsigmoid": unary(ops.logsigmoid),
    "nn.functional.gelu": gelu, "nn.functional.softplus": softplus, "pow": power, "clamp": clamp,
    "square": unary(lambda x: x ** 2), "reciprocal": unary(lambda x: 1 / x),
    "add": binary(lambda a, b: a + b), "sub": binary(lambda a, b: a - b), "mul": binary(lambda a, b: a * b),
    "div": binary(lambda a, b: a / b), "true_divide": binary(lambda a, b: a / b),
    "maximum": two_tensors(ops.maximum), "minimum": two_tensors(ops.minimum),
    "eq": binary(lambda a, b: a == b), "ne": binary(lambda a, b: a != b), "lt": binary(lambda a, b: a < b),
    "gt": binary(lambda a, b: a > b), "le": binary(lambda a, b: a <= b), "ge": binary(lambda a, b: a >= b),
    "where": where_of_x, "masked_fill": masked_fill, "addcmul": add_product,
    "matmul": product, "mm": product, "bmm": product,
    "nn.functional.linear": lambda x, w, b=None: ops.linear(x, w, b),
    "softmax": softmax(ops.softmax), "log_softmax": softmax(ops.log_softmax),
    "nn.functional.layer_norm": layer_norm, "nn.functional.rms_norm": rms_norm,
    "nn.functional.group_norm": group_norm, "nn.functional.batch_norm": batch_norm, "nn.functional.instance_norm": instance_norm,
    "sum": reduction(ops.sum), "mean": reduction(ops.mean), "amax": reduction(ops.amax), "var": variance,
    "max": along(ops.max), "min": along(ops.min), "argmax": along(ops.argmax),
    "argsort": lambda x, dim=-1, descending=False, stable=True: ops.argsort(x, dim, descending), "sort": sort, "topk": topk,
    "cat": joined(ops.cat), "stack": joined(ops.stack), "split_with_sizes": parts_of, "split": parts_of,
    "reshape": reshaped, "view": reshaped, "permute": permuted, "transpose": lambda x, a, b: ops.transpose(x, a, b),
    "expand": lambda x, shape: x.expand(*shape), "squeeze": squeezed, "unsqueeze": lambda x, dim: ops.unsqueeze(x, dim),
    "flip": flipped, "roll": rolled, "select": lambda x, dim, index: ops.select(x, dim, index),
    "narrow": lambda x, dim, start, length: ops.slice(x, dim, int(start), int(start) + length),
    "index_select": lambda x, dim, index: ops.index_select(x, dim, index), "gather": gathered,
    "nn.functional.pad": padded, "nn.functional.embedding": embedding,
    "nn.functional.conv2d": conv2d, "nn.functional.avg_pool2d": avg_pool2d, "nn.functional.max_pool2d": max_pool2d,
    "nn.functional.interpolate": resized("nearest"),
    "nn.functional.cross_entropy": classes_loss, "nn.functional.mse_loss": mean_loss(ops.mse),
    "nn.functional.l1_loss": mean_loss(ops.l1), "nn.functional.binary_cross_entropy_with_logits": mean_loss(ops.bce_with_logits),
    "nn.functional.scaled_dot_product_attention": attention,
}


# Targets get no gradient from these losses.
INPUT_ALONE = {f"nn.functional.{name}" for name in ["cross_entropy", "binary_cross_entropy_with_logits", "mse_loss", "l1_loss"]}

# Samples that are errors here, by the error's text.
REFUSED = {
    "axis -?\\d+ is out of range for 0 axes": "axes of a tensor without axes",
    "batch_norm: got shape \\[0\\]": "a batch norm without channels",
    "mode: got (area|nearest|nearest-exact), expected": "modes of interpolation: upsample_nearest() and avg_pool2d() do those",
    "linear: got x .* and weight \\[\\d*\\]": "a weight that is a vector",
    "gather: got index .* expected equal ranks": "an empty index of another rank",
    "got an index of dtype u8": "an index of another dtype than i64",
}

# Wrong inputs of PyTorch's that are right here.
ACCEPTED = {
    "narrow": "slice() clamps its range, as Python's slices do",
    "nn.functional.group_norm": "the norm of no elements is empty",
}


def ours_of(value, leaves):
    """PyTorch's tensors as ours, on the same memory; leaves collects pairs that get gradients."""
    if isinstance(value, torch.Tensor):
        need(value.dim() <= 6, "more than six axes")
        need(not value.is_complex(), "complex numbers")
        ours = fovea.from_dlpack(value.detach())
        if value.requires_grad:
            leaves.append((value, ours.requires_grad_()))
        return ours
    if isinstance(value, (list, tuple)):
        return type(value)(ours_of(part, leaves) for part in value) if not isinstance(value, torch.Size) else tuple(value)
    if isinstance(value, dict):
        return {key: ours_of(part, leaves) for key, part in value.items()}
    return value


def outputs_of(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def error(ours, theirs):
    """The largest difference, relative to the largest number."""
    ours, theirs = ours.detach().numpy().astype(float), theirs.detach().numpy().astype(float)
    if ours.shape != theirs.shape:
        return f"shape {ours.shape}, expected {theirs.shape}"
    if theirs.size == 0:
        return 0.0
    finite = np.isfinite(theirs)
    if not np.array_equal(ours[~finite], theirs[~finite], equal_nan=True):
        return "other NaN or infinities"
    scale = max(1.0, np.abs(theirs[finite]).max(initial=0))
    return float(np.abs(ours - theirs)[finite].max(initial=0)) / scale


@unittest.skipIf(torch is None, "SKIPPED: PyTorch or its expecttest is not installed")
class OpInfos(unittest.TestCase):
    def test_values_and_gradients_of_all_samples(self):
        counts, unlike = collections.Counter(), collections.Counter()
        for op in op_db:
            if op.name not in TABLE:
                continue
            for number, sample in enumerate(op.sample_inputs("cpu", torch.float64, requires_grad=op.supports_autograd)):
                try:
                    self.check(op, number, sample)
                    counts[op.name] += 1
                except Unlike as reason:
                    unlike[str(reason)] += 1
                except fovea.Error as problem:
                    reason = next((why for text, why in REFUSED.items() if re.search(text, str(problem))), None)
                    unlike[reason] += 1
                    with self.subTest(op.name):
                        self.assertIsNotNone(reason, f"{op.name}: {problem}: {sample}"[:300])
        print(f"\n{sum(counts.values())} samples of {len(counts)} operators are equal; left out on purpose:")
        for reason, count in sorted(unlike.items()):
            print(f"  {count:5} {reason}")
        self.assertGreaterEqual(len(counts), 60, sorted(TABLE.keys() - counts.keys()))
        self.assertGreaterEqual(sum(counts.values()), 1000)

    def check(self, op, number, sample):
        leaves = []
        where = f"{op.name} {op.variant_test_name} sample {number}: {sample}"[:300]
        arguments = ours_of([sample.input, *sample.args], leaves)
        options = ours_of(sample.kwargs, leaves)
        mine = outputs_of(TABLE[op.name](*arguments, **options))
        theirs = outputs_of(op(sample.input, *sample.args, **sample.kwargs))[:len(mine)]
        for x, y in zip(mine, theirs, strict=True):
            self.compare(x, y, where)
        if mine[0].requires_grad and theirs[0].requires_grad:
            self.check_gradients(mine[0], theirs[0], leaves[:1] if op.name in INPUT_ALONE else leaves, where)

    def check_gradients(self, mine, theirs, leaves, where):
        generator = torch.Generator().manual_seed(1)
        w = torch.randn(theirs.shape, dtype=theirs.dtype, generator=generator)
        gradients = torch.autograd.grad(theirs, [theirs_leaf for theirs_leaf, _ in leaves], w, allow_unused=True)
        mine.backward(fovea.from_dlpack(w))
        for gradient, (leaf, ours) in zip(gradients, leaves):
            gradient = torch.zeros_like(leaf) if gradient is None else gradient
            got = fovea.zeros(ours.shape, dtype=ours.dtype) if ours.grad is None else ours.grad
            self.compare(got, gradient.contiguous(), f"gradient of {where}")

    def compare(self, mine, theirs, where):
        difference = error(mine, theirs)
        if isinstance(difference, str) or not difference <= BOUND:
            self.failures_seen = getattr(self, "failures_seen", 0) + 1
            with self.subTest(where):
                self.fail(f"{where}: {difference}")

    def test_their_error_inputs_raise(self):
        count = 0
        for op in op_db:
            if op.name not in TABLE or op.error_inputs_func is None:
                continue
            for wrong in op.error_inputs("cpu"):
                sample = wrong.sample_input
                with self.subTest(op=op.name, expected=wrong.error_regex[:80]):
                    try:
                        arguments = ours_of([sample.input, *sample.args], [])
                        options = ours_of(sample.kwargs, [])
                        TABLE[op.name](*arguments, **options)
                    except (Unlike, fovea.Error, TypeError, ValueError, IndexError, AttributeError):
                        count += 1
                        continue
                    self.assertIn(op.name, ACCEPTED, "no error")
        self.assertGreater(count, 50)


if __name__ == "__main__":
    unittest.main()
