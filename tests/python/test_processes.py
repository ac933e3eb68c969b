"""Threads, fork, memory limits and the programs: what needs a process of its own."""
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import fovea


def run_python(code, **environment):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment})


class Processes(unittest.TestCase):
    def test_a_forked_child_computes(self):
        done = run_python("""
import os, fovea
x = fovea.randn(400, 400, seed=1)
expected = (x @ x).sum().item()   # starts the threads
child = os.fork()
if child == 0:
    os._exit(0 if (x @ x).sum().item() == expected else 1)
for _ in range(600):
    ended, status = os.waitpid(child, os.WNOHANG)
    if ended:
        break
    __import__("time").sleep(0.1)
else:
    os.kill(child, 9)
print("exit code", os.waitstatus_to_exitcode(status))
""", OMP_NUM_THREADS="2")
        self.assertEqual(done.stdout.strip(), "exit code 0", done.stderr)

    def test_no_memory_is_an_error_and_nothing_is_lost(self):
        done = run_python("""
import resource, fovea
x = fovea.ones(1000)
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
try:
    fovea.ones(1 << 20, 1 << 12)
except fovea.OutOfMemory as error:
    assert isinstance(error, fovea.Error)
    print(error)
print((x + 1).sum().item())
""", OMP_NUM_THREADS="1")
        self.assertRegex(done.stdout, "memory: cannot allocate 17179869184 bytes on the CPU")
        self.assertIn("2000", done.stdout, done.stderr)

    def test_how_threads_wait_is_set_for_our_library_alone(self):
        done = run_python("import os, fovea; print(os.environ.get('GOMP_SPINCOUNT'))")
        self.assertEqual(done.stdout.strip(), "None", done.stderr)
        done = run_python("import os, fovea; print(os.environ['GOMP_SPINCOUNT'])", GOMP_SPINCOUNT="7")
        self.assertEqual(done.stdout.strip(), "7")

    def test_the_end_of_python_with_tensors_alive(self):
        done = run_python("""
import numpy as np, fovea
class Holder: pass
holder = Holder()
holder.self = holder   # a cycle, freed at the very end
holder.x = fovea.from_dlpack(np.ones(4)).requires_grad_()
with fovea.no_grad():
    y = holder.x * 2
holder.y = fovea.record("twice", y, [holder.x], [], lambda dy: dy * 2)
""")
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Gil(unittest.TestCase):
    def test_other_threads_run_while_an_op_computes(self):
        x = fovea.randn(1200, 1200, seed=1, dtype=fovea.f64)
        stamps, done = [], threading.Event()

        def stamp():
            while not done.wait(0.001):
                stamps.append(time.monotonic())
        thread = threading.Thread(target=stamp)
        thread.start()
        inside = []
        for _ in range(50):
            start = time.monotonic()
            x @ x
            end = time.monotonic()
            margin = 0.1 * (end - start)  # at both ends Python runs
            inside += [t for t in stamps if start + margin < t < end - margin]
            if inside:
                break
        done.set()
        thread.join()
        self.assertTrue(inside)


class Programs(unittest.TestCase):
    def fovea(self, *arguments, **more):
        return subprocess.run([sys.executable, "-m", "fovea", *arguments], capture_output=True, text=True, timeout=300, **more)

    def test_they_are_those_of_the_tree(self):
        done = self.fovea("--help")
        self.assertEqual(done.returncode, 0)
        for name in ("train_cifar", "evaluate", "export"):
            self.assertIn(name, done.stdout)
            self.assertIn("Usage:", self.fovea(name, "--help").stdout)
        self.assertIn("--batch-size", self.fovea("train_cifar", "--help").stdout)
        self.assertRegex(self.fovea("--version").stdout, r"^fovea \d+\.\d+\.\d+ \(GCC .*CUDA off")

    def test_mistakes_exit_with_2(self):
        for arguments, text in [(["trane"], "no program trane"), (["train_cifar", "--epoch"], "did you mean epochs")]:
            done = self.fovea(*arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn(text, done.stderr)

    def test_without_arguments_it_lists_the_programs(self):
        done = self.fovea()
        self.assertEqual(done.returncode, 0)
        self.assertIn("train_cifar", done.stdout)

    def test_a_run_is_one_process_that_trains(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.fovea("train_cifar", "--depth", "1", "--embed-dim", "24", "--max-steps", "2", "--workers", "0",
                              "--no-report", "--output", "run", cwd=folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            model = fovea.create_model(os.path.join(folder, "run"))
            self.assertEqual(model(fovea.zeros(1, 3, 32, 32)).shape, (1, 10))

    def test_twenty_steps_by_hand_have_the_bits_of_the_programs(self):
        shape = dict(depth=2, embed_dim=48, num_heads=3)
        config = dict(model="vit_tiny_patch4_32", batch_size=32, workers=0, seed=3, **shape)
        flags = [word for name, value in config.items() for word in ("--" + name.replace("_", "-"), str(value))]
        with tempfile.TemporaryDirectory() as folder:
            done = self.fovea("train_cifar", *flags, "--max-steps", "20", "--no-report", "--output", "run", cwd=folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            trained = fovea.create_model(os.path.join(folder, "run", "last.safetensors"))
        batches = fovea.batches(config)
        model = fovea.create_model("vit_tiny_patch4_32", num_classes=10, seed=3, **shape).train()
        optimizer = fovea.AdamW(model, weight_decay=0.05)
        schedule = fovea.Schedule(lr=2e-3, epochs=8, warmup_epochs=1, warmup_lr=1e-5, min_lr=1e-5)
        for step, (images, labels) in zip(range(20), batches):
            fovea.cross_entropy(model(images), labels).backward()
            optimizer.step(schedule(step, len(batches)), clip_grad=1.0)
            optimizer.zero_grad()
        for name, weight in model.state_dict().items():
            self.assertEqual(weight.detach().tolist(), trained.state_dict()[name].tolist(), name)


if __name__ == "__main__":
    unittest.main()
