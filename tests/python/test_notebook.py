"""A notebook's kernel: progress as the page shows it, a picture of attention, the button that interrupts."""
import base64
import pathlib
import subprocess
import tempfile
import unittest

try:
    from jupyter_client.manager import start_new_kernel
except ImportError:
    start_new_kernel = None

SETUP = """
%matplotlib inline
import matplotlib.pyplot as plt
import numpy as np
import fovea
rng = np.random.default_rng(1)
images, labels = rng.integers(0, 256, size=(96, 32, 32, 3), dtype=np.uint8), np.arange(96) % 3
def train(**settings):
    return fovea.train(data=(images, labels), test=(images[:32], labels[:32]), model="vit_tiny_patch8_32", depth=1, embed_dim=24,
                       batch_size=16, warmup_epochs=0, workers=0, report=False,
                       on_epoch=lambda row: print(f"row {row['epoch']}"), **settings)
"""
DRAW = """
maps = fovea.attention_maps(run.model(), fovea.from_dlpack(images[0].transpose(2, 0, 1)).float() / 255)
plt.imshow(maps[-1].mean(0)[0, 1:].reshape(4, 4).numpy())
plt.show()
"""


def shown(text):
    """What a page shows of a cell's text: characters after a carriage return replace those before it."""
    lines = []
    for line in text.split("\n"):
        seen = ""
        for part in line.split("\r"):
            seen = part + seen[len(part):]
        lines.append(seen.rstrip())
    return lines


@unittest.skipIf(start_new_kernel is None, "SKIPPED: ipykernel is not installed")
class Notebook(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.manager, self.client = start_new_kernel(cwd=folder.name, stderr=subprocess.DEVNULL)
        self.addCleanup(self.manager.shutdown_kernel, now=True)
        self.addCleanup(self.client.stop_channels)
        self.folder = pathlib.Path(folder.name)
        self.run_cell(SETUP)

    def run_cell(self, code, interrupt_at=None):
        """The text and the pictures below a cell; the text `interrupt_at` presses the button, once."""
        texts, pictures, pressed = [], [], []

        def see(message):
            content = message["content"]
            if message["msg_type"] == "stream":
                texts.append(content["text"])
            pictures.extend(filter(None, [content.get("data", {}).get("image/png")]))
            if interrupt_at and not pressed and interrupt_at in "".join(texts):
                pressed.append(self.manager.interrupt_kernel())
        reply = self.client.execute_interactive(code, timeout=120, output_hook=see)["content"]
        self.assertEqual(reply["status"], "ok", "\n".join(reply.get("traceback", [])))
        return "".join(texts), [base64.b64decode(picture) for picture in pictures]

    def test_training_shows_one_line_and_what_on_epoch_prints(self):
        text, _ = self.run_cell("run = train(epochs=3, output='run')")
        self.assertIn("\r", text)  # a bar was drawn, and drawn over
        lines = shown(text)
        self.assertEqual([line for line in lines if line.startswith("row")], ["row 0", "row 1", "row 2"])
        self.assertEqual([line for line in lines if "[#" in line or "[." in line], [], "bars that are left over")
        self.assertEqual(sum("epoch" in line and "loss" in line for line in lines), 3, lines)
        self.assertIn("data      given, 96 + 32 images, 3 classes", lines)
        self.assertNotIn("fovea evaluate", text)  # which would look for files
        _, pictures = self.run_cell(DRAW)
        self.assertEqual([picture[:4] for picture in pictures], [b"\x89PNG"])

    def test_the_button_that_interrupts_saves_the_run_and_returns_it(self):
        text, _ = self.run_cell("run = train(epochs=1000, output='run'); print(run.finished, len(run.epochs['epoch']))",
                                interrupt_at="row 1\n")
        self.assertIn('to continue:  the same call with resume="auto", output="run"', text)
        finished, epochs = shown(text)[-2].split()
        self.assertEqual(finished, "False")
        self.assertTrue(2 <= int(epochs) < 1000)
        self.assertTrue((self.folder / "run/state.safetensors").exists())
        text, _ = self.run_cell(f"print(train(epochs={epochs} + 1, output='run', resume='auto').finished)")
        self.assertEqual(shown(text)[-2], "True")
        self.assertEqual([line for line in shown(text) if line.startswith("row")], [f"row {epochs}"])


if __name__ == "__main__":
    unittest.main()
