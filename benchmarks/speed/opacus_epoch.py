"""Epochs of Opacus, one for each line read: writes CPU seconds and wall seconds of each.

Logistic regression as ``Linear(d, 1)``, batches by its Poisson loader, one thread. Runs in an
environment of its own, with Opacus and torch alone, for dense_epoch.py.

Usage: python benchmarks/speed/opacus_epoch.py ROWS.npz BATCH_SIZE
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import sys
import time
import warnings
from typing import Any

import numpy as np


class Trainer:
    """A model, its optimiser and its loader, made private with the defaults of Opacus."""

    def __init__(self, X: np.ndarray, y: np.ndarray, batch_size: int) -> None:
        import torch
        from opacus import PrivacyEngine
        from torch.utils.data import DataLoader, TensorDataset

        torch.set_num_threads(1)
        model = torch.nn.Linear(X.shape[1], 1)
        rows = TensorDataset(torch.from_numpy(X).float(), torch.from_numpy(y).float())
        self._loss = torch.nn.BCEWithLogitsLoss()
        self._model, self._optimizer, self._loader = PrivacyEngine().make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.5),
            data_loader=DataLoader(rows, batch_size=batch_size),
            noise_multiplier=1.0,
            max_grad_norm=1.0,
        )

    def epoch(self) -> None:
        for rows, labels in self._loader:
            self._optimizer.zero_grad()
            self._loss(self._model(rows)[:, 0], labels).backward()
            self._optimizer.step()


def clocked(trainer: Any) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    trainer.epoch()
    return time.process_time() - cpu, time.perf_counter() - wall


def main() -> None:
    """Answer until the input ends."""
    warnings.simplefilter("ignore")
    with np.load(sys.argv[1]) as stored:
        trainer = Trainer(stored["X"], stored["y"], int(sys.argv[2]))
    trainer.epoch()  # warms up
    import opacus
    import torch

    print(f"Opacus {opacus.__version__}, torch {torch.__version__}", flush=True)
    for _ in sys.stdin:
        print(*clocked(trainer), flush=True)


if __name__ == "__main__":
    main()
