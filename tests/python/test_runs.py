"""train() and read_run(): arrays, the log, exceptions, Ctrl-C, resuming."""
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

import fovea

TINY = dict(model="vit_tiny_patch8_32", depth=1, embed_dim=24, batch_size=16, warmup_epochs=0, workers=0, report=False)


def pictures(count, seed=1):
    """One of three channels is bright, which is the class."""
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 200, size=(count, 32, 32, 3), dtype=np.uint8)
    labels = rng.integers(0, 3, size=count)
    images[np.arange(count), :, :, labels] = 255
    return images, labels


class Runs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.output = str(pathlib.Path(self.folder.name) / "run")

    def train(self, data=None, on_epoch=None, **settings):
        return fovea.train({**TINY, "output": self.output, **settings}, data or pictures(150), pictures(50, seed=2),
                           on_epoch=on_epoch)

    def test_arrays_are_learned_and_the_log_has_columns(self):
        rows = []
        run = self.train(epochs=3, lr=2e-3, on_epoch=rows.append)
        self.assertTrue(run.finished)
        self.assertEqual(run.epochs["epoch"].tolist(), [0, 1, 2])
        self.assertEqual(run.epochs["eval_top1"][-1], 100)
        self.assertEqual([row["train_loss"] for row in rows], run.epochs["train_loss"].tolist())
        self.assertEqual((run.config["epochs"], run.config["batch_size"], run.config["depth"]), (3, 16, 1))
        self.assertEqual(run.model()(fovea.zeros(1, 3, 32, 32)).shape, (1, 3))
        images, labels = pictures(20, seed=3)
        found = fovea.predict(run, images)
        self.assertEqual(fovea.predict(self.output, images).names(), found.names())
        self.assertEqual(found.names(), [f"class {label}" for label in labels])
        np.testing.assert_allclose(found.probabilities.sum(1).numpy(), 1, rtol=1e-5)
        with self.assertRaisesRegex(fovea.Error, "predict: got images of shape"):
            fovea.predict(self.output, images[0])
        with self.assertRaisesRegex(fovea.Error, r"predict: got f32 .*expected pixels u8.*not trained on values f32"):
            fovea.predict(run, images.transpose(0, 3, 1, 2).astype(np.float32))
        again = fovea.read_run(self.output)
        self.assertEqual(again.epochs["lr"].tolist(), run.epochs["lr"].tolist())

    def test_a_report_made_later_shows_no_images_of_other_data(self):
        self.train(epochs=1)
        done = subprocess.run([sys.executable, "-m", "fovea", "report", self.output], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        page = (pathlib.Path(self.output) / "report.html").read_text()
        self.assertIn("No training images: the model: has no class", page)
        self.assertEqual(page.count("data:image/png"), 0)
        self.assertIn("Curves", page)

    def test_an_exception_of_on_epoch_ends_the_run_and_loses_nothing(self):
        def stop(row):
            raise KeyError("enough")
        with self.assertRaisesRegex(KeyError, "enough"):
            self.train(epochs=3, on_epoch=stop)
        self.assertEqual(len(fovea.read_run(self.output).epochs["epoch"]), 1)
        self.assertEqual(len(self.train(epochs=3, resume="auto").epochs["epoch"]), 3)

    def test_a_run_resumes_on_the_same_images_alone(self):
        images, labels = pictures(150)
        self.train(epochs=1)
        with self.assertRaisesRegex(fovea.Error, '^output: .* already contains a run; resume="auto" continues it'):
            self.train(epochs=1)
        with self.assertRaisesRegex(fovea.Error, "different training images"):
            self.train(data=(images ^ 1, labels), epochs=2, resume="auto")
        self.assertEqual(len(self.train(epochs=2, resume="auto").epochs["epoch"]), 2)

    def test_mistakes_are_errors_before_the_first_step(self):
        images, labels = pictures(40)
        for data, test, settings, text in [
                ((images, labels), None, {}, "expected both"),
                ((images.astype("f4"), labels), (images, labels), {}, r"images.transpose\(0, 3, 1, 2\) moves the channels"),
                ((images, labels[:-1]), (images, labels), {}, r"expected integers \[40\]"),
                ((images, labels * 0), (images, labels), {}, "got labels from 0 to 2, expected 0 to 0"),
                ((images, labels), (images, labels), {"dataset": "builtin"}, "expected one of them"),
                ((images, labels), (images, labels), {"batch_size": 64}, "^batch_size: got 64"),
                ((images, labels), (images, labels), {"resume": True}, 'resume: got True, expected "auto"'),
                ((images, labels), (images, labels), {"resume": "gone"}, "^resume: gone does not exist"),
                ((images, labels), (images, labels), {"epoch": 3}, "did you mean epochs")]:
            with self.assertRaisesRegex(fovea.Error, text):
                fovea.train({**TINY, "output": self.output, **settings}, data, test)
        with self.assertRaisesRegex(TypeError, "train: on_epoch: got int, expected a function"):
            self.train(on_epoch=3)
        self.assertFalse(pathlib.Path(self.output).exists())
        with self.assertRaisesRegex(fovea.Error, "no log.csv"):
            fovea.read_run(self.folder.name)

    def test_ctrl_c_saves_and_returns(self):
        program = subprocess.Popen([sys.executable, "-c", f"""
import fovea, signal
signal.signal(signal.SIGINT, signal.default_int_handler)   # in the background it may be ignored
run = fovea.train({dict(TINY, output=self.output, epochs=1000, dataset="builtin", recovery_interval=1)})
print("finished:", run.finished)
import os
try:
    os.kill(os.getpid(), signal.SIGINT)   # Python's handler is back
    print("no interrupt")
except KeyboardInterrupt:
    print("interrupt")
"""], stdout=subprocess.PIPE, text=True)
        state = pathlib.Path(self.output) / "state.safetensors"
        for _ in range(600):
            if state.exists():
                break
            time.sleep(0.1)
        program.send_signal(signal.SIGINT)
        printed, _ = program.communicate(timeout=60)
        self.assertIn("finished: False\ninterrupt\n", printed)
        self.assertTrue(state.exists())


if __name__ == "__main__":
    unittest.main()
