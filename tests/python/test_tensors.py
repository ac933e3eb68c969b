"""Making tensors, indexing, operators, printing: beside numpy."""
import itertools
import unittest

import numpy as np

import fovea

RNG = np.random.default_rng(1)


def shared(array):
    return fovea.from_dlpack(array)


class Creation(unittest.TestCase):
    def test_lists_are_f32_and_arrays_keep_their_type(self):
        self.assertEqual(fovea.tensor([1, 2]).dtype, fovea.f32)
        self.assertEqual(fovea.tensor(3).shape, ())
        for given, expected in [("f8", "f64"), ("f4", "f32"), ("f2", "f32"), ("i8", "i64"), ("i4", "i64"), ("i2", "i64"),
                                ("u2", "i64"), ("u1", "u8"), ("?", "u8")]:
            array = np.array([0, 1, 1], dtype=given)
            made = fovea.tensor(array)
            self.assertEqual(made.dtype, getattr(fovea, expected))
            np.testing.assert_array_equal(made.numpy(), array.astype(made.numpy().dtype))
        self.assertEqual(fovea.tensor(np.ones(2), dtype=fovea.bf16).dtype, fovea.bf16)

    def test_values_are_copied(self):
        array = np.zeros(3)
        made = fovea.tensor(array)
        array[0] = 1
        self.assertEqual(made.tolist(), [0, 0, 0])

    def test_shapes_are_numbers_or_a_sequence(self):
        for make in (fovea.zeros, fovea.ones):
            self.assertEqual(make(2, 3).shape, (2, 3))
            self.assertEqual(make((2, 3)).shape, (2, 3))
            self.assertEqual(make([4]).shape, (4,))
            self.assertEqual(make(()).shape, ())
        self.assertEqual(fovea.full((2,), 7).tolist(), [7, 7])
        self.assertEqual(fovea.arange(3).tolist(), [0, 1, 2])

    def test_random_numbers_are_a_function_of_the_seed(self):
        one, same, other = (fovea.randn(4, 5, seed=seed).numpy() for seed in (1, 1, 2))
        np.testing.assert_array_equal(one, same)
        self.assertFalse((one == other).any())
        with self.assertRaisesRegex(TypeError, "seed"):
            fovea.randn(2)
        uniform = fovea.rand(1000, seed=1).numpy()
        self.assertTrue((uniform >= 0).all() and (uniform < 1).all())

    def test_what_is_no_number_is_an_error(self):
        with self.assertRaisesRegex(fovea.Error, "tensor: got values of numpy's type <U1"):
            fovea.tensor(["a"])
        with self.assertRaisesRegex(fovea.Error, "complex128"):
            fovea.tensor(np.zeros(2, dtype=complex))
        with self.assertRaisesRegex(TypeError, "tensor: dtype: got <class 'numpy.float32'>, expected one of fovea's"):
            fovea.tensor([1], dtype=np.float32)


class Indexing(unittest.TestCase):
    def test_every_pair_of_indices_gives_what_numpy_gives(self):
        array = RNG.normal(size=(4, 5, 3))
        x = shared(array)
        one_axis = [0, -1, 3, np.int64(2), slice(None), slice(1, 3), slice(-3, None), slice(None, None, 2), slice(3, 1),
                    slice(None, None, -1), slice(4, 0, -2), slice(2, 2, -1), None, ...]
        for index in itertools.product(one_axis, repeat=2):
            if index.count(...) > 1:
                continue
            try:
                expected = array[index]
            except IndexError:
                with self.assertRaises(fovea.Error):
                    x[index]
                continue
            np.testing.assert_array_equal(x[index].numpy(), expected, err_msg=str(index))
        np.testing.assert_array_equal(x[..., 1].numpy(), array[..., 1])
        np.testing.assert_array_equal(x[1].numpy(), array[1])

    def test_a_tensor_of_positions_selects(self):
        array = RNG.normal(size=(4, 5, 3))
        positions = np.array([[3, 0, 3], [1, 1, 2]])
        x, at = shared(array), fovea.tensor(positions)
        np.testing.assert_array_equal(x[at].numpy(), array[positions])
        np.testing.assert_array_equal(x[:, at].numpy(), array[:, positions])
        np.testing.assert_array_equal(x[1:3, 2, fovea.tensor([2, 0], dtype=fovea.i64)].numpy(), array[1:3, 2][:, [2, 0]])

    def test_an_array_of_integers_indexes_as_a_tensor_of_positions_does(self):
        array = RNG.normal(size=(4, 5, 3))
        x = shared(array)
        for kind in ("i8", "i4", "u2"):
            at = np.array([3, 0, 3], dtype=kind)
            for index in [at, (at,), (slice(None), at), (at, 0), (1, at), (slice(1, 4), np.array([[0, 4], [1, 1]])), at[:0],
                          (at, slice(None, None, -1)), (..., at[1:2]), np.array(2, dtype=kind)]:
                np.testing.assert_array_equal(x[index].numpy(), array[index], err_msg=str(index))
        permutation = RNG.permutation(4)
        np.testing.assert_array_equal(x[permutation].numpy(), array[permutation])

    def test_writing_at_positions_is_that_of_numpy(self):
        for make in (np.asarray, fovea.tensor):
            array, at = np.zeros((4, 5)), np.array([3, 0])
            x, expected = shared(array), np.zeros((4, 5))
            for index, value in [((at,), 7.0), ((slice(None), at), RNG.normal(size=(4, 2))), ((1, at), RNG.normal(size=2)),
                                 ((np.array([[0, 1], [2, 2]]), slice(1, 3)), RNG.normal(size=(2, 2, 2)))]:
                place = tuple(make(i) if isinstance(i, np.ndarray) else i for i in index)
                x[place] = value if isinstance(value, float) else fovea.tensor(value)
                expected[index] = value
                np.testing.assert_array_equal(array, expected)

    def test_gradients_pass_through_writing_at_positions(self):
        value = fovea.tensor([1.0, 2.0], requires_grad=True)
        x = fovea.zeros(4)
        x[np.array([3, 1])] = value * 3
        (x * fovea.tensor([1.0, 10.0, 100.0, 1000.0])).sum().backward()
        self.assertEqual((x.tolist(), value.grad.tolist()), ([0, 6, 0, 3], [3000, 30]))

    def test_a_position_out_of_range_reads_and_writes_nothing(self):
        x = fovea.zeros(3)
        for position in (3, -1):
            with self.assertRaisesRegex(fovea.Error, f"index {position} at position 1 is out of range, expected 0 to 2"):
                x[np.array([0, position])]
            with self.assertRaisesRegex(fovea.Error, f"index: position {position} is out of range, expected 0 to 2"):
                x[np.array([0, position])] = 1
        self.assertEqual(x.tolist(), [0, 0, 0])

    def test_what_an_index_raises_comes_out(self):
        class Index:
            def __index__(self):
                raise ValueError("mine")
        x = fovea.zeros(2, 3)
        for use in (lambda: x[Index()], lambda: x[0, Index()], lambda: x[:Index()], lambda: x.__setitem__(Index(), 1),
                    lambda: fovea.zeros(Index()), lambda: x.reshape(3, Index()), lambda: x.permute((Index(), 0))):
            with self.assertRaisesRegex(ValueError, "mine"):
                use()
        for use in (lambda: x.size(Index()), lambda: x.sum(Index()), lambda: fovea.full(Index(), 1)):
            with self.assertRaises(TypeError):
                use()

    def test_views_share_memory_and_writing_goes_through(self):
        array = np.zeros((3, 4))
        x = shared(array)
        x[1] = 5
        x[:, 2] = fovea.tensor([1.0, 2.0, 3.0], dtype=fovea.f64)
        expected = np.zeros((3, 4))
        expected[1], expected[:, 2] = 5, [1, 2, 3]
        np.testing.assert_array_equal(array, expected)

    def test_mistakes_are_errors(self):
        x = fovea.zeros(2, 3)
        for index, text in [((0, 0, 0), "got 3 indices for shape"), (2, "out of range|expected"), ("a", "got str"),
                            ((..., ...), "two ellipses"), (fovea.zeros(1), "got a tensor of f32, expected i64"), (2 ** 70, "got 1180591620717411303424"),
                            (np.array([True, False]), r"an array of u8, expected i64.*np.flatnonzero\(mask\) gives their positions"),
                            (np.zeros(2, dtype="f4"), "got an array of f32"), ([0, 1], "got list, expected an int"),
                            ((np.array([0]), np.array([0])), "two tensors of positions")]:
            with self.assertRaisesRegex(fovea.Error, text):
                x[index]
        with self.assertRaisesRegex(fovea.Error, "writing takes"):
            x[::-1] = 1
        for value in ([1, 2, 3], np.ones(3)):
            with self.assertRaisesRegex(TypeError, r"index: got (list|ndarray), expected a tensor or a number; fovea.tensor\(\)"):
                x[0] = value
        for make, text in [(lambda: fovea.zeros(2 ** 70), "integer: got 1180591620717411303424"), (lambda: x.reshape(2.5), "float"),
                           (lambda: fovea.ones("ab"), "str")]:
            with self.assertRaisesRegex((fovea.Error, TypeError), text):
                make()


class Operators(unittest.TestCase):
    def test_arithmetic_is_that_of_numpy(self):
        a, b = RNG.normal(size=(2, 3)), RNG.normal(size=(3,))
        x, y = shared(a), shared(b)
        for f in [lambda p, q: p + q, lambda p, q: p - q, lambda p, q: p * q, lambda p, q: p / q, lambda p, q: p + 2,
                  lambda p, q: 2 + p, lambda p, q: p - 2, lambda p, q: 2 - p, lambda p, q: p * 2, lambda p, q: 2 * p,
                  lambda p, q: p / 2, lambda p, q: 2 / p, lambda p, q: -p, lambda p, q: abs(p), lambda p, q: q ** 2,
                  lambda p, q: p @ q.reshape(3, 1), lambda p, q: p + np.float32(1.5)]:
            np.testing.assert_allclose(f(x, y).numpy(), f(a, b), rtol=1e-15)

    def test_comparisons_are_masks_of_u8(self):
        a = np.array([1.0, 2.0, np.nan, 3.0])
        b = np.array([1.0, 3.0, 1.0, np.nan])
        for f in [lambda p, q: p == q, lambda p, q: p != q, lambda p, q: p < q, lambda p, q: p > q, lambda p, q: p <= q,
                  lambda p, q: p >= q]:
            self.assertEqual(f(shared(a), shared(b)).dtype, fovea.u8)
            np.testing.assert_array_equal(f(shared(a), shared(b)).numpy(), f(a, b))
            np.testing.assert_array_equal(f(shared(a), 2).numpy(), f(a, 2))

    def test_an_array_or_a_list_beside_a_tensor_is_an_error_that_says_what_to_do(self):
        x, array = fovea.zeros(2, 3), np.zeros((2, 3), dtype=np.float32)
        for f in [lambda p, q: p + q, lambda p, q: p - q, lambda p, q: p * q, lambda p, q: p / q, lambda p, q: p @ q,
                  lambda p, q: p == q, lambda p, q: p != q, lambda p, q: p < q, lambda p, q: p >= q]:
            for pair in [(x, array), (array, x), (x, [1]), (x, (1, 2))]:
                with self.assertRaisesRegex(TypeError, r"got (ndarray|list|tuple), .*; fovea.tensor\(\) makes a tensor of it"):
                    f(*pair)
        self.assertFalse(x == None)  # noqa: E711
        self.assertTrue(x != "x")
        self.assertEqual((x + np.array(2.0)).sum().item(), 12)  # a number in an array

    def test_where_takes_numbers_which_have_the_tensors_dtype(self):
        x = fovea.tensor([1.0, 5.0], dtype=fovea.f64, requires_grad=True)
        for y, expected in [(fovea.where(x > 3, 0, x), [1, 0]), (fovea.where(x > 3, x, -1.5), [-1.5, 5])]:
            self.assertEqual((y.dtype, y.tolist()), (fovea.f64, expected))
        self.assertEqual(fovea.where(x > 3, 1, 0.5).tolist(), [0.5, 1])
        fovea.where(x > 3, 0, x).sum().backward()
        self.assertEqual(x.grad.tolist(), [1, 0])

    def test_extremes_without_an_axis_are_those_of_all_elements(self):
        for array in (RNG.normal(size=(3, 4)), RNG.integers(9, size=(3, 4))):
            x = fovea.tensor(array)
            self.assertEqual((x.max().item(), fovea.min(x).item(), x.argmax().item()), (array.max(), array.min(), array.argmax()))
        x = fovea.tensor([1.0, 3.0, 3.0], requires_grad=True)
        x.max().backward()
        self.assertEqual(x.grad.tolist(), [0, 1, 0])

    def test_the_name_of_a_dtype_as_text_is_an_error_that_says_what_to_write(self):
        with self.assertRaisesRegex(fovea.Error, "to: got the text 'f64', expected fovea.f64"):
            fovea.zeros(2).to("f64")

    def test_two_dtypes_are_an_error(self):
        with self.assertRaisesRegex(fovea.Error, "add: got tensors of f32 and f64"):
            fovea.zeros(2) + fovea.zeros(2, dtype=fovea.f64)

    def test_plus_equals_makes_a_new_tensor(self):
        x = y = fovea.zeros(2)
        x += 1
        self.assertEqual((x.tolist(), y.tolist()), ([1, 1], [0, 0]))

    def test_truth_length_and_iteration(self):
        self.assertTrue(fovea.tensor(2) > 1)
        self.assertFalse(fovea.tensor([0.0]))
        with self.assertRaisesRegex(fovea.Error, "truth is ambiguous"):
            bool(fovea.zeros(2))
        self.assertEqual(len(fovea.zeros(3, 2)), 3)
        self.assertEqual([row.tolist() for row in fovea.tensor([[1, 2], [3, 4]])], [[1, 2], [3, 4]])
        for use in (len, list):
            with self.assertRaises(TypeError):
                use(fovea.tensor(1))
        self.assertEqual(len({fovea.zeros(1), fovea.zeros(1)}), 2)  # by identity, as in PyTorch

    def test_values_leave_as_python_numbers(self):
        self.assertIs(type(fovea.tensor(2).item()), float)
        big = 2 ** 62 + 1
        self.assertEqual(fovea.tensor(big, dtype=fovea.i64).item(), big)
        self.assertEqual(fovea.tensor([1.5, 2]).to(fovea.bf16).tolist(), [1.5, 2])
        with self.assertRaisesRegex(fovea.Error, "item"):
            fovea.zeros(2).item()


class Printing(unittest.TestCase):
    def test_printed_as_in_pytorch(self):
        for x, text in [(fovea.tensor([1.0, 2.0]), "tensor([1., 2.])"),
                        (fovea.tensor([[1.5, -2.25]]), "tensor([[ 1.5000, -2.2500]])"),
                        (fovea.tensor([1], dtype=fovea.i64), "tensor([1])"),
                        (fovea.zeros(2, dtype=fovea.f64), "tensor([0., 0.], dtype=fovea.f64)"),
                        (fovea.zeros(1, requires_grad=True), "tensor([0.], requires_grad=True)"),
                        (fovea.zeros(1, requires_grad=True).exp(), "tensor([1.], op=exp)"),
                        (fovea.tensor(0.5), "tensor(0.5000)")]:
            self.assertEqual(repr(x), text)
        self.assertIn("...", repr(fovea.zeros(5000)))


if __name__ == "__main__":
    unittest.main()
