"""Logistic regression by Opacus on the data of zhang.py; run where Opacus can be imported.

Opacus names no settings as defaults, so there are two rows: those of its MNIST example (10 epochs,
batches of 64, learning rate 0.1) and those of skdp's own automatic choice. Clipping norm 1, Poisson
batches and the PRV accountant in both. It takes no sparse rows: they are made dense, without the
columns in which no row of the split, for training or testing, has an entry. Each coordinate has its
own noise, so no score's law depends on their weights. The synthetic sets, which would need 14 GB,
are left out.

Usage: OTHER_ENVIRONMENT/bin/python -m benchmarks.papers.opacus_peer --output opacus.csv
"""

import math
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from benchmarks.data import Split
from benchmarks.papers.wide_methods import DELTA, Method
from benchmarks.papers.zhang import parser, run

FITS_IN_MEMORY = "sms_spam,basehock,pcmac,movie_reviews,a9a,dorothea,dorothea 0/1"


@dataclass(frozen=True)
class Settings:
    """What Opacus leaves to its user."""

    n_epochs: int
    batch_size: int
    learning_rate: float


def of_example(split: Split, epsilon: float) -> Settings:
    """Settings of the MNIST example, whatever the budget."""
    return Settings(n_epochs=10, batch_size=64, learning_rate=0.1)


def of_skdp(split: Split, epsilon: float) -> Settings:
    """Settings by the rule that skdp documents for its own automatic choice."""
    n = len(split.y_train)
    mu = _gaussian_mu(epsilon)
    travel = min(2 * (n * mu) ** 0.8, 4000.0)
    n_steps = min(max(math.ceil(travel / 4), 50), 1000)
    rate = min(1.0, max(1.9 * mu / math.sqrt(n_steps), 5 / n_steps))
    return Settings(max(1, round(rate * n_steps)), round(rate * n), travel / n_steps)


def _gaussian_mu(epsilon: float) -> float:
    """Shift of the unit Gaussian pair whose curve goes through (epsilon, DELTA)."""

    def excess(mu: float) -> float:
        tail = np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))
        return float(ndtr(mu / 2 - epsilon / mu) - tail - DELTA)

    return float(brentq(excess, 1e-6, 50.0))


@dataclass(frozen=True)
class Linear:
    """Weights that Opacus has released, with the methods that scoring asks for.

    `coef_` belongs to the columns `occupied`.
    """

    coef_: np.ndarray
    intercept_: float
    occupied: np.ndarray

    def decision_function(self, X: Any) -> np.ndarray:
        return np.asarray(X[:, self.occupied] @ self.coef_).ravel() + self.intercept_

    def predict(self, X: Any) -> np.ndarray:
        return (self.decision_function(X) > 0).astype(int)


def fit(split: Split, epsilon: float, settings: Settings) -> Linear:
    """Train `torch.nn.Linear` privately."""
    import torch
    from opacus import PrivacyEngine

    torch.set_num_threads(1)
    occupied = np.flatnonzero(split.train.getnnz(axis=0) + split.test.getnnz(axis=0))
    model = torch.nn.Linear(len(occupied), 1)
    torch.nn.init.zeros_(model.weight)
    torch.nn.init.zeros_(model.bias)
    with warnings.catch_warnings():
        # Hooks and accountant complain about what the user cannot set.
        warnings.simplefilter("ignore")
        private, optimizer, loader = PrivacyEngine(accountant="prv").make_private_with_epsilon(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=settings.learning_rate),
            data_loader=_loader(split, occupied, settings.batch_size),
            target_epsilon=epsilon,
            target_delta=DELTA,
            epochs=settings.n_epochs,
            max_grad_norm=1.0,
        )
        loss = torch.nn.BCEWithLogitsLoss()
        for _ in range(settings.n_epochs):
            for rows, labels in loader:
                optimizer.zero_grad()
                loss(private(rows).squeeze(1), labels).backward()
                optimizer.step()
    weights = model.weight.detach().numpy().ravel().astype(float)
    return Linear(weights, float(model.bias.item()), occupied)


def _loader(split: Split, occupied: np.ndarray, batch_size: int) -> Any:
    import torch

    rows = torch.from_numpy(split.train[:, occupied].astype(np.float32).toarray())
    labels = torch.from_numpy(split.y_train.astype(np.float32))
    table = torch.utils.data.TensorDataset(rows, labels)
    return torch.utils.data.DataLoader(table, batch_size=batch_size)


METHODS = [
    Method("Opacus, MNIST example", lambda s, e: fit(s, e, of_example(s, e))),
    Method("Opacus, skdp's settings", lambda s, e: fit(s, e, of_skdp(s, e))),
]


def main() -> None:
    """Measure and store."""
    arguments = parser(__doc__).parse_args()
    if not arguments.output:
        sys.exit("--output is missing")
    arguments.only = arguments.only or FITS_IN_MEMORY
    run([m for m in METHODS if not arguments.methods or m.name in arguments.methods], arguments)


if __name__ == "__main__":
    main()
