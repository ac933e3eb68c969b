"""Models by name, as timm makes them."""
import collections
import fnmatch
import json
import os
from collections.abc import Mapping
from typing import Any

from . import _core
from ._core import Context, Parameters, Tensor


def _require_tensors(what: str, values: tuple[Any, ...]) -> None:
    for value in values:
        if not isinstance(value, Tensor):
            raise TypeError(f"{what}: got {type(value).__name__}, expected a tensor; fovea.tensor() makes one of an array")


class Model:
    """A model of the library. create_model() makes one.

    model(images) of a classifier gives its logits [B, K]. A model of another task takes the inputs and gives a named
    tuple with the outputs of its ONNX file. After train() a classifier drops paths at random, as in training; each
    pass draws anew from the seed of train(). A `ctx` chooses the settings of one pass instead.
    """

    def __init__(self, core: _core.ModelCore) -> None:
        self._core = core
        self._seed, self._passes = 0, 0
        self.training = False
        names = ["logits", "logits_dist"] if core.is_classifier else core.output_names()
        self._outputs = collections.namedtuple("Outputs", names, defaults=[None])  # type: ignore[misc]

    def __call__(self, *inputs: Tensor, ctx: Context | None = None) -> Any:
        _require_tensors("model", inputs)
        if ctx is None:
            ctx = Context(training=self.training, seed=self._seed, step=self._passes)
            self._passes += self.training
        outputs = self._core.outputs(list(inputs), ctx)
        return outputs[0] if self._core.is_classifier and len(outputs) == 1 else self._outputs(*outputs)

    def train(self, mode: bool = True, seed: int = 0) -> "Model":
        """From now on passes are those of training; returns the model."""
        self.training, self._seed = mode, seed
        return self

    def eval(self) -> "Model":
        """From now on passes are those of evaluation; returns the model."""
        return self.train(False)

    @property
    def name(self) -> str:
        """The name that create_model() knows it by."""
        return self._core.name

    @property
    def img_size(self) -> tuple[int, int]:
        """Height and width of the images that it is made for."""
        height, width = self._core.img_size
        return height, width

    @property
    def num_classes(self) -> int:
        """The number of classes; 0 for a model without."""
        return self._core.num_classes

    @property
    def config(self) -> dict[str, Any]:
        """All settings."""
        return dict(json.loads(self._core.config))

    def parameters(self) -> Parameters:
        """The parameters, for an optimizer; named() gives them by name."""
        return _core.parameters_of(self._core)

    def zero_grad(self) -> None:
        """Drops all gradients."""
        self.parameters().zero_grad()

    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and buffers under the official names, on the model's own memory."""
        return _core.state_of(self._core)

    def load_state_dict(self, tensors: Mapping[str, Any]) -> list[str]:
        """Copies weights of these names into the model; numpy's and PyTorch's arrays will do too.

        Position embeddings of another grid are resized. Anything missing or left over is an Error that names all of
        it, and nothing is copied. Returns notes about what was not simply copied.
        """
        ours = {name: t if isinstance(t, Tensor) else _core.from_dlpack(t) for name, t in tensors.items()}
        return _core.load_state(self._core, ours)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a safetensors file, which create_model() and timm read."""
        _core.save_model(os.fspath(path), self._core)

    def __repr__(self) -> str:
        return f"Model({self.name}, {self.parameters().count():,} parameters)"


def create_model(name: str | os.PathLike[str], checkpoint: str | os.PathLike[str] | None = None, *, seed: int = 0, device: str = "cpu",
                 **settings: Any) -> Model:
    """A model by name, or from a run's folder, a hub's folder or a weights file (safetensors or PyTorch's .pth).

    `settings` replace those of the name, as in create_model("vit_tiny_patch4_32", num_classes=10, depth=4).
    `checkpoint` has weights to load into it. Initial values are a function of the seed.
    """
    core = _core.make_model(os.fspath(name), json.dumps(settings), seed, device)
    if checkpoint is not None:
        _core.load_weights(core, os.fspath(checkpoint))
    return Model(core)


def attention_maps(model: Model, image: Tensor) -> list[Tensor]:
    """The attention weights of each block on one image [C, H, W], normalised as for the model: [heads, L, L] each.

    Row i has the weights with which token i reads the others; it adds up to 1. The first tokens are the class token
    and its like; the patches follow, row by row.
    """
    _require_tensors("attention_maps", (image,))
    return _core.attention_maps(model._core, image[None] if image.ndim == 3 else image)


def list_models(pattern: str = "", *, all: bool = False) -> list[str]:
    """The names that create_model() takes, or those that fit a pattern such as "vit_*"; all=True adds timm's others.

    Names are parsed: other patch and image sizes work too, as in vit_tiny_patch4_32x48.
    """
    names = _core.all_model_names() if all else _core.model_names()
    return [name for name in names if fnmatch.fnmatch(name, pattern or "*")]
