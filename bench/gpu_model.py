#!/usr/bin/env python3
"""Predicts how long the kernels of a step take on an H200, from counts of the fake device: an estimate, no measurement.

    bench/gpu_model.py COUNTS [--measured RATES] [--json FILE]

COUNTS is a file of gpu_counts.py. Rates are those of gpu_rates.json, or, where RATES has them, what gpu_rates measured.

- Rows: bytes, each once per launch, at "row share" of a copy's rate. Nothing stays in the cache between two kernels.
- Products: at the rate of the table of ViT's layers, between whose shapes the operations per element that is read or written
  decide; and no faster than their bytes.
- Attention on tensor cores: the sum of products, exponentials and the arithmetic beside them, which a warp hardly overlaps; and
  no faster than its bytes.
- Each kernel also takes the time of a graph's node. The host and its copies are left out.

Kernels whose work is not counted have no prediction: those that work in shared memory, that read the same bytes many times, or
whose counts are not linear in the batch.
"""
import argparse
import json
import pathlib
import sys

import gpu_counts

EXPECTED = json.loads((pathlib.Path(__file__).parent / "gpu_rates.json").read_text())
ROWS = 256 * 197  # of the products that gpu_rates measures
LAYERS = {"qkv": (1, 3), "proj": (1, 1), "fc1": (1, 4), "fc2": (4, 1)}  # their depth and columns, in widths
WIDTHS = {"ViT-Ti": 192, "ViT-S": 384, "ViT-B": 768}
BYTES = {"f64": 8, "f32": 4, "TF32": 4, "bf16": 2}
MMA_FLOP = {"bf16": 2 * 16 * 8 * 16, "TF32": 2 * 16 * 8 * 8}

# Instructions beside an exponential: scale, bias, maximum, sum, and in f32 also what CUDA's expf takes beside its ex2.
ARITHMETIC = {"bf16": 6, "TF32": 12}
MANY_TIMES = 8  # a kernel that requests its bytes so often is not bound by the memory


def intensity(m, n, k):
    """Operations per element that a product reads or writes."""
    return m * n * k / (m * k + k * n + m * n)


class Rates:
    """In units per second, by the names of gpu_rates: what is expected, unless it was measured."""

    def __init__(self, measured=()):
        self.measured = {rate["name"]: rate["value"] for rate in measured}

    def of(self, name):
        """In the unit of its name."""
        if name in self.measured:
            return self.measured[name]
        model, _, rest = name.partition(" ")
        if model in WIDTHS:
            precision = rest.split()[-1]
            return self.of(f"product {precision}") * self.of(f"product share {'f32' if precision == 'f32' else model}")
        return EXPECTED[name]["value"] if name in EXPECTED else None

    def product(self, precision, m, n, k):
        """FLOP/s: between two shapes of the table in proportion, below the first one down to zero."""
        points = [(0.0, 0.0), *sorted((intensity(ROWS, to * width, depth * width), self.of(f"{model} {layer} {precision}"))
                                      for model, width in WIDTHS.items() for layer, (depth, to) in LAYERS.items())]
        at = intensity(m, n, k)
        for (low, rate_low), (high, rate_high) in zip(points, points[1:]):
            if at <= high and high > low:
                return 1e12 * (rate_low + (rate_high - rate_low) * (at - low) / (high - low))
        return 1e12 * points[-1][1]

    def memory_seconds(self, amount):
        return amount / (1e12 * self.of("copy") * self.of("row share"))

    def node_seconds(self):
        return 1e-6 * self.of("node")


def product_seconds(product, rates):
    """Of one product, without its start."""
    m, n, k, batch = (product[size] for size in gpu_counts.SIZES)
    factors, result = BYTES[product["factors"]], BYTES[product["result"]]
    moved = batch * (factors * (m * k + k * n) + result * m * n * (2 if product["adds"] else 1))
    flop = 2 * m * n * k * batch
    return max(flop / rates.product(product["factors"], m, n, k), rates.memory_seconds(moved))


def attention_seconds(kernel, rates):
    """The sum of its parts."""
    precision, products = ("bf16", kernel["mma_bf16"]) if kernel["mma_bf16"] else ("TF32", kernel["mma_tf32"])
    of_products = products * MMA_FLOP[precision] / rates.of(f"mma {precision}")
    of_exponentials = kernel["exponentials"] * (1 / rates.of("ex2") + ARITHMETIC[precision] / rates.of("arithmetic"))
    return 1e-12 * (of_products + of_exponentials)


def uncounted(kernel, rates):
    """Why a kernel that uses no tensor cores is not bound by its bytes, or ""."""
    if kernel["wavefronts"] / (1e12 * rates.of("wavefronts")) > rates.memory_seconds(kernel["bytes"]):
        return "works in shared memory"
    return "reads the same bytes many times" if kernel["requested_bytes"] > MANY_TIMES * kernel["bytes"] else ""


def kernel_seconds(kernel, rates):
    """What its launches take without their starts, and what bounds it."""
    of_memory = rates.memory_seconds(kernel["bytes"])
    of_parts = attention_seconds(kernel, rates)
    return (of_parts, "products") if of_parts > of_memory else (of_memory, "memory")


def predict_kernels(kernels, doubtful, rates):
    """Rows of the kernels, and of those without a prediction."""
    rows, missing = [], []
    for name, kernel in kernels.items():
        uses_tensor_cores = kernel["mma_bf16"] + kernel["mma_tf32"] > 0
        why = "counts are not linear" if name in doubtful else "" if uses_tensor_cores else uncounted(kernel, rates)
        if why:
            missing.append({"name": name, "launches": kernel["launches"], "why": why})
            continue
        seconds, bound = kernel_seconds(kernel, rates)
        rows.append({"name": name, "launches": kernel["launches"], "bound": bound,
                     "ms": 1e3 * (seconds + kernel["launches"] * rates.node_seconds())})
    return rows, missing


def predict_products(products, rates):
    """Rows by op, and of what has no table."""
    rows, missing = {}, []
    for product in products:
        name = f"cuBLASLt {product['op']}"
        if rates.of(f"product {product['factors']}") is None:
            missing.append({"name": name, "launches": product["times"], "why": f"no rates of {product['factors']}"})
            continue
        row = rows.setdefault(name, {"name": name, "launches": 0, "bound": "products", "ms": 0})
        row["launches"] += product["times"]
        row["ms"] += 1e3 * product["times"] * (product_seconds(product, rates) + rates.node_seconds())
    return list(rows.values()), missing


def predict(entry, rates):
    kernels, products, doubtful = gpu_counts.step_at(entry)
    rows, missing = predict_kernels(kernels, doubtful, rates)
    of_products, without_table = predict_products(products, rates)
    rows = sorted(rows + of_products, key=lambda row: -row["ms"])
    step = {key: entry[key] for key in ("workload", "batch", "mode", "precision")}
    return {**step, "ms": sum(row["ms"] for row in rows), "kernels": rows, "not_predicted": missing + without_table}


def text_of(step):
    lines = [f"{step['workload']}, batch {step['batch']}, {step['mode']}, {step['precision']}: predicted {step['ms']:.3g} ms "
             "for its kernels"]
    lines += [f"  {row['ms']:9.4f} ms {row['launches']:7.0f} x  {row['name']} ({row['bound']})" for row in step["kernels"]]
    lines += [f"  not predicted  {row['launches']:7.0f} x  {row['name']}: {row['why']}" for row in step["not_predicted"]]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("counts", type=pathlib.Path)
    parser.add_argument("--measured", type=pathlib.Path, help="what gpu_rates --json wrote; no file: nothing was measured")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    has_rates = options.measured is not None and options.measured.exists()
    rates = Rates(json.loads(options.measured.read_text()) if has_rates else ())
    entries = json.loads(options.counts.read_text())
    steps = [predict(entry, rates) for entry in entries if gpu_counts.is_complete(entry)]
    for step in steps:
        print(text_of(step), flush=True)
    for entry in entries:
        if not gpu_counts.is_complete(entry):
            print(f"{entry['workload']}, {entry['mode']}, {entry['precision']}: not counted to the end, see gpu_counts.py")
    if options.json:
        options.json.write_text(json.dumps(steps, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
