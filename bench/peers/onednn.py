"""The matrix product of oneDNN, by its C API, from PyPI's build for OpenMP."""
import ctypes
import pathlib
import sys

import torch

from peers.subjects import Lacks

LIBRARY = pathlib.Path(sys.prefix) / "lib" / "libdnnl.so.3"
# Of dnnl_types.h; the same in every version 3.
CPU, IN_ORDER, OPENMP = 1, 1, 2
UNIMPLEMENTED = 3  # a status
DTYPES = {torch.float32: 3, torch.bfloat16: 2}
ANY_FORMAT = 1
GELU_ERF = 49
WEIGHTS_FORMAT = 131  # a query
SRC, DST, WEIGHTS, BIAS = 1, 17, 33, 41

Handle = ctypes.c_void_p


class Version(ctypes.Structure):
    _fields_ = [("numbers", 3 * ctypes.c_int), ("hash", ctypes.c_char_p), ("cpu_runtime", ctypes.c_uint),
                ("gpu_runtime", ctypes.c_uint)]


class Argument(ctypes.Structure):
    _fields_ = [("role", ctypes.c_int), ("memory", Handle)]


class Library:
    """Its threads are those of OpenMP, which it shares with PyTorch."""

    def __init__(self):
        if not LIBRARY.exists():
            raise Lacks("onednn-cpu-gomp is not installed; bench/make_peer.sh installs it")
        self.c = ctypes.CDLL(str(LIBRARY))
        self.c.dnnl_version.restype = ctypes.POINTER(Version)
        self.c.dnnl_primitive_desc_query_md.restype = Handle
        self.c.dnnl_memory_desc_get_size.restype = ctypes.c_size_t
        if self.c.dnnl_version().contents.cpu_runtime != OPENMP:
            raise Lacks(f"{LIBRARY} is not oneDNN for OpenMP; install onednn-cpu-gomp")
        self.engine = self.new("engine_create", CPU, ctypes.c_size_t(0))
        self.stream = self.new("stream_create", self.engine, IN_ORDER)

    @property
    def version(self):
        return ".".join(map(str, self.c.dnnl_version().contents.numbers))

    def call(self, name, *arguments):
        status = getattr(self.c, "dnnl_" + name)(*arguments)
        if status == UNIMPLEMENTED:
            raise Lacks(f"dnnl_{name} has no kernel for this product and instruction set")
        if status != 0:
            raise RuntimeError(f"dnnl_{name} returned {status}")

    def new(self, name, *arguments):
        handle = Handle()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle

    def format(self, x, is_free=False):
        """The layout of a tensor; if free, oneDNN selects it."""
        sizes = 12 * ctypes.c_int64
        if is_free:
            return self.new("memory_desc_create_with_tag", x.dim(), sizes(*x.shape), DTYPES[x.dtype], ANY_FORMAT)
        return self.new("memory_desc_create_with_strides", x.dim(), sizes(*x.shape), DTYPES[x.dtype], sizes(*x.stride()))

    def memory(self, x, layout=None):
        return self.new("memory_create", layout or self.format(x), self.engine, Handle(x.data_ptr()))

    def execute(self, primitive, arguments):
        self.call("primitive_execute", primitive, self.stream, len(arguments), arguments)
        self.call("stream_wait", self.stream)

    def packed(self, x, layout):
        """The bytes of x in another layout."""
        y = torch.empty(self.c.dnnl_memory_desc_get_size(layout), dtype=torch.uint8)
        copy = self.new("reorder_primitive_desc_create", self.format(x), self.engine, layout, self.engine, None)
        self.execute(self.new("primitive_create", copy), (2 * Argument)((SRC, self.memory(x)), (DST, self.memory(y, layout))))
        return y

    def attributes(self, gelu):
        attributes = self.new("primitive_attr_create")
        if gelu:
            after = self.new("post_ops_create")
            self.call("post_ops_append_eltwise", after, GELU_ERF, ctypes.c_float(0), ctypes.c_float(0))
            self.call("primitive_attr_set_post_ops", attributes, after)
        return attributes

    def matmul(self, a, b, c, bias=None, gelu=False, pack=False):
        """A function that computes and returns c = a b (+ bias, then GELU); `pack` packs b now, for every call."""
        bias_format = None if bias is None else self.format(bias[None])
        product = self.new("matmul_primitive_desc_create", self.engine, self.format(a), self.format(b, is_free=pack),
                           bias_format, self.format(c), self.attributes(gelu))
        layout = Handle(self.c.dnnl_primitive_desc_query_md(product, WEIGHTS_FORMAT, 0))
        if pack:
            b = self.packed(b, layout)
        arguments = [(SRC, self.memory(a)), (WEIGHTS, self.memory(b, layout)), (DST, self.memory(c))]
        if bias is not None:
            arguments.append((BIAS, self.memory(bias, bias_format)))
        arguments = (len(arguments) * Argument)(*arguments)
        primitive = self.new("primitive_create", product)

        def run():
            self.execute(primitive, arguments)
            return c
        run.operands = a, b, bias  # live as long as the function
        return run
