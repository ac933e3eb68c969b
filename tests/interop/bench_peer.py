#!/usr/bin/env python3
"""`bench --model` next to timm: bench_peer.py BUILD_FOLDER

Runs under a Python with torch and timm, the peer; build the target `fovea_bench` first. Models that timm has under
the same name must be timed next to ours, with our settings. For other models the peer's row must give the reason.
"""
import os
import re
import subprocess
import sys

CASES = [  # flags, and what is said where there is no peer
    (["--model", "vit_tiny_patch16_224", "--img-size", "32", "--depth", "2"], ""),
    (["--model", "vit_tiny_patch16_224", "--img-size", "32x64", "--patch-size", "8", "--depth", "1", "--num-classes", "7"], ""),
    (["--model", "vit_tiny_patch16_224", "--img-size", "32", "--global-pool", "avg", "--no-class-token", "--depth", "1"], ""),
    (["--model", "deit_tiny_distilled_patch16_224", "--img-size", "32", "--depth", "1"], ""),
    (["--model", "vit_tiny_patch16_224", "--img-size", "32", "--pos-embed", "none", "--depth", "1"], ""),
    (["--model", "vit_tiny_patch4_32", "--depth", "1"], "timm has no model vit_tiny_patch4_32"),
    (["--model", "pervit_tiny_32", "--depths", "1,1,1,1"], "timm has no model pervit_tiny_32"),
    (["--model", "vit_tiny_patch16_224", "--img-size", "32", "--depth", "1", "--irpe"], "cannot have irpe"),
    (["--model", "vit_tiny_patch16_224", "--img-size", "32", "--depth", "1", "--pos-embed", "sincos"], "pos_embed sincos"),
]


def main():
    program, failed = f"{sys.argv[1]}/fovea_bench", 0
    environment = dict(os.environ, FOVEA_PEER_PYTHON=sys.executable)
    for flags, lacks in CASES:
        done = subprocess.run([program, *flags, "--batch-size", "2", "--reps", "1", "--ceiling", "64", "--threads", "1", "--peer"],
                              env=environment, capture_output=True, text=True, timeout=600)
        rows = re.findall(r"^  torch \S+ eager +(\S+)(.*)", done.stdout, re.MULTILINE)
        ok = done.returncode == 0 and len(rows) == 2
        ok = ok and all(rate == "-" and lacks in rest if lacks else rate != "-" for rate, rest in rows)
        failed += not ok
        print(f"{'ok' if ok else 'FAIL':4} {' '.join(flags)}{'' if ok else ': ' + done.stdout + done.stderr}", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
