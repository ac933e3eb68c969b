#!/usr/bin/env python3
"""Writes the bindings of all ops from their headers: one function of the module fovea.ops per op.

    python/generate_ops.py TREE OUTPUT.cpp

An op keeps its name and its parameters. Options structs become keyword arguments, words of enumerations
strings, undefined tensors None. The documentation is the header's comment; an op without one is an error, and so
is a parameter of a type that TYPES lacks.
"""
import dataclasses
import pathlib
import sys

from op_headers import Header, HeaderError, Op, Parameter, parse_header

# C++ type of a parameter: (type that Python's argument becomes, expression that makes the op's argument of it).
TYPES = {
    "Tensor": ("const Tensor&", "{}"),
    "bool": ("bool", "{}"),
    "int": ("int", "{}"),
    "double": ("double", "{}"),
    "std::int64_t": ("std::int64_t", "{}"),
    "DType": ("DType", "{}"),
    "std::optional<DType>": ("std::optional<DType>", "{}"),
    "Shape": ("const IntList&", "{}.shape()"),
    "Axes": ("const IntList&", "axis_list"),
    "std::array<std::int64_t, 2>": ("const IntList&", "{}.pair(\"{}\")"),
    "std::span<const int>": ("const IntList&", "{}.axes()"),
    "std::span<const std::int64_t>": ("const IntList&", "{}.values"),
    "std::span<const Tensor>": ("const std::vector<Tensor>&", "{}"),
    "std::vector<Tensor>": ("const std::vector<Tensor>&", "{}"),
}
OPTIONAL_TENSOR = ("const std::optional<Tensor>&", "{}.value_or(Tensor())")

# Parameters that may be an undefined tensor, where the declaration has no default that says so.
MAY_BE_UNDEFINED = {"bias", "residual of linear", "residual of mlp", "weight of layer_norm", "weight of rms_norm", "weight of instance_norm",
                    "mean of batch_norm", "variance of batch_norm"}
# Members of option structs without a sensible default.
REQUIRED = {"start of slice", "stop of slice"}

# Ops that Python does not get, with the reason.
LEFT_OUT = {
    **dict.fromkeys(["adamw_", "lamb_", "lars_", "lion_", "sgd_", "muon_", "average_", "restore_if_skipped"],
                    "for optimizers"),
    "finish_pixels": "for the loader's batches",
    **dict.fromkeys(["compute_copy", "squares_by_block", "update_block"], "for the library's own layers"),
}

# Ops that are also methods of Tensor.
METHODS = set("""abs amax argmax argsort clamp cos exp flip gather index_select log log_softmax masked_fill matmul
    max mean min relu roll rsqrt sigmoid sin softmax sort split sqrt squeeze sum tanh topk transpose unsqueeze
    var""".split())


@dataclasses.dataclass
class Argument:
    """One parameter of the Python function."""
    type: str
    name: str
    default: str | None  # C++ expression
    doc: str


class Binding:
    """The Python function of an op: its arguments, and the call of the op."""

    def __init__(self, op: Op, header: Header, all_enums):
        self.op, self.header, self.enums = op, header, all_enums
        self.arguments, self.axis_list = [], ""
        self.taken = {parameter.name for parameter in op.parameters}
        self.call = ", ".join(self.add(parameter) for parameter in op.parameters)
        for place in range(len(self.arguments) - 1, -1, -1):  # None may be left out where all that follows may
            argument = self.arguments[place]
            last = place + 1 == len(self.arguments) or self.arguments[place + 1].default is not None
            if argument.default == "None" and not last:
                raise HeaderError(f"{op.name}: {argument.name} may be undefined, but what follows it may not be left out")

    def add(self, parameter: Parameter, owner=""):
        """Adds the arguments that a parameter becomes; returns the op's argument."""
        name = f"{owner}_{parameter.name}" if owner and parameter.name in self.taken else parameter.name
        self.taken |= {name} if owner else set()
        key = f"{name} of {self.op.name}"
        if parameter.type in self.header.structs:
            fields = self.header.structs[parameter.type].fields
            inner = ", ".join(f".{field.name} = {self.add(field, name)}" for field in fields)
            return f"ops::{parameter.type}{{{inner}}}"
        if parameter.type == "StepKey":
            self.arguments += [Argument("std::uint64_t", "seed", None, "the random numbers are a function of it"),
                               Argument("std::uint64_t", "stream", "0", "and of this number")]
            return "StepKey(seed, stream)"
        if parameter.type in self.enums:
            words = self.enums[parameter.type]
            default = f'"{parameter.default.rsplit("::", 1)[-1]}"' if parameter.default else None
            self.arguments.append(Argument("std::string_view", name, default, parameter.doc or "one of " + ", ".join(words)))
            table = ", ".join(f'{{ops::{parameter.type}::{word}, "{word}"}}' for word in words)
            return f'word<ops::{parameter.type}>("{self.op.name}: {name}", {name}, {{{table}}})'
        if parameter.type not in TYPES:
            raise HeaderError(f"{self.op.name}: no rule for the type {parameter.type} of '{parameter.name}'")
        kind, use = TYPES[parameter.type]
        default = None if key in REQUIRED else self.default(parameter)
        if parameter.type == "Tensor" and (default or parameter.name in MAY_BE_UNDEFINED or key in MAY_BE_UNDEFINED):
            (kind, use), default = OPTIONAL_TENSOR, "None"
        self.arguments.append(Argument(kind, name, default, parameter.doc))
        if use == "axis_list":
            self.axis_list = name
            return use
        return use.format(name, f"{self.op.name}: {name}")

    @staticmethod
    def default(parameter: Parameter):
        text = parameter.default
        if text is None:
            return None
        if text == "{}":
            return "IntList{}" if parameter.type == "Axes" else "None"
        return f"IntList{{{text}}}" if text.startswith("{") else text

    def documentation(self):
        notes = [f"{argument.name}: {argument.doc}" for argument in self.arguments if argument.doc]
        return "\n\n".join(part for part in [self.op.doc, "\n".join(notes), f"C++: {self.op.header}"] if part)

    def definition(self, target, method=False):
        """nb::arg defaults of None also let None in."""
        described = []
        for argument in self.arguments[1 if method else 0:]:
            is_none = argument.default == "None"
            text = f'nb::arg("{argument.name}")' + (".none()" if is_none else "")
            described.append(text + (f" = {'nb::none()' if is_none else argument.default}" if argument.default else ""))
        parameters = ", ".join(f"{argument.type} {argument.name}" for argument in self.arguments)
        call = f"ops::{self.op.name}({self.call})"
        if self.axis_list:
            call = f"with_axes({self.axis_list}.axes(), [&](ops::Axes axis_list) {{ return {call}; }})"
        extra = "".join(f", {text}" for text in described)
        return (f'  {target}.def("{self.op.name}", []({parameters}) {{ return {call}; }}{extra}, in_op,\n'
                f'R"doc({self.documentation()})doc");\n')


def is_bound(op: Op):
    """Not the overloads for temporaries and braces in C++, nor what other overloads do."""
    types = [parameter.type for parameter in op.parameters]
    if op.name in LEFT_OUT or any(kind.endswith("&&") or kind.startswith("std::initializer_list") for kind in types):
        return False
    return (op.name, types[-2:]) != ("slice", ["std::int64_t", "std::int64_t"])


def source(headers):
    enums = {name: words for header in headers for name, words in header.enums.items()}
    functions, methods, names = "", "", []
    for header in headers:
        for op in filter(is_bound, header.ops):
            overloads = [other.doc for other in header.ops if other.name == op.name and is_bound(other)]
            doc = op.doc or "".join(overloads) or op.shared_doc
            if not doc:
                raise HeaderError(f"{op.header}: {op.name} has no documentation; write a /// comment")
            binding = Binding(dataclasses.replace(op, doc=doc), header, enums)
            functions += binding.definition("m")
            names.append(op.name)
            if op.name in METHODS:
                methods += binding.definition("tensor", method=True)
    missing = METHODS - set(names)
    if missing:
        raise HeaderError(f"METHODS names what is no op: {', '.join(sorted(missing))}")
    return f"""// Bindings of {len(names)} functions, generated by python/generate_ops.py from ops/*.h.
#include "python/bindings/ops.h"

namespace fovea::python {{

void bind_ops(nb::module_& m) {{
  m.doc() = "All ops, under the names of the C++ library.";
{functions}}}

void bind_op_methods(nb::class_<Tensor>& tensor) {{
{methods}}}

}}  // namespace fovea::python
"""


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tree, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    try:
        headers = [parse_header(path, f"ops/{path.name}") for path in sorted(tree.glob("ops/*.h")) if path.name != "kernels.h"]
        structs = {name: struct for header in headers for name, struct in header.structs.items()}
        for header in headers:  # an options struct may stand in a header that another includes
            header.structs = {**structs, **header.structs}
        text = source(headers)
    except HeaderError as error:
        sys.exit(f"error: {error}")
    output.write_text(text)


if __name__ == "__main__":
    main()
