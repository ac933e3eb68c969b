"""Peers of bench/gemm_bench.py: the three products of a linear layer, in oneDNN and in PyTorch."""
import pathlib

import torch
from torch.nn import functional as F

from peers import onednn
from peers.pytorch import libraries
from peers.subjects import Lacks

# Of error_of(), for the coarser result: PyTorch's gradients of bf16 weights are bf16, of 8 bits.
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 2 ** -6}
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


class Product:
    """Operands and result of gemm_bench's command "save"; c = a b (+ bias, then GELU), with a and b as views."""

    def __init__(self, command):
        self.kind, self.gelu, rows, inputs, outputs = (command[key] for key in ("kind", "gelu", "rows", "in", "out"))
        dtype = DTYPES[command["precision"]]
        folder = pathlib.Path(command["folder"])

        def read(name, dtype, *shape):
            return torch.frombuffer(bytearray((folder / name).read_bytes()), dtype=dtype).view(shape).clone()

        self.bias = None
        if self.kind == "forward":
            self.a, self.b = read("a", dtype, rows, inputs), read("b", dtype, outputs, inputs).t()
            self.bias, self.expected = read("bias", torch.float32, outputs), read("c", dtype, rows, outputs)
        elif self.kind == "dx":
            self.a, self.b = read("a", dtype, rows, outputs), read("b", dtype, outputs, inputs)
            self.expected = read("c", dtype, rows, inputs)
        else:
            self.a, self.b = read("a", dtype, rows, outputs).t(), read("b", dtype, rows, inputs)
            self.expected = read("c", torch.float32, outputs, inputs)


def error_of(result, expected):
    """The largest of an element, relative to the element plus the root mean square of all."""
    result, expected = result.float(), expected.float()
    return ((result - expected).abs() / (expected.abs() + expected.square().mean().sqrt())).max().item()


class Peer:
    """Derived classes have function_of(product) -> a function that returns the result. `agreement` is that with fovea's."""
    device, parameters = torch.device("cpu"), 0

    def prepare(self, command):
        torch.set_num_threads(command["threads"])
        product = Product(command)
        self.run = self.function_of(product)
        result = self.run()
        self.agreement = {"error": error_of(result, product.expected),
                          "tolerance": max(TOLERANCE[x.dtype] for x in (result, product.expected))}


class OneDnn(Peer):
    """Weights are packed before the time is taken; the gradient of weights has none."""

    @staticmethod
    def info(device):
        return {"name": f"oneDNN {onednn.Library().version}", "about": "matmul with packed weights and post-ops"}

    def function_of(self, product):
        return onednn.Library().matmul(product.a, product.b, torch.empty_like(product.expected), product.bias, product.gelu,
                                       pack=product.kind != "dw")


class Linear(Peer):
    """What PyTorch's eager mode calls."""

    @staticmethod
    def info(device):
        names = libraries(device)
        return {"name": f"torch {torch.__version__.split('+')[0]}",
                "about": f"linear, gelu and mm with {names['f32']} in f32 and {names['bf16']} in bf16"}

    def function_of(self, product):
        a, b = product.a, product.b
        if product.kind != "forward":
            return lambda: torch.mm(a, b)
        weight, bias = b.t(), product.bias.to(b.dtype)
        if product.gelu:
            return lambda: F.gelu(F.linear(a, weight, bias))
        return lambda: F.linear(a, weight, bias)


class Packed(Peer):
    """What torch.compile calls for frozen weights."""

    @staticmethod
    def info(device):
        return {"name": f"torch {torch.__version__.split('+')[0]}",
                "about": f"mkldnn::_linear_pointwise with {libraries(device)['bf16']}, packed weights and post-ops"}

    def function_of(self, product):
        a = product.a
        try:
            weight = torch.ops.mkldnn._reorder_linear_weight(product.b.t().contiguous(), len(a))
        except RuntimeError as error:  # the instruction set lacks bf16
            raise Lacks(str(error).split("\n")[0]) from error
        bias = None if product.bias is None else product.bias.to(a.dtype)
        after = ("gelu", [], "none") if product.gelu else ("none", [], "")
        return lambda: torch.ops.mkldnn._linear_pointwise(a, weight, bias, *after)
