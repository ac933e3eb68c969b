"""Models, layers, optimizers, schedules and batches from Python."""
import pathlib
import tempfile
import unittest

import numpy as np

import fovea

TINY = dict(depth=2, embed_dim=48, num_heads=3, num_classes=10)


def tiny(**settings):
    return fovea.create_model("vit_tiny_patch8_32", **{**TINY, **settings})


def images(count=2, seed=1):
    return fovea.randn(count, 3, 32, 32, seed=seed)


class Models(unittest.TestCase):
    def test_a_name_and_settings_make_a_model(self):
        model = tiny()
        self.assertEqual((model.img_size, model.num_classes, model(images()).shape), ((32, 32), 10, (2, 10)))
        self.assertEqual(model.config["depth"], 2)
        self.assertIn("vit_tiny_patch8_32", repr(model))
        self.assertTrue(all(name.startswith("pit_") for name in fovea.list_models("pit_*")))
        self.assertGreater(len(fovea.list_models(all=True)), len(fovea.list_models()))
        with self.assertRaisesRegex(fovea.Error, "depht"):
            tiny(depht=3)
        with self.assertRaisesRegex(fovea.Error, "vit_tiny"):
            fovea.create_model("vit_tiney_patch8_32")
        with self.assertRaisesRegex(fovea.Error, r"fovea.list_models\(all=True\) lists all"):
            fovea.create_model("resnet")
        with self.assertRaisesRegex(fovea.Error, "create_model: gone/weights.safetensors does not exist"):
            fovea.create_model("gone/weights.safetensors")

    def test_pixels_are_an_error_that_says_what_the_model_takes(self):
        for task in ("vit_tiny_patch8_32", "mae_vit_tiny_patch8_32"):
            with self.assertRaisesRegex(fovea.Error, r"model: got u8 \[2, 3, 32, 32\], expected f32, .*fovea.predict\(\)"):
                fovea.create_model(task, depth=1)(fovea.zeros(2, 3, 32, 32, dtype=fovea.u8))

    def test_an_array_for_a_tensor_is_an_error_that_says_what_to_do(self):
        model, array = tiny(), np.zeros((1, 3, 32, 32), dtype=np.float32)
        for use, text in [(model, "model: got ndarray"), (lambda x: fovea.attention_maps(model, x), "attention_maps: got ndarray")]:
            with self.assertRaisesRegex(TypeError, text + r", expected a tensor; fovea.tensor\(\)"):
                use(array)

    def test_initial_values_are_a_function_of_the_seed(self):
        one, same, other = (tiny(seed=seed)(images()).tolist() for seed in (1, 1, 2))
        self.assertEqual(one, same)
        self.assertNotEqual(one, other)

    def test_weights_pass_through_files_and_dictionaries(self):
        model, other = tiny(seed=1), tiny(seed=2)
        expected = model(images()).tolist()
        other.load_state_dict({name: t.detach().numpy() for name, t in model.state_dict().items()})
        self.assertEqual(other(images()).tolist(), expected)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "weights.safetensors"
            model.save(path)
            self.assertEqual(fovea.create_model(path)(images()).tolist(), expected)
            self.assertEqual(fovea.create_model("vit_tiny_patch8_32", path, seed=3, **TINY)(images()).tolist(), expected)
        with self.assertRaisesRegex(fovea.Error, "32 missing: cls_token"):
            other.load_state_dict({})

    def test_a_model_outlives_what_names_it(self):
        parameters, weights = tiny().parameters(), tiny().state_dict()
        self.assertEqual(parameters.named()["head.weight"].shape, (10, 48))
        self.assertEqual(weights["head.weight"].shape, (10, 48))

    def test_training_drops_paths_and_evaluation_does_not(self):
        model = tiny(drop_path=0.5)
        with fovea.no_grad():
            first = model(images(8)).tolist()
            self.assertEqual(model(images(8)).tolist(), first)
            model.train(seed=1)
            one, two = model(images(8)).tolist(), model(images(8)).tolist()
            self.assertNotEqual(one, two)
            self.assertEqual(model.train(seed=1)(images(8), ctx=fovea.Context(training=True, seed=1)).tolist(), one)
            self.assertEqual(model.eval()(images(8)).tolist(), first)

    def test_other_tasks_give_the_outputs_of_their_onnx_files(self):
        outputs = fovea.create_model("mae_vit_tiny_patch4_32", depth=1, embed_dim=48, num_heads=3)(images())
        self.assertEqual(outputs._fields, ("features",))
        depth = fovea.create_model("depth_vit_tiny_patch8_64", depth=1)
        self.assertEqual(depth(fovea.zeros(1, 3, 64, 64)).depth.shape, (1, 64, 64))
        with self.assertRaisesRegex(fovea.Error, "depth model"):
            depth.train()(fovea.zeros(1, 3, 64, 64))

    def test_attention_maps_add_up_to_one(self):
        maps = fovea.attention_maps(tiny(), images()[0])
        self.assertEqual([m.shape for m in maps], [(3, 17, 17)] * 2)
        np.testing.assert_allclose(maps[1].sum(2).numpy(), 1, rtol=1e-5)
        with self.assertRaisesRegex(fovea.Error, "expected one image"):
            fovea.attention_maps(tiny(), images(2))


class Layers(unittest.TestCase):
    def test_layers_compose_and_train(self):
        p = fovea.Parameters(seed=1)
        embed, block = fovea.Linear(p / "embed", 12, 32), fovea.Block(p / "blocks" / 0, dim=32, num_heads=4)
        norm, head = fovea.LayerNorm(p / "norm", 32), fovea.Linear(p / "head", 32, 4)
        x, labels = fovea.randn(16, 5, 12, seed=2), fovea.tensor(np.arange(16) % 4)
        optimizer = fovea.AdamW(p, lr=1e-2)
        losses = []
        for _ in range(30):
            loss = fovea.cross_entropy(head(norm(block(embed(x))).mean(1)), labels)
            loss.backward()
            optimizer.step(clip_grad=1.0)
            optimizer.zero_grad()
            losses.append(loss.item())
        self.assertLess(losses[-1], 0.1 * losses[0])
        self.assertIn("blocks.0.attn.qkv.weight", p.named())
        self.assertEqual(len(p), len(list(p)))

    def test_attention_and_mlp(self):
        p = fovea.Parameters()
        x = fovea.randn(2, 5, 32, seed=1)
        self.assertEqual(fovea.Attention(p / "a", 32, 4)(x).shape, (2, 5, 32))
        self.assertEqual(fovea.Mlp(p / "b", 32, 64)(x).shape, (2, 5, 32))
        with self.assertRaises(fovea.Error):
            fovea.Attention(p / "c", 32, 5)(x)

    def test_a_parameter_of_ones_own(self):
        p = fovea.Parameters(seed=1)
        w = p.param("w", (3, 4))
        self.assertTrue(w.requires_grad)
        self.assertEqual((w.name, p.count()), ("w", 12))
        with self.assertRaises(fovea.Error):
            p.param("w", (3, 4))


class Optimizers(unittest.TestCase):
    def test_all_kinds_lower_the_loss(self):
        for kind, lr in [(fovea.AdamW, 1e-3), (fovea.SGD, 1e-2), (fovea.Lamb, 1e-3), (fovea.Lion, 1e-4), (fovea.Muon, 1e-3)]:
            model = tiny()
            optimizer = kind(model, lr=lr)
            losses = []
            for _ in range(5):
                loss = fovea.cross_entropy(model(images(4)), fovea.arange(4))
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                losses.append(loss.item())
            self.assertLess(losses[-1], losses[0], kind)

    def test_a_state_continues_bit_by_bit(self):
        def steps(model, optimizer, count):
            for _ in range(count):
                fovea.cross_entropy(model(images(4)), fovea.arange(4)).backward()
                optimizer.step()
                optimizer.zero_grad()
        one, two = tiny(), tiny()
        first, second = fovea.AdamW(one), fovea.AdamW(two)
        steps(one, first, 4)
        steps(two, second, 2)
        resumed = tiny()
        resumed.load_state_dict(two.state_dict())
        third = fovea.AdamW(resumed)
        third.load_state_dict(second.state_dict())
        steps(resumed, third, 2)
        self.assertEqual(resumed(images()).tolist(), one(images()).tolist())

    def test_mistakes_are_errors(self):
        with self.assertRaisesRegex(fovea.Error, "got list, expected a model"):
            fovea.AdamW([fovea.zeros(2)])
        with self.assertRaisesRegex(fovea.Error, "weight-decay"):
            fovea.AdamW(tiny(), weight_deacy=0.1)
        with self.assertRaisesRegex(fovea.Error, "sched"):
            fovea.Schedule(1e-3, sched="cosin")

    def test_a_schedule_warms_up_and_decays(self):
        schedule = fovea.Schedule(1e-2, epochs=4, warmup_epochs=1, warmup_lr=1e-4, min_lr=1e-5)
        rates = [schedule(step, 10) for step in range(40)]
        self.assertAlmostEqual(rates[0], 1e-4)
        self.assertTrue(rates[5] > rates[0] and rates[10] > rates[39])


class Batches(unittest.TestCase):
    def test_batches_are_those_of_the_settings(self):
        config = dict(model="vit_tiny_patch4_32", batch_size=16, workers=0)
        one, same = fovea.batches(config), fovea.batches(config)
        self.assertGreater(len(one), 10)
        for (x, labels), (y, others), _ in zip(one, same, range(3)):
            self.assertEqual((x.shape, labels.shape, labels.dtype), ((16, 3, 32, 32), (16,), fovea.i64))
            np.testing.assert_array_equal(x.numpy(), y.numpy())
            self.assertEqual(labels.tolist(), others.tolist())

    def test_mixed_images_come_with_targets(self):
        x, targets = next(iter(fovea.batches(model="vit_tiny_patch4_32", batch_size=16, mixup=0.8, workers=0)))
        self.assertEqual((targets.shape, targets.dtype), ((16, 10), fovea.f32))
        np.testing.assert_allclose(targets.sum(1).numpy(), 1, rtol=1e-5)

    def test_an_unknown_setting_names_the_nearest(self):
        with self.assertRaisesRegex(fovea.Error, "batch-size"):
            fovea.batches(batch_sise=3)

    def test_errors_name_settings_as_the_call_does(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(
                fovea.Error, "contains no train.pack; fovea pack creates one, train_split sets another path"):
            fovea.batches(dataset="pack", data_dir=folder)


if __name__ == "__main__":
    unittest.main()
