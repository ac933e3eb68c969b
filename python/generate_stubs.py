#!/usr/bin/env python3
"""Writes the type stubs of the extension module: _core/__init__.pyi and _core/ops.pyi.

    python/generate_stubs.py FOLDER_OF_THE_MODULE OUTPUT

nanobind's generator does it, with stubs.pat for what is written in Python. In the class Tensor, which has a method
float(), the type of that name is written builtins.float. Overloads of Tensor that refuse their argument (Never) are
left out: type checkers refuse it by themselves.
"""
import collections
import pathlib
import re
import sys

from nanobind import stubgen

HERE = pathlib.Path(__file__).resolve().parent


def with_builtin_float(tensor):
    return re.sub(r"(?<=[:>|] )float\b", "builtins.float", tensor)


def without_refusals(tensor):
    tensor = re.sub(r"    (?:@overload\n    )?def \w+\(self, .*\bNever\b.*\n\n", "", tensor)
    overloads = collections.Counter(re.findall(r"@overload\n    def (\w+)", tensor))
    return re.sub(r"    @overload\n(?=    def (\w+))", lambda found: found[0] if overloads[found[1]] > 1 else "", tensor)


def finished(stub):
    start = stub.index("class Tensor:")
    end = stub.index("\nclass ", start)
    tensor = with_builtin_float(without_refusals(stub[start:end]))
    return "import builtins\n" + stub[:start].replace(", Never", "") + tensor + stub[end:]


def main():
    folder, output = sys.argv[1:]
    # -P: names that end in an underscore, such as copy_(), count as private.
    stubgen.main(["-q", "-r", "-P", "-i", folder, "-m", "_core", "-p", str(HERE / "stubs.pat"), "-O", output])
    path = pathlib.Path(output) / "_core/__init__.pyi"
    path.write_text(finished(path.read_text()))


if __name__ == "__main__":
    main()
