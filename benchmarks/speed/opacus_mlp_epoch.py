"""Epochs of networks in Opacus, one for each line read: writes CPU and wall seconds of each.

One hidden layer of ReLU units and two outputs, in one of three ways: `loader` (its Poisson loader
and per-sample gradients, the defaults), `ghost` (batches cut from tensors, ghost clipping), `plain`
(batches cut from tensors, torch without privacy). Runs in an environment of its own, with Opacus
and torch alone, for mlp_epoch.py.

Usage: python benchmarks/speed/opacus_mlp_epoch.py ROWS.npz BATCH_SIZE WAY
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from opacus_epoch import clocked

HIDDEN, OUTPUTS = 64, 2


class Trainer:
    """A network, its optimiser and its batches."""

    def __init__(self, X: np.ndarray, y: np.ndarray, batch_size: int, way: str) -> None:
        import torch
        from opacus import PrivacyEngine
        from torch.utils.data import DataLoader, TensorDataset

        torch.set_num_threads(1)
        self._model = torch.nn.Sequential(
            torch.nn.Linear(X.shape[1], HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, OUTPUTS)
        )
        self._loss: Any = torch.nn.CrossEntropyLoss()
        self._optimizer: Any = torch.optim.SGD(self._model.parameters(), lr=0.5, momentum=0.9)
        rows = TensorDataset(torch.from_numpy(X).float(), torch.from_numpy(y).long())
        self._rows, self._size, self._way = rows, batch_size, way
        self._loader: Any = DataLoader(rows, batch_size=batch_size)
        private = {"noise_multiplier": 1.0, "max_grad_norm": 1.0}
        if way == "loader":
            self._model, self._optimizer, self._loader = PrivacyEngine().make_private(
                module=self._model, optimizer=self._optimizer, data_loader=self._loader, **private
            )
        elif way == "ghost":
            self._model, self._optimizer, self._loss, _ = PrivacyEngine().make_private(
                module=self._model, optimizer=self._optimizer, data_loader=self._loader,
                criterion=self._loss, grad_sample_mode="ghost", poisson_sampling=False, **private,
            )  # fmt: skip

    def epoch(self) -> None:
        for rows, labels in self._loader if self._way == "loader" else self._slices():
            self._optimizer.zero_grad()
            self._loss(self._model(rows), labels).backward()
            self._optimizer.step()

    def _slices(self) -> Iterator[Any]:
        rows, labels = self._rows.tensors
        for start in range(0, len(labels) - self._size + 1, self._size):
            yield rows[start : start + self._size], labels[start : start + self._size]


def main() -> None:
    """Answer until the input ends."""
    warnings.simplefilter("ignore")
    with np.load(sys.argv[1]) as stored:
        trainer = Trainer(stored["X"], stored["y"], int(sys.argv[2]), sys.argv[3])
    trainer.epoch()  # warms up
    import opacus
    import torch

    print(f"Opacus {opacus.__version__}, torch {torch.__version__}", flush=True)
    for _ in sys.stdin:
        print(*clocked(trainer), flush=True)


if __name__ == "__main__":
    main()
