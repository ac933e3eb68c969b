"""Runtimes for inference as peers. They get timm's models, which PyTorch exports to ONNX for a fixed batch."""
import contextlib
import pathlib
import sys
import tempfile

import torch

from peers.subjects import Lacks, Subject, make_subject

TOLERANCE = {"f32": 1e-3, "bf16": 5e-2}  # of the largest output; bf16 has 8 bits


def export(model, images, folder):
    """Writes the model for images of this shape."""
    path = pathlib.Path(folder) / "model.onnx"
    with contextlib.redirect_stdout(sys.stderr):  # standard output has the answers
        torch.onnx.export(model, (images,), path, dynamo=True, external_data=False, verbose=False)
    return path


def require_same(outputs, model, images, precision):
    with torch.inference_mode():
        expected = model(images)
    error = (torch.as_tensor(outputs) - expected).abs().max() / expected.abs().max()
    if not error <= TOLERANCE[precision]:
        raise Lacks(f"its outputs differ from PyTorch's by {error:.1e} of the largest")


class Runtime:
    """Derived classes have load(path, command), which makes run() ready for self.images."""

    @classmethod
    def product(cls, n, command):
        """A function that computes an n x n x n product: a linear layer."""
        peer, layer = cls(), torch.nn.Linear(n, n, bias=False)
        peer.prepare_subject(Subject(layer, [n], layer, None, is_timms=True), {**command, "batch": n})
        return peer.run

    def prepare(self, command):
        torch.manual_seed(0)
        self.prepare_subject(make_subject(command), command)

    def prepare_subject(self, subject, command):
        if command["limited"]:
            raise Lacks(f"it cannot be limited to {command['limited']}")
        if command["device"] != "cpu":
            raise Lacks("it runs on the CPU alone")
        if not subject.is_timms:
            raise Lacks("not exported: only timm's models are")
        self.device = torch.device("cpu")
        self.parameters = sum(p.numel() for p in subject.model.parameters() if p.requires_grad)
        model, images = subject.model.eval(), torch.randn(command["batch"], *subject.shape)
        self.images = images.numpy()
        with tempfile.TemporaryDirectory() as folder:
            self.load(export(model, images, folder), command)
        require_same(self.run(), model, images, command["precision"])


class OpenVino(Runtime):
    @staticmethod
    def info(device):
        import onnx, onnxscript, openvino  # noqa: E401, F401
        return {"name": f"openvino {openvino.__version__.split('-')[0]}", "about": f"onnx {onnx.__version__}",
                "libraries": dict.fromkeys(("f32", "bf16"), "OpenVINO's oneDNN")}

    def load(self, path, command):
        import openvino
        core = openvino.Core()
        model = core.read_model(path)
        model.reshape(self.images.shape)  # a batch that is left open costs 3 % in one image
        compiled = core.compile_model(model, "CPU", {
            "INFERENCE_PRECISION_HINT": command["precision"], "NUM_STREAMS": 1,
            "INFERENCE_NUM_THREADS": command["threads"], "ENABLE_HYPER_THREADING": True})
        precision = compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
        if precision != command["precision"]:
            raise Lacks(f"it runs {command['precision']} as {precision} on this machine")
        self.request = compiled.create_infer_request()

    def run(self):
        return self.request.infer([self.images], share_inputs=True)[0]


class OnnxRuntime(Runtime):
    @staticmethod
    def info(device):
        import onnx, onnxruntime, onnxscript  # noqa: E401, F401
        return {"name": f"onnxruntime {onnxruntime.__version__}", "about": f"onnx {onnx.__version__}",
                "libraries": {"f32": "MLAS"}}

    def load(self, path, command):
        import onnxruntime
        if command["precision"] != "f32":
            raise Lacks(f"it has no {command['precision']} products on the CPU")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = command["threads"], 1
        # Its threads would go on polling during the turns of the others.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.feed = {self.session.get_inputs()[0].name: self.images}

    def run(self):
        return self.session.run(None, self.feed)[0]
