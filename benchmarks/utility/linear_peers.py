"""Peers that need an environment of their own: diffprivlib, interpret's DP-EBM, and Opacus.

Reads what `benchmarks.utility.linear --export FOLDER` wrote and imports nothing of skdp.

Usage: OTHER/bin/python benchmarks/utility/linear_peers.py {diffprivlib,interpret,opacus}
       FOLDER [--seeds 5] [--first 0] [--only NAMES] [--method NAME] [--setting START]
       [--epsilons 3,10] [--output FILE]
"""

import argparse
import sys
import warnings
from functools import cache, partial
from pathlib import Path

import numpy as np

EPSILONS = (0.1, 0.5, 1.0, 3.0, 10.0)
#: Learning rates and clipping norms of what Opacus trains.
OPACUS_LINEAR = ((2.0, 0.3), (2.0, 1.0), (8.0, 0.3), (8.0, 1.0), (32.0, 0.3), (32.0, 1.0))
OPACUS_NETWORK = ((0.5, 1.0), (2.0, 1.0), (8.0, 0.3), (8.0, 1.0), (32.0, 0.3))
#: Of squared errors, of a line and a network.
OPACUS_REGRESSION = ((0.02, 1.0), (0.1, 1.0), (0.5, 1.0))
#: Learning rates and bins of DP-EBM beside its defaults (0.01 and 32, with 300 rounds).
BOOSTED = ((0.2, 32), (0.5, 32), (1.0, 32), (0.2, 8), (0.5, 16))


def diffprivlib_fits(n_classes, largest):
    from diffprivlib.models import (
        GaussianNB,
        LinearRegression,
        LogisticRegression,
        RandomForestClassifier,
    )

    if n_classes == 0:
        yield (
            "diffprivlib LinearRegression",
            "",
            lambda X, y, epsilon, delta, seed: LinearRegression(
                epsilon=epsilon, bounds_X=(-1, 1), bounds_y=(-1, 1), random_state=seed
            ).fit(X, y),
        )
        return
    for C in (0.01, 1.0) if largest else (0.01, 0.1, 1.0, 10.0):
        yield (
            "diffprivlib LogisticRegression",
            f"C={C}",
            lambda X, y, epsilon, delta, seed, C=C: LogisticRegression(
                epsilon=epsilon, data_norm=1.0, C=C, random_state=seed
            ).fit(X, y),
        )
    yield (
        "diffprivlib GaussianNB",
        "",
        lambda X, y, epsilon, delta, seed: GaussianNB(
            epsilon=epsilon, bounds=(-1, 1), random_state=seed
        ).fit(X, y),
    )
    for trees in (3, 10, 30):
        yield (
            "diffprivlib RandomForest",
            f"trees={trees}",
            lambda X, y, epsilon, delta, seed, trees=trees: RandomForestClassifier(
                n_estimators=trees,
                epsilon=epsilon,
                bounds=(-1, 1),
                classes=range(n_classes),
                random_state=seed,
                n_jobs=1,
            ).fit(X, y),
        )


def interpret_fits(n_classes, largest):
    from interpret.privacy import (
        DPExplainableBoostingClassifier,
        DPExplainableBoostingRegressor,
    )

    if n_classes > 2:
        return
    maker = DPExplainableBoostingClassifier if n_classes else DPExplainableBoostingRegressor

    def fit(X, y, epsilon, delta, seed, **chosen):
        told = {"privacy_bounds": dict.fromkeys(range(X.shape[1]), (-1, 1))}
        if not n_classes:
            told |= {"privacy_target_min": -1, "privacy_target_max": 1}
        model = maker(
            feature_types=["continuous"] * X.shape[1],
            epsilon=epsilon,
            delta=delta,
            random_state=seed,
            n_jobs=1,
            **told,
            **chosen,
        )
        return model.fit(X, y)

    yield "DP-EBM", "defaults", fit
    for rate, bins in BOOSTED:
        chosen = {"max_rounds": 50, "learning_rate": rate, "max_bins": bins}
        yield "DP-EBM", f"rounds=50 rate={rate} bins={bins}", partial(fit, **chosen)


def opacus_fits(n_classes, largest):
    for rate, clip in OPACUS_LINEAR if n_classes else OPACUS_REGRESSION:
        fit = partial(opacus_fit, n_classes=n_classes, hidden=0, rate=rate, clip=clip)
        yield "Opacus linear", f"rate={rate:g} clip={clip:g}", fit
    for rate, clip in OPACUS_NETWORK if n_classes else OPACUS_REGRESSION:
        fit = partial(opacus_fit, n_classes=n_classes, hidden=64, rate=rate, clip=clip)
        yield "Opacus network", f"rate={rate:g} clip={clip:g}", fit


def opacus_fit(X, y, epsilon, delta, seed, n_classes, hidden, rate, clip, epochs=20):
    """Train on Poisson batches, each example's gradient clipped without being stored."""
    import torch
    from opacus.grad_sample import GradSampleModuleFastGradientClipping
    from opacus.optimizers import DPOptimizerFastGradientClipping
    from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    n = len(X)
    batch = min(max(n // 16, min(64, n)), 2048)
    n_steps = round(epochs * n / batch)
    outputs = n_classes if n_classes > 2 else 1
    rows = torch.from_numpy(X.astype(np.float32))
    labels = torch.from_numpy(y if outputs > 1 else y.astype(np.float32))
    module = opacus_module(X.shape[1], hidden, outputs)
    private = GradSampleModuleFastGradientClipping(module, max_grad_norm=clip)
    optimizer = DPOptimizerFastGradientClipping(
        torch.optim.SGD(private.parameters(), lr=rate),
        noise_multiplier=opacus_noise(epsilon, delta, batch / n, n_steps),
        max_grad_norm=clip,
        expected_batch_size=batch,
    )
    plain = {0: torch.nn.MSELoss, 2: torch.nn.BCEWithLogitsLoss}
    loss = plain.get(n_classes, torch.nn.CrossEntropyLoss)(reduction="mean")
    criterion = DPLossFastGradientClipping(private, optimizer, loss)
    for _ in range(n_steps):
        drawn = torch.nonzero(torch.rand(n) < batch / n)[:, 0]
        optimizer.zero_grad()
        scores = private(rows[drawn])
        # A loss of two dimensions would be broadcast against the clipping factors.
        criterion(scores if outputs > 1 else scores[:, 0], labels[drawn]).backward()
        optimizer.step()
    return OpacusModel(module, n_classes)


def opacus_module(n_features, hidden, outputs):
    """Return a line that starts at zero, or one hidden layer."""
    import torch

    if hidden:
        first = torch.nn.Linear(n_features, hidden)
        return torch.nn.Sequential(first, torch.nn.Tanh(), torch.nn.Linear(hidden, outputs))
    line = torch.nn.Linear(n_features, outputs)
    torch.nn.init.zeros_(line.weight)
    torch.nn.init.zeros_(line.bias)
    return line


@cache
def opacus_noise(epsilon, delta, rate, n_steps):
    """Return the noise multiplier that Opacus' tighter accountant finds."""
    from opacus.accountants.utils import get_noise_multiplier

    return get_noise_multiplier(
        target_epsilon=epsilon,
        target_delta=delta,
        sample_rate=rate,
        steps=n_steps,
        accountant="prv",
    )


class OpacusModel:
    """A trained module, asked for labels."""

    def __init__(self, module, n_classes):
        self._module, self._n_classes = module, n_classes

    def predict(self, X):
        import torch

        with torch.no_grad():
            scores = self._module(torch.from_numpy(X.astype(np.float32))).numpy()
        if self._n_classes > 2:
            return scores.argmax(axis=1)
        return scores[:, 0] > 0 if self._n_classes else scores[:, 0]


def score(model, X, y, n_classes):
    predicted = model.predict(X)
    if n_classes:
        return float(np.mean(predicted == y))
    return float(1 - ((predicted - y) ** 2).sum() / ((y - y.mean()) ** 2).sum())


PEERS = {"diffprivlib": diffprivlib_fits, "interpret": interpret_fits, "opacus": opacus_fits}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("peer", choices=sorted(PEERS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, help="the first split, also of large sets")
    parser.add_argument("--only", default="")
    parser.add_argument("--method", default="", help="this one alone")
    parser.add_argument("--setting", default="", help="settings that begin with this alone")
    parser.add_argument("--epsilons", default=",".join(map(str, EPSILONS)))
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    fits = PEERS[given.peer]
    lines = ["data,method,setting,epsilon,seed,score"]
    warnings.simplefilter("ignore")
    for file in sorted(given.folder.glob("*.npz")):
        if given.only and file.stem not in given.only.split(","):
            continue
        with np.load(file) as stored:
            X, y, n_classes = stored["X"].astype(float), stored["y"], int(stored["n_classes"])
            largest = X.size > 4e6
            seeds = range(given.first or 0, given.seeds)
            if largest and given.first is None:
                seeds = seeds[:2]
            splits = [(s, stored[f"train{s}"], stored[f"test{s}"]) for s in seeds]
        for name, setting, fit in fits(n_classes, largest):
            if given.method not in ("", name) or not setting.startswith(given.setting):
                continue
            for epsilon in map(float, given.epsilons.split(",")):
                for seed, train, test in splits:
                    delta = len(train) ** -1.1 if n_classes else 1e-5
                    model = fit(X[train], y[train], epsilon, delta, seed)
                    found = score(model, X[test], y[test], n_classes)
                    lines.append(f"{file.stem},{name},{setting},{epsilon:g},{seed},{found:.5f}")
        print(file.stem, file=sys.stderr)
    text = "\n".join(lines) + "\n"
    given.output.write_text(text) if given.output else print(text, end="")


if __name__ == "__main__":
    main()
