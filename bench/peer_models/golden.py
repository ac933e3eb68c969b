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


def worst_error(build, path):
    """The largest relative error of build(config) against the file."""
    with safe_open(path, "pt") as f:
        config, zero = (json.loads(f.metadata()[key]) for key in ("config", "zero_grad"))
        golden = {k: f.get_tensor(k) for k in f.keys()}
    model = build(config).double()
    state = {k.split("/", 1)[1]: v for k, v in golden.items() if k.startswith(("param/", "buffer/"))}
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected and all(k.endswith("num_batches_tracked") for k in missing), (missing, unexpected)
    ours = outputs(model, golden["input"], golden["target"], config)
    return max(((ours[k] - v).norm() / v.norm()).item() for k, v in golden.items()
               if k in ours and k.removeprefix("grad/") not in zero)


def check(builds, paths):
    """Main function of a model: prints the largest error; the exit code is 1 above 1e-9."""
    worst = max(worst_error(build, path) for path in paths for build in builds)
    print(f"worst relative error {worst:.1e}")
    return worst > 1e-9
