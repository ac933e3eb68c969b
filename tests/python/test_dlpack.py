"""Memory shared with numpy and PyTorch: values, strides, lifetimes, read-only arrays, ownership."""
import gc
import os
import resource
import subprocess
import sys
import unittest
import weakref

import numpy as np

import fovea

try:
    import torch
except ImportError:
    torch = None

DTYPES = ["f8", "f4", "i8", "u1"]
OTHERS = {"f2": "f4", "i4": "i8", "i2": "i8", "i1": "i8", "u2": "i8", "u4": "i8", "?": "u1"}


def drawn_array(rng):
    """An array of a drawn type, shape and layout, as views of other arrays have them."""
    shape = [int(rng.integers(0, 5)) for _ in range(rng.integers(0, 5))]
    array = rng.integers(0, 2, size=[2 * size for size in shape]).astype(rng.choice([*DTYPES, *OTHERS]))
    array = np.asarray(array[tuple(slice(None, None, int(rng.choice([1, 2, -1, -2]))) for _ in shape)])
    array = np.asarray(array[tuple(slice(0, size) for size in shape)]).transpose(rng.permutation(len(shape)))
    if rng.random() < 0.2:
        array = np.broadcast_to(array, (int(rng.integers(1, 3)), *array.shape))
    elif rng.random() < 0.2 and array.base is not None:
        array = array.view()
        array.flags.writeable = False
    return array


class Arrays(unittest.TestCase):
    def test_two_hundred_drawn_arrays_pass_through_unchanged(self):
        for case in range(200):
            rng = np.random.default_rng(case)
            array = drawn_array(rng)
            with self.subTest(case=case, dtype=array.dtype, shape=array.shape, strides=array.strides):
                self.check(array)

    def check(self, array):
        x = fovea.from_dlpack(array)
        is_same_type = array.dtype.str[1:] in DTYPES
        expected = array if is_same_type else array.astype(OTHERS[array.dtype.str[1:].replace("b1", "?")])
        np.testing.assert_array_equal(x.numpy(), expected, strict=True)
        self.assertEqual(np.shares_memory(x.numpy(), array), is_same_type and array.size > 0 and min((*array.strides, 0)) >= 0)
        if is_same_type:
            self.assertEqual([s * array.itemsize for s in x.strides], list(array.strides))
            self.assertEqual(x.numpy().flags.writeable or min((*array.strides, 0)) < 0,
                             array.flags.writeable or array.size == 0 or min((*array.strides, 0)) < 0)
        if torch is not None:
            np.testing.assert_array_equal(torch.from_dlpack(x).numpy(), expected)

    def test_both_sides_see_what_one_writes(self):
        array = np.zeros((2, 3), dtype="f4")
        x = fovea.from_dlpack(array)
        array[1, 2] = 7
        self.assertEqual(x[1, 2].item(), 7)
        x[0] = 3
        self.assertEqual(array[0].tolist(), [3, 3, 3])
        back = x.numpy()
        back[1] = 1
        self.assertEqual(array[1].tolist(), [1, 1, 1])

    def test_read_only_memory_stays_so(self):
        array = np.ones(3)
        array.flags.writeable = False
        x = fovea.from_dlpack(array)
        for write in (lambda: x.fill_(0), lambda: x.copy_(x), lambda: x[1:].fill_(0), lambda: x.__setitem__(0, 1.0)):
            with self.assertRaisesRegex(fovea.Error, "read-only"):
                write()
        self.assertFalse(x.numpy().flags.writeable)
        self.assertTrue(x.clone().numpy().flags.writeable)

    def test_a_view_outlives_its_owner(self):
        array = np.arange(6.0)
        gone = weakref.ref(array)
        x = fovea.from_dlpack(array)[2:4]
        del array
        gc.collect()
        self.assertIsNotNone(gone())
        self.assertEqual(x.tolist(), [2, 3])
        view = x.numpy()
        del x
        gc.collect()
        self.assertEqual(view.tolist(), [2, 3])
        del view
        gc.collect()
        self.assertIsNone(gone())

    def test_shared_memory_is_not_reused_for_results(self):
        array = np.full(100, -1.0, dtype="f4")
        x = fovea.from_dlpack(array)
        y = fovea.relu(x) + fovea.gelu(x)
        self.assertEqual(array.min(), -1)
        lent = fovea.ones(100)
        values = lent.numpy()
        del lent
        for _ in range(5):
            fovea.relu(fovea.zeros(100) - 1)
        self.assertEqual(values.tolist(), [1] * 100)
        self.assertEqual(y.shape, (100,))

    def test_memory_does_not_grow(self):
        def rounds(count):
            for i in range(count):
                x = fovea.from_dlpack(np.full((64, 64), i, dtype="f4"))
                (x + 1).numpy()
                fovea.tensor(np.ones(1000)).__dlpack__()  # a capsule that nobody reads
        rounds(100)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        rounds(1000)
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 1024)  # KiB


class Refusals(unittest.TestCase):
    def test_gradients_and_bf16_name_what_to_do(self):
        x = fovea.ones(2, requires_grad=True)
        for use in (x.numpy, x.__dlpack__, lambda: np.from_dlpack(x)):
            with self.assertRaisesRegex(fovea.Error, r"requires a gradient.*\.detach\(\)"):
                use()
        with self.assertRaisesRegex(fovea.Error, r"bf16.*\.float\(\)"):
            fovea.ones(2, dtype=fovea.bf16).numpy()

    def test_what_is_no_array_is_an_error(self):
        with self.assertRaisesRegex(fovea.Error, "got list, expected an array with __dlpack__"):
            fovea.from_dlpack([1, 2])
        with self.assertRaisesRegex(fovea.Error, "from_dlpack: got elements of DLPack's type 5"):
            fovea.from_dlpack(np.zeros(2, dtype=complex))
        with self.assertRaises(fovea.Error):
            fovea.from_dlpack(np.zeros([1] * 7))


@unittest.skipIf(torch is None, "SKIPPED: PyTorch is not installed")
class PyTorch(unittest.TestCase):
    def test_memory_is_shared_both_ways(self):
        theirs = torch.zeros(2, 3)
        ours = fovea.from_dlpack(theirs)
        ours.fill_(4)
        self.assertTrue((theirs == 4).all())
        back = torch.from_dlpack(ours)
        back[0, 0] = 1
        self.assertEqual(ours[0, 0].item(), 1)

    def test_bf16_passes(self):
        theirs = torch.tensor([1.5, -2.25]).bfloat16()
        ours = fovea.from_dlpack(theirs)
        self.assertEqual((ours.dtype, ours.tolist()), (fovea.bf16, [1.5, -2.25]))
        self.assertTrue(torch.equal(torch.from_dlpack(ours), theirs))

    def test_legacy_capsules_pass(self):
        ours = fovea.from_dlpack(LegacyArray(torch.arange(4.0)))
        self.assertEqual(ours.tolist(), [0, 1, 2, 3])
        self.assertTrue(torch.equal(torch.utils.dlpack.from_dlpack(ours.__dlpack__()), torch.arange(4.0)))

    def test_both_compute_in_turn_whichever_is_imported_first(self):
        for order in ("fovea, torch", "torch, fovea"):
            done = subprocess.run([sys.executable, "-c", f"""
import {order}
ours, theirs = fovea.ones(100, 100, requires_grad=True), torch.ones(100, 100, requires_grad=True)
for _ in range(200):
    for x in (ours, theirs):
        (x @ x).sum().backward()
print(ours.grad[0, 0].item() == theirs.grad[0, 0].item() == 200 * 200)
print(len({{line.split()[-1] for line in open("/proc/self/maps") if "libgomp" in line}}), "libgomp")
"""], capture_output=True, text=True, timeout=600, env={**os.environ, "OMP_NUM_THREADS": "2"})
            self.assertEqual(done.stdout, "True\n1 libgomp\n", done.stderr)

    def test_owners_are_freed_once_each(self):
        for _ in range(100):
            x = fovea.from_dlpack(torch.ones(50))
            y = torch.from_dlpack(x[10:20])
            del x
            self.assertEqual(float(y.sum()), 10)


class LegacyArray:
    """An array of a library that knows no versions of DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self):
        return torch.utils.dlpack.to_dlpack(self.array)

    def __dlpack_device__(self):
        return (1, 0)


if __name__ == "__main__":
    unittest.main()
