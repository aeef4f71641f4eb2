"""Dynamic noise schedules: Yu, Liu, Pu, Gursoy and Truex (2019), with PrivateMLPClassifier.

Every arm is calibrated to the epsilon in its row at delta 1e-5, under zero-out, by the exact
accountant of its batches. Experiments:

* schedules: MNIST, 60 components, one hidden layer of 1,000, batches of 600, clipping norm 4, step
  size 0.05, plain SGD, last iterate. "shuffled" spends rho = 0.78125, which is epsilon 5.680, so
  that sigma_0 comes out at the published 8 or 10; "Poisson" has the same noise, whose true epsilon
  is about a thirteenth. Uniform noise also at the number of epochs of each schedule. The validation
  schedule takes the last 5,000 rows as public.
* rates: exponential decay of several rates, as many epochs as rho pays for from sigma_0 = 10 on.
* layers: one to four hidden layers of 200, uniform noise.
* accounted: Poisson batches and the estimator's own settings at epsilon 2: does decay help there?
* cancer, fashion: the same on smaller tables.
All of these train around the origin. With one fit a seed:

* defaults: the numbers a user gets who sets epsilon, delta, classes and the hidden layer.

Components are those of a PrivatePCA of epsilon 0.4 and delta 1e-6, without a centre, one a seed,
which an epsilon in a row does not contain. "defaults" takes a private centre, and its epsilon is
that of both steps.

    export SKDP_DATA=FOLDER OPENBLAS_NUM_THREADS=1
    python -m benchmarks.papers.yu --output benchmarks/results/papers/yu.csv
    python -m benchmarks.papers.write_yu
"""

import argparse
import csv
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.neural_network import MLPClassifier

from benchmarks.data import Split
from benchmarks.papers.network_data import splits
from skdp.decomposition import PrivatePCA
from skdp.neural_network import PrivateMLPClassifier
from skdp.privacy import PrivacyBudget, composed_statement
from skdp.privacy.gaussian_curve import gaussian_epsilon
from skdp.training import (
    ConstantNoise,
    ConstantThen,
    ExponentialDecay,
    NoiseSchedule,
    PolynomialDecay,
    StepDecay,
    TimeDecay,
    ValidationDecay,
)
from skdp.training.budgets import epochs_within

COLUMNS = ("experiment", "arm", "batches", "epsilon", "epochs", "seed", "accuracy", "seconds")
DELTA, RHO = 1e-5, 0.78125
N_COMPONENTS, PCA_BUDGET = 60, PrivacyBudget(0.4, 1e-6)
N_VALIDATION = 5000
PUBLISHED: dict[str, tuple[NoiseSchedule, int]] = {
    "uniform": (ConstantNoise(), 100),
    "time": (TimeDecay(0.0281), 50),
    "exponential": (ExponentialDecay(0.0138), 60),
    "step": (StepDecay(0.7008, 10), 40),
    "polynomial": (PolynomialDecay(3.5277, 0.2, 100), 40),
}
#: Epsilon of the same noise with Poisson batches, as the accountant says for sigma_0 = 8 or 10.
POISSON = {"uniform": 0.4375, "time": 0.4328, "exponential": 0.4328, "step": 0.4457,
           "polynomial": 0.4298}  # fmt: skip
RATES = (0.005, 0.01, 0.02, 0.03, 0.05)
#: Shapes for a run of E epochs, each ending at about half the noise.
DECAYS: dict[str, Callable[[float], NoiseSchedule]] = {
    "uniform": lambda _: ConstantNoise(),
    "time": lambda epochs: TimeDecay(1 / epochs),
    "exponential": lambda epochs: ExponentialDecay(math.log(2) / epochs),
    "step": lambda epochs: StepDecay(0.5**0.25, max(1, round(epochs / 5))),
    "polynomial": lambda epochs: PolynomialDecay(1.0, 0.5, max(1, round(epochs))),
}
CANCER: dict[str, tuple[NoiseSchedule, int]] = {
    "uniform": (ConstantNoise(), 500),
    "exponential": (ExponentialDecay(0.001), 446),
    "step": (StepDecay(0.5782, 200), 373),
    "constant, then exponential": (ConstantThen(ExponentialDecay(0.002), 300), 447),
}


class Arm(NamedTuple):
    """One way to train, and what is written about it."""

    name: str
    batches: str
    epsilon: float
    epochs: float
    model: Any


def exact_epsilon(rho: float) -> float:
    """Epsilon of unsampled Gaussians of a total rho at delta 1e-5."""
    return gaussian_epsilon(math.sqrt(2 * rho), DELTA)


def as_published(hidden: Any, n_classes: int, epsilon: float, epochs: float, **other: Any) -> Any:
    """A network trained as on MNIST in the source."""
    settings = {
        "sampling": "shuffled",
        "batch_size": 600,
        "max_grad_norm": 4.0,
        "learning_rate": 0.05,
        "optimizer": "sgd",
        "average": False,
        "center": None,
    }
    return PrivateMLPClassifier(
        hidden,
        epsilon=epsilon,
        delta=DELTA,
        n_epochs=epochs,
        classes=range(n_classes),
        **{**settings, **other},
    )


def plain(hidden: Any) -> Arm:
    """scikit-learn's network, not private."""
    model = MLPClassifier(hidden, batch_size=600, max_iter=30, early_stopping=True)
    return Arm("not private", "", math.inf, 0, model)


def schedule_arms(split: Split) -> Iterator[Arm]:
    epsilon = exact_epsilon(RHO)
    for name, (noise, epochs) in PUBLISHED.items():
        model = as_published((1000,), 10, epsilon, epochs, noise_schedule=noise)
        yield Arm(name, "shuffled", epsilon, epochs, model)
    for epochs in (40, 60):
        model = as_published((1000,), 10, epsilon, epochs)
        yield Arm(f"uniform, {epochs} epochs", "shuffled", epsilon, epochs, model)
    for name, (noise, epochs) in PUBLISHED.items():
        model = as_published(
            (1000,), 10, POISSON[name], epochs, noise_schedule=noise, sampling="poisson"
        )
        yield Arm(name, "Poisson", POISSON[name], epochs, model)
    public = (split.train[-N_VALIDATION:], split.y_train[-N_VALIDATION:])
    noise = ValidationDecay(factor=0.7)
    model = as_published(
        (1000,), 10, epsilon, 100, noise_schedule=noise, validation_data=public, batch_size=550
    )
    yield Arm("validation", "shuffled", epsilon, 100, model)
    yield plain((1000,))


def rate_arms(split: Split) -> Iterator[Arm]:
    epsilon = exact_epsilon(RHO)
    for rate in RATES:
        epochs = epochs_within(ExponentialDecay(rate, level=10.0), RHO).n_epochs
        noise = ExponentialDecay(rate)
        model = as_published((200,), 10, epsilon, epochs, noise_schedule=noise)
        yield Arm(f"k = {rate}", "shuffled", epsilon, epochs, model)


def layer_arms(split: Split) -> Iterator[Arm]:
    epsilon = exact_epsilon(RHO)
    for n_layers in range(1, 5):
        model = as_published((200,) * n_layers, 10, epsilon, 100)
        yield Arm(f"{n_layers} x 200", "shuffled", epsilon, 100, model)


def accounted_arms(split: Split) -> Iterator[Arm]:
    def model_of(noise: NoiseSchedule) -> PrivateMLPClassifier:
        return PrivateMLPClassifier(
            (200,), epsilon=2.0, delta=DELTA, classes=range(10), noise_schedule=noise, center=None
        )

    epochs = _epochs_of(model_of(ConstantNoise()), split)
    for name, shape in DECAYS.items():
        yield Arm(name, "Poisson", 2.0, epochs, model_of(shape(epochs)))


def _epochs_of(model: PrivateMLPClassifier, split: Split) -> float:
    """Return the number of epochs that the automatic settings make, from public shapes."""
    from skdp.neural_network.mlp_settings import mlp_run
    from skdp.objectives import Multinomial

    plan = mlp_run(model, *split.train.shape, Multinomial(split.n_classes)).plan
    return plan.n_steps / plan.sampler.steps_per_epoch


def cancer_arms(split: Split) -> Iterator[Arm]:
    epsilon = exact_epsilon(0.4)
    for name, (noise, steps) in CANCER.items():
        model = as_published(
            (10, 20, 10), 2, epsilon, steps, noise_schedule=noise, sampling="full",
            batch_size="auto", learning_rate=0.01,
        )  # fmt: skip
        yield Arm(name, "full", epsilon, steps, model)
    for epsilon in (1.0, 2.0):
        model = PrivateMLPClassifier((10, 20, 10), epsilon=epsilon, delta=DELTA, classes=range(2))
        yield Arm("estimator's settings", "Poisson", epsilon, math.nan, model)
    yield Arm("not private", "", math.inf, 0, MLPClassifier((10, 20, 10), max_iter=500))


def fashion_arms(split: Split) -> Iterator[Arm]:
    epsilon = exact_epsilon(RHO)
    for name, (noise, epochs) in PUBLISHED.items():
        model = as_published((200,), 10, epsilon, epochs, noise_schedule=noise, batch_size=80)
        yield Arm(name, "shuffled", epsilon, epochs, model)
    model = PrivateMLPClassifier((200,), epsilon=2.0, delta=DELTA, classes=range(10), center=None)
    yield Arm("estimator's settings", "Poisson", 2.0, math.nan, model)
    yield plain((200,))


EXPERIMENTS: dict[str, tuple[str, Callable[[Split], Iterator[Arm]]]] = {
    "cancer": ("cancer", cancer_arms),
    "schedules": ("mnist", schedule_arms),
    "accounted": ("mnist", accounted_arms),
    "rates": ("mnist", rate_arms),
    "fashion": ("fashion_mnist", fashion_arms),
    "layers": ("mnist", layer_arms),
}


def components(split: Split) -> Split:
    """Replace rows by private components; tables of few columns stay as they are."""
    if split.train.shape[1] <= N_COMPONENTS:
        return split
    pca = PrivatePCA(N_COMPONENTS, epsilon=PCA_BUDGET.epsilon, delta=PCA_BUDGET.delta)
    train, test = pca.fit_transform(split.train), pca.transform(split.test)
    return split.__class__(train, split.y_train, test, split.y_test, split.n_classes)


def fitted(experiment: str, arm: Arm, split: Split, seed: int) -> dict[str, Any]:
    """Fit one arm once; one row of the file."""
    train, labels = split.train, split.y_train
    if getattr(arm.model, "validation_data", None) is not None:
        train, labels = train[:-N_VALIDATION], labels[:-N_VALIDATION]
    start = time.process_time()
    model = arm.model.fit(train, labels)
    seconds = time.process_time() - start
    accuracy = float(np.mean(model.predict(split.test) == split.y_test))
    made = getattr(model, "noise_multipliers_", None)
    epochs = arm.epochs if made is None else len(made)
    cells = (experiment, arm.name, arm.batches, f"{arm.epsilon:.4g}", f"{epochs:.4g}", seed,
             f"{accuracy:.4f}", f"{seconds:.2f}")  # fmt: skip
    return dict(zip(COLUMNS, cells, strict=True))


def default_rows(split: Split, seed: int) -> Iterator[dict[str, Any]]:
    """Raw pixels, and components whose cost is part of epsilon, with nothing else set."""
    for epsilon in (2.0, 8.0):
        model = PrivateMLPClassifier((1000,), epsilon=epsilon, delta=DELTA, classes=range(10))
        arm = Arm("raw pixels", "Poisson", epsilon, math.nan, model)
        yield fitted("defaults", arm, split, seed)
    pca = PrivatePCA(
        N_COMPONENTS,
        epsilon=PCA_BUDGET.epsilon,
        delta=PCA_BUDGET.delta,
        center="private",
        center_norm=10.0,
    )
    train, test = pca.fit_transform(split.train), pca.transform(split.test)
    reduced = Split(train, split.y_train, test, split.y_test, split.n_classes)
    for whole, rest in ((2.0, 1.93), (8.0, 7.9)):
        model = PrivateMLPClassifier(
            (1000,), epsilon=rest, delta=DELTA - PCA_BUDGET.delta, classes=range(10)
        )
        arm = Arm("60 components", "Poisson", whole, math.nan, model)
        row = fitted("defaults", arm, reduced, seed)
        spent = composed_statement([pca.privacy_, model.privacy_]).epsilon
        yield {**row, "epsilon": f"{spent:.4g}"}


def rows_of(experiment: str, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of one seed."""
    if experiment == "defaults":
        for _, split in splits("mnist"):
            yield from default_rows(split, seed)
        return
    name, arms = EXPERIMENTS[experiment]
    for _, split in splits(name):
        reduced = components(split)
        for arm in arms(reduced):
            yield fitted(experiment, arm, reduced, seed)


def main() -> None:
    """Measure, seed by seed; store what there is after each fit."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--first", type=int, default=0, help="number of the first seed")
    options.add_argument("--only", default=",".join([*EXPERIMENTS, "defaults"]))
    options.add_argument("--output", type=Path, required=True, help="CSV file; rows are appended")
    given = options.parse_args()
    new = not given.output.exists()
    with given.output.open("a", newline="") as target:
        writer = csv.DictWriter(target, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        for seed in range(given.first, given.first + given.seeds):
            for experiment in given.only.split(","):
                for row in rows_of(experiment, seed):
                    writer.writerow(row)
                    target.flush()
                print(experiment, "seed", seed, "done", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
