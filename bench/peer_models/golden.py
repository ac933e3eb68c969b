"""Compares a PyTorch model with golden files (tests/golden/), in float64."""
import json

import torch
import torch.nn.functional as F
from safetensors import safe_open


def outputs(model, x, target, config):
    """All possible contents of a golden file by name: outputs, gradients and tapped values."""
    x = x.clone().requires_grad_()
    with torch.no_grad():
        model.eval()(x)  # the second pass uses the values cached by the first
        found = {"logits_eval": model(x)}
    found["logits"] = model.train()(x, lambda name, value: found.__setitem__(name, value))
    smoothing = config["smoothing"] if config["loss"] == "label_smoothing" else 0.0
    found["loss"] = F.cross_entropy(found["logits"], target, label_smoothing=smoothing)
    found["loss"].backward()
    found["grad_input"] = x.grad
    found |= {"buffer_after/" + k: b for k, b in model.named_buffers() if "running" in k}
    found |= {"grad/" + k: p.grad for k, p in model.named_parameters() if p.grad is not None}
    return {k: v.detach().clone().contiguous() for k, v in found.items()}


def read(path):
    """A file's configuration, the names of the gradients that are zero in theory, and the tensors."""
    with safe_open(path, "pt") as f:
        config, zero = (json.loads(f.metadata()[key]) for key in ("config", "zero_grad"))
        return config, zero, {k: f.get_tensor(k) for k in f.keys()}


def parameters(golden):
    """The parameters in a file, by their names in the model."""
    return {k.removeprefix("param/"): v for k, v in golden.items() if k.startswith("param/")}


def difference(ours, golden, zero=()):
    """The largest relative error of the tensors that both have, without the gradients in `zero`."""
    return max(((ours[k].detach().double() - v).norm() / v.double().norm().clamp(min=1e-300)).item()
               for k, v in golden.items()
               if k in ours and k.removeprefix("grad/") not in zero)


def report(errors):
    """Prints the largest error; the exit code is 1 above 1e-9."""
    worst = max(errors)
    print(f"worst relative error {worst:.1e}")
    return worst > 1e-9


def worst_error(build, path):
    """The largest relative error of build(config) against the file."""
    config, zero, golden = read(path)
    model = build(config).double()
    state = {k.split("/", 1)[1]: v for k, v in golden.items() if k.startswith(("param/", "buffer/"))}
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected and all(k.endswith("num_batches_tracked") for k in missing), (missing, unexpected)
    ours = outputs(model, golden["input"], golden["target"], config)
    return difference(ours, golden, zero)


def check(builds, paths):
    """Main function of a classifier."""
    return report(worst_error(build, path) for path in paths for build in builds)
