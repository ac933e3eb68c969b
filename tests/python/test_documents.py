"""The Python of README.md and docs/python.md runs; every public name and every op has documentation."""
import contextlib
import inspect
import io
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import fovea

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Documents(unittest.TestCase):
    def run_blocks(self, page, least):
        """All blocks of a page, one after the other, as a reader would type them."""
        blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
        self.assertGreaterEqual(len(blocks), least)
        names = {}
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), \
                contextlib.redirect_stdout(io.StringIO()) as printed:
            for number, block in enumerate(blocks):
                exec(compile(block, f"{page}, block {number}", "exec"), names)
        return printed.getvalue()

    def test_readme(self):
        losses = [float(line.split()[1]) for line in self.run_blocks("README.md", 1).splitlines()]
        self.assertEqual(len(losses), 5)
        self.assertLess(losses[-1], losses[0])

    def test_python_md(self):
        self.assertIn("(2, 8)", self.run_blocks("docs/python.md", 5))

    def test_every_public_name_is_documented(self):
        missing = []
        self.assertEqual({name for name in vars(fovea) if not name.startswith("_")}, set(fovea.__all__))
        for module in (fovea, fovea.ops):
            for name, value in vars(module).items():
                if name.startswith("_") or inspect.ismodule(value) or isinstance(value, fovea.DType):
                    continue
                if not (value.__doc__ or "").strip():
                    missing.append(name)
                if inspect.isclass(value) and value.__module__.startswith("fovea"):
                    missing += [f"{name}.{member}" for member, what in vars(value).items()
                                if not member.startswith("_") and not (getattr(what, "__doc__", "") or "").strip()]
        self.assertEqual(missing, [])

    def test_an_op_shows_signature_shapes_and_source(self):
        text = fovea.ops.conv2d.__doc__
        for part in ("conv2d(x: ", "x [B, C, H, W]", "stride: ", "ops/conv.h"):
            self.assertIn(part, text)

    def test_an_op_without_a_comment_fails_the_build(self):
        with tempfile.TemporaryDirectory() as folder:
            headers = pathlib.Path(folder) / "ops"
            shutil.copytree(ROOT / "ops", headers, ignore=lambda where, names: [n for n in names if not n.endswith(".h")])
            generate = [sys.executable, ROOT / "python/generate_ops.py", folder, pathlib.Path(folder) / "ops.cpp"]
            subprocess.run(generate, check=True)
            conv = headers / "conv.h"
            conv.write_text(conv.read_text().replace("}  // namespace", "\nTensor undescribed(const Tensor& x);\n\n}  // namespace"))
            done = subprocess.run(generate, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr),
                             (1, "error: ops/conv.h: undescribed has no documentation; write a /// comment\n"))


if __name__ == "__main__":
    unittest.main()
