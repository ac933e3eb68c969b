#!/usr/bin/env python3
"""Compares the losses of two training runs.  same_losses.py RUN RUN [--within RELATIVE]"""

import argparse
import pathlib
import sys

from formats import losses_of


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("runs", nargs=2, type=pathlib.Path, help="folders of runs that logged every step")
parser.add_argument("--within", type=float, default=1e-5, help="the largest relative difference")
arguments = parser.parse_args()
pairs = list(zip(*map(losses_of, arguments.runs), strict=True))
worst = max(abs(a - b) / b for a, b in pairs)
print(f"{len(pairs)} losses, the largest relative difference {worst:.1e}")
sys.exit(not worst <= arguments.within)
