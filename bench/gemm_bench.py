#!/usr/bin/env python3
"""Compares the products of vision transformers' linear layers with oneDNN's and PyTorch's.

    ninja -C BUILD gemm_bench
    python3 bench/gemm_bench.py BUILD/rooms/bench/gemm_bench [--threads 1] [--precision f32|bf16] [--rounds 9]

forward is x w^T + bias, followed by GELU in fc1; dx is dy w, dw is dy^T x, in f32 from either precision. All sides compute
the same operands, agree in the result, and take turns on the same cores, the first of those that `taskset` allows. Prints
GFLOP/s, from the medians of the turns, and the median over the turns of the fastest peer's time / ours: above 1 ours is
faster. Peers run in the Python of FOVEA_PEER_PYTHON or in .venv-peer, which bench/make_peer.sh makes. FOVEA_ISA=v3 limits
them to AVX2 too.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from ours import Ours

BENCH = pathlib.Path(__file__).resolve().parent
KINDS = ("forward", "dx", "dw")
PEERS = {"onednn": KINDS, "linear": KINDS, "packed": ("forward", "dx")}  # the gradient of weights has none to pack
MODELS = {"vit_tiny_patch4_32": (192, 65 * 128), "vit_tiny": (192, 197 * 32), "vit_small": (384, 197 * 32),
          "vit_base": (768, 197 * 32)}
LAYERS = {"qkv": (1, 3), "proj": (1, 1), "fc1": (1, 4), "fc2": (4, 1)}  # inputs and outputs in widths
TURN_MS = 30  # at least, so that short products are not all noise


def products():
    for model, (width, rows) in MODELS.items():
        for layer, (inputs, outputs) in LAYERS.items():
            for kind in KINDS:
                yield {"product": f"{model} {layer} {kind}", "kind": kind, "rows": rows, "in": inputs * width,
                       "out": outputs * width, "gelu": layer == "fc1" and kind == "forward"}


def flops(product):
    return 2 * product["rows"] * product["in"] * product["out"]


class Peer:
    """A process of peer.py. `lacks` is the reason why it is missing, or None."""

    def __init__(self, name, environment):
        python = os.environ.get("FOVEA_PEER_PYTHON", str(BENCH.parent / ".venv-peer/bin/python"))
        self.name, self.kinds, self.lacks = name, PEERS[name], None
        try:
            self.process = subprocess.Popen([python, str(BENCH / "peer.py"), name], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, text=True, env=environment)
            info = self.ask({"cmd": "info", "device": "cpu"})
            self.lacks = info.get("lacks")
        except OSError:
            info, self.lacks = {}, f"{python} cannot run; bench/make_peer.sh makes it"
        self.about = self.lacks or f"{info['name']}, {info['about']}"

    def ask(self, command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"error: the peer ended with {self.process.wait()}")
        return json.loads(answer)

    def milliseconds(self):
        return 1e3 * self.ask({"cmd": "rep"})["seconds"]


def peer_environment(about, threads):
    # The C library gives memory back to the system otherwise, and PyTorch would time new pages for each result.
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "MALLOC_MMAP_MAX_": "0",
                   "MALLOC_TRIM_THRESHOLD_": str(2 ** 34)}
    if about.startswith("isa v3,"):
        environment |= {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}
    return environment


def turn(run):
    """The median time of runs; the first, whose data the other sides have driven from the caches, does not count."""
    run()
    times = []
    while sum(times) < TURN_MS:
        times.append(run())
    return statistics.median(times)


def disagreement(peer):
    """How the result differs from ours, or an empty text."""
    answer = peer.ask({"cmd": "agreement"})
    if answer["error"] <= answer["tolerance"]:
        return ""
    return f"its result differs from fovea's by {answer['error']:.1e}, more than {answer['tolerance']:.1e}"


def set_up(ours, peers, product, args):
    """The functions that run the product once and return milliseconds, by name; which peers cannot run it, and which
    disagree, with the reasons."""
    words = [product["kind"], product["rows"], product["in"], product["out"], args.precision,
             "gelu" if product["gelu"] else "none"]
    sides, lacking, wrong = {"ours": lambda: ours.milliseconds(words)}, {}, {}
    sides["ours"]()
    with tempfile.TemporaryDirectory() as folder:
        if ours.ask(f"save {folder}") != "saved":
            raise SystemExit(f"error: {args.binary} could not write its operands to {folder}")
        for peer in peers:
            if peer.lacks or product["kind"] not in peer.kinds:
                continue
            answer = peer.ask({"cmd": "setup", "mode": "product", "precision": args.precision, "threads": args.threads,
                               "folder": folder, **product})
            if "lacks" in answer:
                lacking[peer.name] = answer["lacks"]
            elif difference := disagreement(peer):
                wrong[peer.name] = difference
            else:
                sides[peer.name] = peer.milliseconds
    return sides, lacking, wrong


def measure(ours, peers, product, args):
    """A row: GFLOP/s of each side, None where it is missing, the fastest peer and the ratio to it."""
    sides, lacking, wrong = set_up(ours, peers, product, args)
    rounds = [{name: turn(run) for name, run in sides.items()} for _ in range(args.rounds)]
    medians = {name: statistics.median(times[name] for times in rounds) for name in sides}
    rates = {name: 1e-6 * flops(product) / medians[name] if name in medians else None
             for name in ["ours", *(peer.name for peer in peers)]}
    fastest = min((name for name in sides if name != "ours"), key=medians.get, default=None)
    ratio = fastest and statistics.median(times[fastest] / times["ours"] for times in rounds)
    return {**product, "precision": args.precision, "threads": args.threads, "gflops": rates, "fastest_peer": fastest,
            "ratio": ratio, "lacking": lacking, "wrong": wrong}


def text_of(number, form):
    return "-" if number is None else format(number, form)


def print_row(row):
    print(f"{row['product']:<30}{row['rows']:>6}{row['in']:>6}{row['out']:>6}"
          + "".join(f"{text_of(rate, '.0f'):>8}" for rate in row["gflops"].values())
          + f"{text_of(row['ratio'], '.2f'):>7}", flush=True)
    for name, reason in {**row["lacking"], **row["wrong"]}.items():
        print(f"  {name}: {reason}", flush=True)


def print_head(ours, peers, args):
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    print(f"{ours.about}, cores {cores}, {args.precision}, {args.rounds} turns; GFLOP/s")
    for peer in peers:
        print(f"  {peer.name}: {peer.about}")
    print(f"{'product':<30}{'rows':>6}{'in':>6}{'out':>6}"
          + "".join(f"{name:>8}" for name in ["ours", *(peer.name for peer in peers)]) + f"{'ratio':>7}", flush=True)


def summary_of(rows):
    compared = [row for row in rows if row["ratio"]]
    if not compared:
        return {"geometric_mean": None, "least": None}
    least = min(compared, key=lambda row: row["ratio"])
    mean = math.exp(statistics.fmean(math.log(row["ratio"]) for row in compared))
    print(f"geometric mean {mean:.3f}, least {least['ratio']:.2f}: {least['product']}")
    return {"geometric_mean": mean, "least": least["ratio"]}


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each side for a product")
    parser.add_argument("--only", default="", metavar="TEXT", help="the products whose names contain it")
    parser.add_argument("--json", metavar="FILE", help="write the table there")
    args = parser.parse_args()
    if not os.access(args.binary, os.X_OK):
        parser.error(f"{args.binary} cannot run; ninja -C BUILD gemm_bench makes it")
    if args.rounds < 1:
        parser.error(f"--rounds {args.rounds}, expected 1 or more")
    if args.json and not pathlib.Path(args.json).absolute().parent.is_dir():
        parser.error(f"--json {args.json}: its folder does not exist")
    cores = sorted(os.sched_getaffinity(0))
    if not 0 < args.threads <= len(cores):
        parser.error(f"--threads {args.threads}, expected 1 to {len(cores)}, the cores that this process may use")
    args.products = [product for product in products() if args.only in product["product"]]
    if not args.products:
        parser.error(f"--only {args.only}: no product's name contains it; the names are "
                     f"{', '.join(MODELS)}, then {', '.join(LAYERS)}, then {', '.join(KINDS)}")
    os.sched_setaffinity(0, cores[:args.threads])  # inherited by every side
    return args


def main():
    args = parse_args()
    ours = Ours(args.binary, args.threads, "serve")
    peers = [Peer(name, peer_environment(ours.about, args.threads)) for name in PEERS]
    print_head(ours, peers, args)
    rows = []
    for product in args.products:
        rows.append(measure(ours, peers, product, args))
        print_row(rows[-1])
    summary = summary_of(rows)
    if args.json:
        about = {"ours": ours.about, **{peer.name: peer.about for peer in peers}}
        pathlib.Path(args.json).write_text(json.dumps({"about": about, "products": rows, **summary}, indent=1) + "\n")
    return 1 if any(row["wrong"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
