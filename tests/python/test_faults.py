"""What goes wrong: exceptions and Ctrl-C in Python code that the library calls, two runs at once, no folder, no memory."""
import contextlib
import io
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np

import fovea

TINY = dict(model="vit_tiny_patch8_32", depth=1, embed_dim=24, batch_size=16, warmup_epochs=0, workers=0, report=False)


def setUpModule():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it may be ignored


def press_ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


def run_python(code, **environment):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "OMP_NUM_THREADS": "1", **environment})


class Batches:
    """Batches of values; `strike` is called before the one of this number, in the pass of this number."""

    def __init__(self, strike=None, batch=0, in_pass=2):
        rng = np.random.default_rng(1)
        self.images = rng.normal(size=(64, 3, 32, 32)).astype(np.float32)
        self.labels = np.arange(64) % 3
        self.strike, self.batch, self.in_pass, self.passes = strike, batch, in_pass, 0

    def __iter__(self):
        self.passes += 1
        for number in range(4):
            if self.strike and (self.passes, number) == (self.in_pass, self.batch):
                self.strike()
            yield self.images[16 * number:16 * number + 16], self.labels[16 * number:16 * number + 16]


class Faults(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output = str(self.folder / "run")

    def train(self, data=None, test=None, on_epoch=None, **settings):
        with contextlib.redirect_stdout(io.StringIO()):
            return fovea.train({**TINY, "output": self.output, **settings}, data or Batches(), test or Batches(), on_epoch=on_epoch)

    def weights(self, output=None):
        model = fovea.create_model(f"{output or self.output}/last.safetensors")
        return {name: t.detach().numpy().tobytes() for name, t in model.state_dict().items()}

    def check_nothing_was_lost(self, epochs=3):
        """The run in self.output ends as one that never stopped."""
        self.train(epochs=epochs, resume="auto")
        stopped = self.weights()
        self.output = tempfile.mkdtemp(dir=self.folder) + "/whole"
        self.train(epochs=epochs)
        self.assertEqual(stopped, self.weights())


class InTraining(Faults):
    def test_an_exception_in_an_iterable_comes_out_and_the_steps_before_are_saved(self):
        def strike():
            raise LookupError("no such file")
        for workers in (0, 2):
            with self.subTest(workers=workers), self.assertRaisesRegex(LookupError, "no such file"):
                self.train(Batches(strike, batch=2, in_pass=3), epochs=3, workers=workers)
            self.assertTrue((pathlib.Path(self.output) / "state.safetensors").exists())
            self.check_nothing_was_lost()
            self.output = str(self.folder / "again")

    def test_an_exception_in_the_first_pass_starts_no_run(self):
        def strike():
            raise LookupError("no such file")
        with self.assertRaisesRegex(LookupError, "no such file"):
            self.train(Batches(strike, batch=2, in_pass=1))
        self.assertFalse(os.path.exists(self.output))

    def test_an_exception_in_evaluation_keeps_the_epoch_before_it(self):
        def strike():
            raise LookupError("no such file")
        with self.assertRaisesRegex(LookupError, "no such file"):
            self.train(test=Batches(strike, batch=1, in_pass=2), epochs=3)
        self.check_nothing_was_lost()

    def test_ctrl_c_in_an_iterable_saves_and_returns(self):
        run = self.train(Batches(press_ctrl_c, batch=2, in_pass=3), epochs=3)
        self.assertFalse(run.finished)
        self.check_nothing_was_lost()

    def test_ctrl_c_in_a_callback_saves_and_returns(self):
        run = self.train(epochs=3, on_epoch=lambda row: press_ctrl_c())
        self.assertFalse(run.finished)
        self.assertEqual(run.epochs["epoch"].tolist(), [0])
        self.check_nothing_was_lost()

    def test_a_second_ctrl_c_is_an_exception_where_python_runs(self):
        def twice(row):
            press_ctrl_c()
            press_ctrl_c()
        with self.assertRaises(KeyboardInterrupt):
            self.train(epochs=3, on_epoch=twice)
        self.check_nothing_was_lost()

    def test_two_at_once_have_the_bits_of_one_after_the_other(self):
        found = {}

        def start(seed):
            run = fovea.train({**TINY, "output": str(self.folder / f"thread{seed}"), "seed": seed, "epochs": 2}, Batches(), Batches())
            found[seed] = run.finished
        threads = [threading.Thread(target=start, args=[seed]) for seed in (1, 2)]
        with contextlib.redirect_stdout(io.StringIO()):
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(found, {1: True, 2: True})
        for seed in (1, 2):
            self.train(epochs=2, seed=seed, output=str(self.folder / f"alone{seed}"))
            self.assertEqual(self.weights(self.folder / f"thread{seed}"), self.weights(self.folder / f"alone{seed}"))

    def test_two_in_one_folder_are_an_error(self):
        with self.assertRaisesRegex(fovea.Error, "run"):
            self.train(epochs=2, on_epoch=lambda row: self.train(epochs=2, resume="auto"))

    def test_ctrl_c_is_the_main_threads(self):
        """A run on another thread goes on to its end; Python's own handler hears the signal."""
        heard = []
        before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
        self.addCleanup(signal.signal, signal.SIGINT, before)
        runs = []
        thread = threading.Thread(target=lambda: runs.append(self.train(epochs=2, on_epoch=lambda row: press_ctrl_c())))
        thread.start()
        thread.join()
        self.assertTrue(runs[0].finished)
        self.assertIn(signal.SIGINT, heard)

    def test_a_run_inside_a_callback_leaves_the_handlers_as_they_were(self):
        other = str(self.folder / "other")
        self.train(epochs=1, on_epoch=lambda row: self.train(epochs=1, output=other))
        with self.assertRaises(KeyboardInterrupt):
            press_ctrl_c()
            time.sleep(1)

    def test_a_folder_that_is_gone_is_an_error_that_names_it(self):
        def delete(row):
            while os.path.exists(self.output):  # the writer is still at work
                shutil.rmtree(self.output, ignore_errors=True)
        with self.assertRaisesRegex(fovea.Error, self.output):
            self.train(epochs=3, on_epoch=delete)

    def test_no_memory_says_what_would_fit_and_python_goes_on(self):
        done = run_python(f"""
import resource, fovea, numpy as np
images, labels = np.zeros((512, 32, 32, 3), dtype=np.uint8), np.arange(512) % 3
limit = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (400 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    fovea.train(data=(images, labels), test=(images, labels), model="vit_base_patch4_32", batch_size=512, epochs=1,
                workers=0, report=False, output={self.output!r})
except fovea.OutOfMemory as error:
    print("OutOfMemory", error)
except fovea.Error as error:
    print("Error", error)
print((fovea.ones(3) + 1).sum().item())
""")
        self.assertRegex(done.stdout, "memory: cannot allocate [0-9]+ bytes on the CPU", done.stderr)
        self.assertTrue(done.stdout.endswith("6.0\n"), done.stdout + done.stderr)


class InOps(unittest.TestCase):
    def broken_product(self, x, strike):
        with fovea.no_grad():
            y = x * 3

        def backward(dy):
            strike()
            return dy * 3
        return fovea.record("product", y, [x], [], backward)

    def test_an_exception_or_ctrl_c_in_a_derivative_ends_backward_and_leaves_whole_gradients(self):
        def strike():
            raise LookupError("mine")
        for how, error in [(strike, LookupError), (press_ctrl_c, KeyboardInterrupt)]:
            x, other = (fovea.ones(4, dtype=fovea.f64, requires_grad=True) for _ in range(2))
            with self.assertRaises(error):
                (self.broken_product(x, how) + x * other).sum().backward()
                time.sleep(1)  # for a signal that is still on its way
            for leaf in (x, other):
                self.assertIn(None if leaf.grad is None else leaf.grad.tolist(), [None, [1, 1, 1, 1]])
            (x * other).sum().backward()  # the tape goes on

    def time_to_interrupt(self, call):
        """Seconds from Ctrl-C to KeyboardInterrupt, and those of a whole call."""
        start = time.monotonic()
        call()
        whole = time.monotonic() - start
        pressed = []

        def press():
            time.sleep(0.25 * whole)
            pressed.append(time.monotonic())
            press_ctrl_c()
        thread = threading.Thread(target=press)
        thread.start()
        try:
            with self.assertRaises(KeyboardInterrupt):
                call()
                time.sleep(10)
            return time.monotonic() - pressed[0], whole
        finally:
            thread.join()

    def test_ctrl_c_ends_a_long_op(self):
        x = fovea.randn(1500, 1500, seed=1, dtype=fovea.f64)
        y = fovea.randn(8, 1500, 1500, seed=2, dtype=fovea.f64)
        after, whole = self.time_to_interrupt(lambda: y @ x)
        self.assertLess(after, 0.5 * whole)

    def test_ctrl_c_ends_backward_between_two_derivatives(self):
        x = fovea.randn(700, 700, seed=1, dtype=fovea.f64, requires_grad=True)

        def call():
            y = x
            for _ in range(30):
                y = fovea.tanh(y @ x)
            y.sum().backward()
        after, whole = self.time_to_interrupt(call)
        self.assertLess(after, 0.5 * whole)

    def test_an_interrupted_op_changes_nothing_that_was_there(self):
        x = fovea.randn(1000, 1000, seed=1)
        before = x.numpy().copy()
        handler = signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        self.addCleanup(signal.signal, signal.SIGALRM, handler)
        for delay in (0.001, 0.05, 0.2):
            signal.setitimer(signal.ITIMER_REAL, delay)
            with self.assertRaises(KeyboardInterrupt):
                for _ in range(10_000):
                    x @ x
        np.testing.assert_array_equal(x.numpy(), before)


if __name__ == "__main__":
    unittest.main()
