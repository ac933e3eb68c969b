"""The tape from Python: backward(), no_grad, ops written in Python, threads."""
import threading
import unittest

import fovea


def mish(x):
    """x tanh(softplus(x)) as one op."""
    with fovea.no_grad():
        y = x * fovea.tanh(fovea.ops.softplus(x))

    def backward(dy, x):
        t = fovea.tanh(fovea.ops.softplus(x))
        return dy * (t + (x - x * t * t) * fovea.sigmoid(x))

    return fovea.record("mish", y, [x], [x], backward)


def leaf(*shape, seed=1):
    return fovea.randn(*shape, seed=seed, dtype=fovea.f64, requires_grad=True)


class Backward(unittest.TestCase):
    def test_gradients_add_up_in_leaves(self):
        x = fovea.tensor([1.0, 2.0], requires_grad=True)
        y = (x * x).sum()
        y.backward(retain_graph=True)
        y.backward()
        self.assertEqual(x.grad.tolist(), [4, 8])
        x.grad = None
        self.assertIsNone(x.grad)

    def test_a_freed_tape_is_an_error(self):
        x = fovea.tensor([1.0], requires_grad=True)
        y = x.exp()
        y.backward()
        with self.assertRaisesRegex(fovea.Error, "freed"):
            y.backward()

    def test_a_root_of_several_elements_needs_a_gradient(self):
        x = leaf(3)
        y = x.exp()
        with self.assertRaisesRegex(fovea.Error, "needs a cotangent"):
            y.backward()
        y.backward(fovea.ones(3, dtype=fovea.f64))
        self.assertEqual(x.grad.tolist(), y.detach().tolist())

    def test_no_grad_as_a_block_and_as_a_decorator(self):
        x = leaf(2)
        with fovea.no_grad(), fovea.no_grad():
            self.assertFalse((x * 2).requires_grad)
        self.assertTrue(fovea.is_grad_enabled())
        self.assertFalse(fovea.no_grad()(lambda: x * 2)().requires_grad)
        self.assertTrue((x * 2).requires_grad)

    def test_what_a_tensor_says_of_its_place(self):
        x = leaf(2)
        y = x.exp()
        self.assertEqual((x.is_leaf, y.is_leaf, x.op, y.op), (True, False, None, "exp"))
        self.assertTrue(y.requires_grad)
        self.assertFalse(y.detach().requires_grad)
        with self.assertRaisesRegex(fovea.Error, r"wrap it in fovea.no_grad\(\)"):
            x.fill_(0)


class OwnOps(unittest.TestCase):
    def test_gradcheck_accepts_a_right_derivative_and_finds_a_wrong_one(self):
        result = fovea.gradcheck(mish, [leaf(3, 5)])
        self.assertTrue(result, result.message)
        self.assertEqual(result.entries, 15)

        def wrong(x):
            with fovea.no_grad():
                y = x * x
            return fovea.record("wrong", y, [x], [x], lambda dy, x: dy * x)
        result = fovea.gradcheck(wrong, [leaf(2)])
        self.assertFalse(result)
        self.assertIn("central difference", result.message)

    def test_gradcheck_needs_an_input_that_requires_a_gradient_and_a_tensor(self):
        with self.assertRaisesRegex(fovea.Error, "gradcheck: got 1 inputs of which none requires a gradient"):
            fovea.gradcheck(mish, [fovea.zeros(2, dtype=fovea.f64)])
        with self.assertRaisesRegex(fovea.Error, "gradcheck: f gave int, expected a tensor"):
            fovea.gradcheck(lambda x: 3, [leaf(2)])

    def test_gradcheck_of_an_op_with_kinks_says_so(self):
        x = fovea.tensor([1e-4, -1e-4, 2.0], dtype=fovea.f64, requires_grad=True)
        self.assertFalse(fovea.gradcheck(fovea.relu, [x]))
        self.assertTrue(fovea.gradcheck(fovea.relu, [x], has_kinks=True))
        with self.assertRaisesRegex(fovea.Error, "must be f64"):
            fovea.gradcheck(fovea.relu, [x.detach().float().requires_grad_()])

    def test_the_tape_shows_the_name(self):
        self.assertEqual(mish(leaf(2)).op, "mish")

    def test_a_saved_tensor_that_changed_is_an_error(self):
        x = leaf(2)
        h = x * 1
        y = mish(h)
        with fovea.no_grad():
            h.fill_(0)
        with self.assertRaisesRegex(fovea.Error, "mish"):
            y.sum().backward()

    def test_an_exception_ends_backward_and_leaves_gradients_whole(self):
        x, before = leaf(2), fovea.tensor([1.0, 2.0], dtype=fovea.f64)
        x.grad = before.clone()

        def broken(dy):
            raise KeyError("mine")
        with fovea.no_grad():
            y = x * 2
        y = fovea.record("broken", y, [x], [], broken)
        with self.assertRaisesRegex(KeyError, "mine"):
            (y.sum() + (x * 3).sum()).backward()
        self.assertIn(x.grad.tolist(), [[1, 2], [4, 5]])  # whole terms only

    def test_what_a_derivative_must_return(self):
        x = leaf(2)
        for returned, text in [(3, "gave int"), ((), "0 gradients for 1"), ([None, None], "2 gradients for 1"),
                               (fovea.ones(2), "gradient of f32 for an input of f64"), (["a"], "gave str"), (leaf(3), r"odd: shapes \[2\] and \[3\] do not broadcast"),
                               (fovea.ones((), dtype=fovea.f64), r"odd: the derivative gave a gradient \[\] for an input \[2\]")]:
            with fovea.no_grad():
                y = x * 2
            y = fovea.record("odd", y, [x], [], lambda dy, returned=returned: returned)
            with self.assertRaisesRegex(fovea.Error, text):
                y.sum().backward()

    def test_several_inputs_and_none(self):
        a, b = leaf(2, seed=1), leaf(2, seed=2)
        with fovea.no_grad():
            y = a * b
        fovea.record("product", y, [a, b], [b], lambda dy, b: (dy * b, None)).sum().backward()
        self.assertEqual(a.grad.tolist(), b.detach().tolist())
        self.assertIsNone(b.grad)


class Threads(unittest.TestCase):
    def test_threads_compute_and_differentiate_at_once(self):
        results = {}

        def work(seed):
            x = leaf(200, 200, seed=seed)
            for _ in range(3):
                mish(x @ x).sum().backward()
            results[seed] = x.grad.sum().item()
        threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2, 1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            self.assertFalse(thread.is_alive())
        self.assertEqual(set(results), {1, 2})

    def test_an_op_of_python_can_die_on_another_thread(self):
        kept = [mish(leaf(3)) for _ in range(50)]
        thread = threading.Thread(target=kept.clear)
        thread.start()
        thread.join(60)
        self.assertEqual(kept, [])


if __name__ == "__main__":
    unittest.main()
