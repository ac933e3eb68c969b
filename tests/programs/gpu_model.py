#!/usr/bin/env python3
"""The model of a GPU's time: hand-computed times of made-up counts, and counts of the fake device beside what they follow from.

    tests/programs/gpu_model.py [--build build]
"""
import json
import sys

from checks import ROOT, Checks, build_of

sys.path.insert(0, str(ROOT / "bench"))
import gpu_counts  # noqa: E402
import gpu_model  # noqa: E402

# In place of what gpu_rates measures. Bytes: 2 TB/s times a row share of 0.85.
RATES = {"copy": 2.0, "mma bf16": 500.0, "mma TF32": 250.0, "ex2": 4.0, "node": 1.0} | {
    f"{model} {layer} bf16": 100.0 for model in gpu_model.WIDTHS for layer in gpu_model.LAYERS}

NOTHING = {"launches": 0, "bytes": 0, "requested_bytes": 0, "wavefronts": 0, "mma_bf16": 0, "mma_tf32": 0, "exponentials": 0}


def made_up_run(batch, blocks):
    """A step whose counts are bilinear, but those of two kernels at the third batch."""
    pairs, off = batch * blocks, 0 if batch < 3 else batch
    amount = 170_000 * (pairs + 2 * blocks + 3 * batch + 4)
    attention = {**NOTHING, "launches": blocks, "exponentials": 100_000_000 * pairs}
    same = {**NOTHING, "launches": 1, "bytes": 1000, "requested_bytes": 1000}
    return {"batch": batch, "blocks": blocks, "kernels": {
        "row_kernel": {**NOTHING, "launches": 1 + blocks, "bytes": amount, "requested_bytes": 2 * amount},
        "mma_bf16_kernel": {**attention, "mma_bf16": 1_000_000 * pairs},
        "mma_tf32_kernel": {**attention, "mma_tf32": 1_000_000 * pairs},
        "sort_kernel": {**same, "requested_bytes": 9000}, "shared_kernel": {**same, "wavefronts": 1_000_000},
        "crooked_kernel": {**same, "bytes": 1000 + 20 * off}, "straight_kernel": {**same, "bytes": 1000 + 16 * off}},
            "products": [{"op": "linear", "m": 100 * batch, "n": 200, "k": 300, "batch": 1, "factors": "bf16", "result": "bf16",
                          "adds": False}] * (1 + 2 * blocks)
            + [{"op": "matmul", "m": 4, "n": 4, "k": 4, "batch": batch, "factors": "f64", "result": "f64", "adds": False}]}


STEP = {"workload": "a_model", "batch": 10, "mode": "train", "precision": "bf16", "blocks": 4}

# Microseconds for ten images and four blocks: 82 x 170 KB at 1.7 TB/s and 5 nodes; for attention 4e7 products of 4096 or 2048
# operations, 4e9 exponentials at 4 T/s with 6 or 12 instructions at 33.5 T/s, 4 nodes; 9 products of 1000 x 200 x 300 at
# 100 TFLOP/s, more than their 1.12 MB take, and 9 nodes; 1000 bytes and a node.
EXPECTED = {"row_kernel": 8.2 + 5, "mma_bf16_kernel": 327.68 + 1000 + 716.41791 + 4,
            "mma_tf32_kernel": 327.68 + 1000 + 1432.83582 + 4, "cuBLASLt linear": 9 * (1.2 + 1),
            "straight_kernel": 0.000588235 + 1}


def is_near(a, b):
    return abs(a - b) <= 1e-7 * abs(b)


def check_times(checks):
    counts, rates, out = (checks.folder / name for name in ("counts.json", "rates.json", "predict.json"))
    runs = [made_up_run(*at) for at in ((1, 2), (1, 3), (2, 2), (2, 3), (3, 2))]
    counts.write_text(json.dumps([{**STEP, "runs": runs}, {**STEP, "mode": "infer", "runs": runs[:3]}]))
    rates.write_text(json.dumps([{"name": name, "value": value, "unit": ""} for name, value in RATES.items()]))
    done = checks.execute([ROOT / "bench/gpu_model.py", counts, "--measured", rates, "--json", out])
    checks.that("the model runs", done.returncode == 0, done)
    step = json.loads(out.read_text())[0]
    found = {row["name"]: 1e3 * row["ms"] for row in step["kernels"]}
    checks.that("kernels and products take the hand-computed times", found.keys() == EXPECTED.keys() and
                all(is_near(found[name], time) for name, time in EXPECTED.items()), found)
    checks.that("the step takes their sum", is_near(1e3 * step["ms"], sum(EXPECTED.values())), step["ms"])
    why = {row["name"]: row["why"] for row in step["not_predicted"]}
    checks.that("kernels whose work is not counted have no prediction", why == {
        "sort_kernel": "reads the same bytes many times", "shared_kernel": "works in shared memory",
        "crooked_kernel": "counts are not linear", "cuBLASLt matmul": "no rates of f64"}, why)
    checks.that("a step that was counted in part has none", len(json.loads(out.read_text())) == 1 and
                "a_model, infer, bf16: not counted to the end" in done.stdout, done)
    checks.that("what has no prediction is listed", "not predicted        1 x  sort_kernel: reads the same bytes many times" in done.stdout, done)
    unmeasured = gpu_model.Rates()
    done = checks.execute([ROOT / "bench/gpu_model.py", counts, "--measured", checks.folder / "none.json"])
    checks.that("without measurements the expected rates count", done.returncode == 0 and unmeasured.of("copy") == 4.3 and
                is_near(unmeasured.of("ViT-Ti qkv bf16"), 989 / 2) and
                is_near(unmeasured.of("ViT-Ti qkv f32"), 0.75 * 67), done)
    checks.that("every expected rate says where it is from", all(rate["source"] for rate in gpu_model.EXPECTED.values()))


def check_table(checks):
    """The rates of products between the shapes of a table."""
    def rate(m, n, k):
        return rates.product("bf16", m, n, k) / 1e12

    measured = {**RATES, "ViT-Ti proj bf16": 40.0, "ViT-Ti qkv bf16": 60.0, "ViT-B fc1 bf16": 500.0, "ViT-B fc2 bf16": 500.0}
    rates = gpu_model.Rates([{"name": name, "value": value} for name, value in measured.items()])
    rows = gpu_model.ROWS
    checks.that("a shape of the table has its rate", is_near(rate(rows, 192, 192), 40) and is_near(rate(192, 576, rows), 60))
    # 1 / intensity is the sum of the sides' reciprocals: 1 / 120 lies between those of proj, 1 / 95.8, and qkv, 1 / 143.6.
    low, high = (1 / (2 / 192 + 1 / rows), 1 / (1 / 192 + 1 / 576 + 1 / rows))
    checks.that("one between two has a rate in proportion", is_near(rate(360, 360, 360), 40 + 20 * (120 - low) / (high - low)))
    checks.that("a smaller one a smaller rate", is_near(rate(72, 72, 72), 40 * 24 / low))
    checks.that("a larger one that of the largest", rate(10_000, 10_000, 10_000) == 500)


def check_counts(checks):
    """Counts of three sizes of a small model give those of a fourth."""
    model, subject = next(iter(gpu_counts.TINY.items()))
    file = checks.folder / "tiny.json"
    programs = checks.build / "fake"
    command = [ROOT / "bench/gpu_counts.py", file, "--programs", programs, "--tiny", "--mode", "train", "--precision", "bf16"]
    done = checks.execute(command)
    checks.that("the fake device counts steps of a small model", done.returncode == 0, done)
    if done.returncode != 0:
        return
    before = file.read_bytes()
    again = checks.execute(command)
    checks.that("what is there is not counted again", again.stdout == "" and file.read_bytes() == before, again)
    entry = json.loads(file.read_text())[0]
    entry |= {"batch": 8, "blocks": 4}
    kernels, products, doubtful = gpu_counts.step_at(entry)
    counted = gpu_counts.count(programs, model, subject, entry, (8, 4))
    exact = ("launches", "mma_bf16", "exponentials")
    wrong = [(name, field, kernel[field], kernels.get(name, {}).get(field)) for name, kernel in counted["kernels"].items()
             for field in exact if kernel[field] != kernels.get(name, {}).get(field)]
    checks.that("launches, products on tensor cores and exponentials of more images and blocks follow", not wrong, wrong)
    whole = sum(kernel["bytes"] for kernel in counted["kernels"].values())  # partial sums are of whole runs of rows
    wrong = [(name, kernel["bytes"], kernels[name]["bytes"]) for name, kernel in counted["kernels"].items()
             if name not in doubtful and abs(kernels[name]["bytes"] - kernel["bytes"]) > max(0.05 * kernel["bytes"], 5e-3 * whole)]
    checks.that("so do their bytes", not wrong and len(doubtful) <= len(kernels) / 3, (wrong, doubtful))
    total, expected = (sum(kernel["bytes"] for kernel in all_of.values()) for all_of in (kernels, counted["kernels"]))
    checks.that("in all within 2 %", abs(total - expected) <= 0.02 * expected, (total, expected))
    listed = sorted(json.dumps(product, sort_keys=True) for product in products for _ in range(round(product.pop("times"))))
    checks.that("and each of cuBLASLt's products",
                listed == sorted(json.dumps(product, sort_keys=True) for product in counted["products"]), listed)
    tensor_cores = {name for name, kernel in kernels.items() if kernel["mma_bf16"] > 0}
    checks.that("attention's kernels multiply on tensor cores",
                tensor_cores == {"mma_attention_kernel", "mma_dq_kernel", "mma_dkv_kernel"}, tensor_cores)


def main():
    with Checks(build_of(__doc__)) as checks:
        check_times(checks)
        check_table(checks)
        check_counts(checks)
        return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
