"""What train() takes: values as they are, iterables of batches, and what it refuses before the first step."""
import contextlib
import hashlib
import io
import pathlib
import tempfile
import unittest

import numpy as np

import fovea

TINY = dict(model="vit_tiny_patch8_32", depth=1, embed_dim=24, batch_size=16, warmup_epochs=0, workers=0, report=False)


def values(count, seed=1, shape=(3, 32, 32), classes=3):
    """Noise; one of three channels is bright, which is the class."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, size=count)
    labels[:classes] = range(classes)
    images = rng.normal(size=(count, *shape)).astype(np.float32)
    images[np.arange(count), labels % shape[0]] += 3
    return images, labels


def pixels(count, seed=1):
    images, labels = values(count, seed)
    return (np.clip(images * 20 + 100, 0, 255)).astype(np.uint8).transpose(0, 2, 3, 1).copy(), labels


class Batches:
    """An iterable that counts its passes."""

    def __init__(self, images, labels, size=10):
        self.images, self.labels, self.size, self.passes = images, labels, size, 0

    def __iter__(self):
        self.passes += 1
        for start in range(0, len(self.labels), self.size):
            yield self.images[start:start + self.size], self.labels[start:start + self.size]


def bits_of(model):
    """Checksums: unittest's comparison of the bytes themselves takes minutes where they differ."""
    return {name: hashlib.sha256(t.detach().numpy().tobytes()).hexdigest() for name, t in model.state_dict().items()}


class TrainingCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output = str(self.folder / "run")

    def train(self, data, test, on_epoch=None, **settings):
        with contextlib.redirect_stdout(io.StringIO()) as self.printed:
            return fovea.train({**TINY, "output": self.output, **settings}, data, test, on_epoch=on_epoch)

    def weights(self, output=None):
        return bits_of(fovea.create_model(f"{output or self.output}/last.safetensors"))


class Values(TrainingCase):
    def test_a_model_sees_them_as_they_are(self):
        """Two steps by hand on the same values, in the same order, give the weights of train()."""
        data, test = values(32), values(10, seed=2)
        self.train(list(Batches(*data, size=16)), test, epochs=1, lr=1e-3, seed=5)
        model = fovea.create_model("vit_tiny_patch8_32", num_classes=3, depth=1, embed_dim=24, seed=5).train()
        optimizer, schedule = fovea.AdamW(model, weight_decay=0.05), fovea.Schedule(
            lr=1e-3, epochs=1, warmup_epochs=0, warmup_lr=1e-5, min_lr=1e-5)
        for step in range(2):
            at = slice(16 * step, 16 * step + 16)
            fovea.cross_entropy(model(fovea.tensor(data[0][at])), fovea.tensor(data[1][at])).backward()
            optimizer.step(schedule(step, 2), clip_grad=1.0)
            optimizer.zero_grad()
        self.assertEqual(bits_of(model), self.weights())

    def test_they_are_learned_and_predicted(self):
        run = self.train(values(240), values(30, seed=2), epochs=8, lr=3e-3)
        self.assertEqual(run.epochs["eval_top1"][-1], 100)
        images, labels = values(9, seed=3)
        self.assertEqual(fovea.predict(self.output, images).names(), [f"class {label}" for label in labels])
        self.assertEqual((run.config["mean"], run.config["hflip"]), ([0, 0, 0], 0))

    def test_the_model_gets_their_size(self):
        run = self.train(values(40, shape=(3, 16, 24)), values(20, seed=2, shape=(3, 16, 24)), epochs=1)
        self.assertEqual(run.model()(fovea.zeros(2, 3, 16, 24)).shape, (2, 3))

    def test_labels_of_any_type_of_integers_and_lists_will_do(self):
        images, labels = values(40)
        for kinds in ((labels.astype(np.int32), labels.tolist()), (labels.astype(np.uint8), labels.astype(np.int8))):
            data, test = ((images, kind) for kind in kinds)
            self.train(data, [test], epochs=1, output=self.output + str(kinds[0].dtype))
        self.assertEqual(self.weights(self.output + "int32"), self.weights(self.output + "uint8"))


class Iterables(TrainingCase):
    def test_each_epoch_is_a_pass_and_the_first_one_counts(self):
        for workers in (0, 2):
            data, test = Batches(*values(48), size=16), Batches(*values(20, seed=2))
            output = f"{self.output}{workers}"
            run = self.train(data, test, epochs=2, workers=workers, output=output)
            self.assertEqual(len(run.epochs["epoch"]), 2)
            self.assertGreaterEqual(data.passes, 3)
            self.assertEqual(test.passes, 3)
        self.assertEqual(self.weights(self.output + "0"), self.weights(self.output + "2"))

    def test_batches_of_any_size_give_the_same_steps_and_the_first_ones_size_is_the_default(self):
        images, labels = values(50)
        settings = {name: value for name, value in TINY.items() if name != "batch_size"}
        found = []
        for size, wanted in [(16, {}), (50, {"batch_size": 16}), (7, {"batch_size": 16})]:
            output = str(self.folder / str(size))
            with contextlib.redirect_stdout(io.StringIO()):
                run = fovea.train({**settings, "output": output, **wanted}, Batches(images, labels, size), values(10), epochs=1)
            self.assertEqual(run.config["batch_size"], 16)
            found.append(self.weights(output))
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0], found[2])

    def test_pixels_are_augmented_as_files_are(self):
        images, labels = pixels(32)
        weights = []
        for padding in (0, 4):
            self.train(Batches(images, labels), (images, labels), epochs=1, crop_padding=padding, output=self.output + str(padding))
            weights.append(self.weights(self.output + str(padding)))
        self.assertNotEqual(*weights)

    def test_a_run_resumes_in_the_middle_of_a_pass_with_the_bits_of_one_that_did_not_stop(self):
        data, test = Batches(*values(64), size=10), values(10, seed=2)
        self.train(data, test, epochs=2)
        whole, self.output = self.weights(), str(self.folder / "parts")
        for steps in (3, 6, 0):
            self.train(data, test, epochs=2, max_steps=steps, resume="auto")
        self.assertEqual(self.weights(), whole)

    def test_a_run_resumes_on_the_same_batches_alone(self):
        images, labels = values(32)
        others, test = images.copy(), values(10, seed=2)
        others[-1, -1, -1, -1] += 1
        self.train(Batches(images, labels), test, epochs=1)
        with self.assertRaisesRegex(fovea.Error, "different training images.* accept_other_images"):
            self.train(Batches(others, labels), test, epochs=2, resume="auto")
        with self.assertRaisesRegex(fovea.Error, "different test images"):
            self.train(Batches(images, labels), values(10, seed=3), epochs=2, resume="auto")
        self.train(Batches(images, labels, size=4), test, epochs=2, resume="auto")
        run = self.train(Batches(others, labels), test, epochs=3, resume="auto", accept_other_images=True)
        self.assertEqual(len(run.epochs["epoch"]), 3)

    def test_a_pass_that_changes_is_an_error_that_names_the_first(self):
        images, labels = values(40)

        class Shrinking(Batches):
            def __iter__(self):
                batches = list(super().__iter__())
                return iter(batches if self.passes == 1 else batches[:-2])
        with self.assertRaisesRegex(fovea.Error, "train: data: the iterable ended after 20 images, its first pass had 40"):
            self.train(Shrinking(images, labels), (images, labels), epochs=1)
        with self.assertRaisesRegex(fovea.Error, "train: test: got labels from 0 to 2, expected 0 to 1"):
            self.train(Batches(images, labels.clip(0, 1)), Batches(images, labels), epochs=1)


class Refusals(TrainingCase):
    def test_what_the_data_lack_is_an_error_before_the_first_step(self):
        images, labels = values(40)
        raw = pixels(40)
        good = (images, labels)
        for data, test, settings, text in [
                (good, None, {}, "expected both"),
                (good, raw, {}, "f32 for one of data and test and pixels u8"),
                (good, values(9, shape=(3, 16, 16)), {}, r"test: got images of shape \(3, 16, 16\), expected \(3, 32, 32\)"),
                ((images.astype("f8"), labels), good, {}, "dtype f64, expected u8 .* or f32"),
                ((images[0], labels), good, {}, "expected u8"),
                ((images, labels[:-1]), good, {}, r"expected integers \[40\]"),
                ((images, labels.astype("f4")), good, {}, r"expected integers \[40\]"),
                ((images, labels - 1), good, {}, "got labels from -1 to 1, expected 0 to K - 1"),
                ((raw[0][..., :1], labels), good, {}, r"np.repeat\(images, 3, axis=3\) makes grey ones RGB"),
                ((raw[0][..., 0], labels), good, {}, r"np.repeat\(images\[..., None\], 3, axis=3\) makes grey ones RGB"),
                ((raw[0].transpose(0, 3, 1, 2), labels), good, {}, r"images.transpose\(0, 2, 3, 1\) moves the channels"),
                ((images.transpose(0, 2, 3, 1), labels), good, {},
                 r"images f32 \[40, 32, 32, 3\], expected \[N, C, H, W\]; images.transpose\(0, 3, 1, 2\)"),
                ((images, labels, labels), good, {}, r"train: data: got a tuple of 3, expected \(images, labels\)"),
                (3, good, {}, "train: data: got int, expected"),
                (iter([good]), good, {}, "train: data: got an iterator .* which can be read once"),
                ([], good, {}, "train: data: the iterable is empty"),
                ([images], good, {}, r"the iterable gave ndarray, expected \(images, labels\)"),
                ([good, raw], good, {}, "got a batch of .* u8 x 3, expected .* f32 x 3 as in the first"),
                (good, good, {"hflip": 0.5}, "hflip: got 0.5, expected 0 or nothing: values f32 are taken as they are"),
                (good, good, {"img-size": 64}, "img_size: got 64, expected '32x32'"),
                (*2 * (values(40, shape=(1, 32, 32)),), {}, "got images of 1 channels, expected 3"),
                (good, good, {"dataset": "builtin"}, "both data and the setting dataset"),
                (good, good, {"val_fraction": 0.1}, "both data and the setting val-fraction"),
                (good, good, {"classes": "2"}, "both data and the setting classes"),
                (good, good, {"batch_size": 64}, "^batch_size: got 64"),
                (good, good, {"teacher_logits": "x.safetensors", "distillation_type": "soft"}, "x.safetensors"),
                (good, good, {"model": "mae_vit_tiny_patch8_32"}, "mae_vit_tiny_patch8_32"),
                (good, good, {"model": "vit_tiny_patch16_224", "img_size": "32x40"}, "img_size"),
                (values(40, shape=(3, 30, 30)), values(9, shape=(3, 30, 30)), {}, "30")]:
            with self.subTest(text=text), self.assertRaisesRegex(fovea.Error, text):
                self.train(data, test, **settings)
            self.assertFalse(pathlib.Path(self.output).exists(), text)


class Progress(TrainingCase):
    def test_it_goes_to_what_stands_for_standard_output(self):
        self.train(values(32), values(10), epochs=1)
        self.assertIn("epoch 1/1  train loss", self.printed.getvalue())

    def test_a_notebook_draws_over_one_line(self):
        class OutStream(io.StringIO):
            __module__ = "ipykernel.iostream"
        printed = OutStream()
        with contextlib.redirect_stdout(printed):
            fovea.train({**TINY, "output": self.output}, values(160), values(10), epochs=2)
        text = printed.getvalue()
        self.assertRegex(text, r"\repoch 1/2 \[#*\.*\] +\d+%")
        self.assertNotIn("\x1b", text)


if __name__ == "__main__":
    unittest.main()
