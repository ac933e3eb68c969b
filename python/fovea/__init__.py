"""Tensors with gradients, vision transformers and their training: the library fovea from Python.

    >>> import fovea
    >>> x = fovea.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4., 6.])
"""
from . import _loading as _loading  # first: it sets how the threads of the library wait
from . import ops
from ._core import (Attention, Block, Context, DType, Error, GradcheckResult, LayerNorm, Linear, Mlp, OutOfMemory,
                    Parameters, Tensor, arange, from_dlpack, full, gradcheck, is_grad_enabled, ones, rand, randn,
                    record, zeros)
from ._batches import Batches, batches
from ._creation import tensor
from ._grad_mode import no_grad
from ._models import Model, attention_maps, create_model, list_models
from ._optimizers import SGD, AdamW, Lamb, Lion, Muon, Optimizer, Schedule
from ._runs import Prediction, Run, predict, read_run, train
from ._tensor_methods import add_methods as _add_methods
from .ops import (abs, cat, clamp, cos, cross_entropy, exp, gelu, layer_norm, linear, log, log_softmax, matmul, max,
                  maximum, mean, min, minimum, relu, sigmoid, sin, softmax, sqrt, stack, sum, tanh, where)

__all__ = [
    # tensors
    "DType", "Error", "OutOfMemory", "Tensor", "arange", "from_dlpack", "full", "ones", "rand", "randn", "tensor", "zeros",
    "f64", "f32", "bf16", "i64", "u8",
    # the tape
    "GradcheckResult", "gradcheck", "is_grad_enabled", "no_grad", "record",
    # the commonest ops; all are in ops
    "ops", "abs", "cat", "clamp", "cos", "cross_entropy", "exp", "gelu", "layer_norm", "linear", "log", "log_softmax",
    "matmul", "max", "maximum", "mean", "min", "minimum", "relu", "sigmoid", "sin", "softmax", "sqrt", "stack", "sum", "tanh",
    "where",
    # models
    "Attention", "Block", "Context", "LayerNorm", "Linear", "Mlp", "Model", "Parameters", "attention_maps", "create_model",
    "list_models",
    # training
    "AdamW", "Batches", "Lamb", "Lion", "Muon", "Optimizer", "Prediction", "Run", "SGD", "Schedule", "batches", "predict",
    "read_run",
    "train",
]

f64, f32, bf16, i64, u8 = DType.f64, DType.f32, DType.bf16, DType.i64, DType.u8

_add_methods()
