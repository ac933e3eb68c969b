#!/usr/bin/env python3
"""Writes the C++ of README.md as files, which tests/readme compiles and runs.

    tests/readme/extract.py README FOLDER

program.cpp and op.h are the page's two C++ blocks; sheet.h has the right column of the table
"Coming from PyTorch", one statement per row.
"""
import pathlib
import re
import sys


def sheet(page):
    """Expressions of the table become arguments of use(); declarations and calls end in a semicolon already."""
    rows = re.findall(r"^\| `[^`]+` \| `([^`]+)` \|$", page.split("## Coming from PyTorch")[1].split("\n## ")[0],
                      re.MULTILINE)
    return "\n".join(row if row.endswith(";") else f"use({row});" for row in rows) + "\n", len(rows)


def main():
    page, folder = pathlib.Path(sys.argv[1]).read_text(), pathlib.Path(sys.argv[2])
    blocks = re.findall(r"^```cpp\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    statements, rows = sheet(page)
    if len(blocks) != 2 or rows < 15:
        sys.exit(f"error: {sys.argv[1]} has {len(blocks)} C++ blocks and {rows} rows of PyTorch, "
                 "expected 2 and at least 15")
    for name, text in [("program.cpp", blocks[0]), ("op.h", blocks[1]), ("sheet.h", statements)]:
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()
