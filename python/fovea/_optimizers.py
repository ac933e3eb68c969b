"""Optimizers and schedules, with PyTorch's names; the library's settings are those of the programs."""
import json
from typing import Any

from ._core import Error, OptimizerCore, Parameters, ScheduleCore, Tensor
from ._models import Model


class Optimizer:
    """Updates parameters from their gradients: step() after backward(), then zero_grad().

    Biases and norms have no weight decay. Further settings have the programs' names: layer_decay, lr_scale.
    """

    _kind = ""

    def __init__(self, parameters: Parameters | Model, lr: float = 1e-3, **settings: Any) -> None:
        if isinstance(parameters, Model):
            parameters = parameters.parameters()
        if not isinstance(parameters, Parameters):
            raise Error(f"{type(self).__name__}: got {type(parameters).__name__}, expected a model or its parameters()")
        for ours, name in (("opt_betas", "betas"), ("opt_eps", "eps")):
            if name in settings:
                settings[ours] = settings.pop(name)
        self.lr = lr
        self._core = OptimizerCore(parameters, json.dumps({"opt": self._kind, **settings}))

    def step(self, lr: float | None = None, *, clip_grad: float | None = None) -> float:
        """One update with `lr`, by default that of the optimizer. `clip_grad` bounds the norm of all gradients.

        Returns that norm, before clipping.
        """
        return self._core.step(self.lr if lr is None else lr, clip_grad)

    def zero_grad(self) -> None:
        """Drops all gradients."""
        self._core.zero_grad()

    def state_dict(self) -> dict[str, Any]:
        """The number of steps and the moments by name, on the optimizer's own memory."""
        return {"steps": self._core.steps_done, "moments": self._core.state()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues from what state_dict() gave, of the same optimizer on the same parameters."""
        moments: dict[str, Tensor] = self._core.state()
        if moments.keys() != state["moments"].keys():
            raise Error(f"load_state_dict: got {len(state['moments'])} moments, expected {len(moments)} of the same names")
        for name, moment in moments.items():
            moment.copy_(state["moments"][name])
        self._core.steps_done = state["steps"]


class AdamW(Optimizer):
    """Adam with decoupled weight decay: betas=(0.9, 0.999), eps=1e-8, weight_decay=0.05."""

    _kind = "adamw"


class SGD(Optimizer):
    """Gradient descent with Nesterov momentum: momentum=0.9, weight_decay=0.05."""

    _kind = "sgd"


class Lamb(Optimizer):
    """Adam with a trust ratio per tensor (You et al. 2020)."""

    _kind = "lamb"


class Lion(Optimizer):
    """The sign of a momentum (Chen et al. 2023)."""

    _kind = "lion"


class Muon(Optimizer):
    """Orthogonalised momentum for matrices (Jordan 2024), AdamW for the rest."""

    _kind = "muon"


class Schedule:
    """The learning rate of a step, as in the programs: schedule(step, steps_per_epoch).

    Schedule(lr=2e-3, epochs=8, sched="cosine", warmup_epochs=1, warmup_lr=1e-5, min_lr=1e-5); sched may also be
    linear, poly, step, multistep, constant, wsd or half-cosine.
    """

    def __init__(self, lr: float, **settings: Any) -> None:
        self._core = ScheduleCore(lr, json.dumps(settings))

    def __call__(self, step: int, steps_per_epoch: int) -> float:
        return self._core.rate(step, steps_per_epoch)
