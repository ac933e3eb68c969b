"""batches(): the training data of a run, for a loop of one's own."""
import json
from collections.abc import Iterator, Mapping
from typing import Any

from ._core import BatchesCore, Tensor


class Batches:
    """The batches of a run, one epoch per iteration: images f32 [B, C, H, W] and labels i64 [B].

    Where the settings mix images (mixup, cutmix), the labels are targets f32 [B, K], for soft_cross_entropy().
    """

    def __init__(self, core: BatchesCore) -> None:
        self._core = core

    def __len__(self) -> int:
        return self._core.steps_per_epoch

    @property
    def epochs(self) -> int:
        """The epochs of the settings."""
        return self._core.epochs

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        return (self._core.next() for _ in range(len(self)))


def batches(config: Mapping[str, Any] | None = None, **settings: Any) -> Batches:
    """The training batches of `train_cifar` with these settings: shuffled, augmented, normalised, loaded ahead.

    The names are those of the programs' flags: batches(dataset="cifar10", data_dir="cifar", batch_size=64, seed=1).
    The same settings give the same batches.
    """
    return Batches(BatchesCore(json.dumps({**(config or {}), **settings})))
