"""Epochs of word vectors in Opacus, one for each line read: writes CPU and wall seconds of each.

One `torch.nn.Embedding` of 1,000 words and 100 dimensions; rows are target, context and negatives.
Adam, per-sample gradients, its Poisson loader. Runs in an environment of its own, with Opacus and
torch alone, for cbow_epoch.py.

Usage: python benchmarks/speed/opacus_cbow_epoch.py ROWS.npz UNUSED BATCH_SIZE
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from opacus_epoch import clocked

WORDS, SIZE, CLIP = 1000, 100, 15.0


class Trainer:
    """A table of vectors, its optimiser and its loader, made private by Opacus."""

    def __init__(self, X: np.ndarray, batch_size: int) -> None:
        import torch
        from opacus import PrivacyEngine
        from torch.utils.data import DataLoader, TensorDataset

        class Loss(torch.nn.Module):
            """Loss of each example."""

            def __init__(self) -> None:
                super().__init__()
                self.vectors = torch.nn.Embedding(WORDS, SIZE)

            def forward(self, examples: Any) -> Any:
                vectors = self.vectors(examples)
                scores = (vectors * vectors[:, 1:2]).sum(-1)
                signed = torch.cat([scores[:, :1], -scores[:, 2:]], dim=1)
                return -torch.nn.functional.logsigmoid(signed).sum(1)

        torch.set_num_threads(1)
        model = Loss()
        self._model, self._optimizer, self._loader = PrivacyEngine().make_private(
            module=model,
            optimizer=torch.optim.Adam(model.parameters(), lr=0.001),
            data_loader=DataLoader(TensorDataset(torch.from_numpy(X)), batch_size=batch_size),
            noise_multiplier=0.5,
            max_grad_norm=CLIP,
        )

    def epoch(self) -> None:
        for (examples,) in self._loader:
            self._optimizer.zero_grad()
            self._model(examples).mean().backward()
            self._optimizer.step()


def main() -> None:
    """Answer until the input ends."""
    warnings.simplefilter("ignore")
    with np.load(sys.argv[1]) as stored:
        trainer = Trainer(stored["X"], int(sys.argv[3]))
    trainer.epoch()  # warms up
    import opacus
    import torch

    print(f"Opacus {opacus.__version__}, torch {torch.__version__}", flush=True)
    for _ in sys.stdin:
        print(*clocked(trainer), flush=True)


if __name__ == "__main__":
    main()
