"""Word vectors with and without privacy: Zhang, Mironov and Hejazinia (2021), the embeddings.

1,000 words, 100 dimensions, one table, windows of 4, 8 negatives, Adam at 0.001, on 200,000
training examples of MASC (Brown with --brown). Mean loss of about 20,000 training and as many test
examples after each epoch: without privacy, with noise everywhere, with a selection of coordinates
by the exponential mechanism, the sparse vector technique and Gaussian noise, and of rows.

Two settings. "paper": vectors start at N(0, 1) and gradients are clipped at 15, epsilon 30, with
sound accounting for one example and with the paper's split, which is no guarantee. "small": they
start at 0.1 N(0, 1) and are clipped at 1, epsilon 1, 3 and 10, sound. Not the paper's: batches of
500 in place of 20, which hide more at the same cost of time, and fewer epochs.

Then the vectors as features: film reviews as means of their words, logistic regression, five folds.

Usage: python -m benchmarks.papers.zhang_embedding [--epochs 6] [--brown PATH] [--output CSV]
"""

import argparse
import csv
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.papers.embedding_accounts import split_claim
from benchmarks.papers.embedding_corpus import WINDOW, Corpus, Documents, corpus
from skdp._random import RandomSource
from skdp.embedding import PrivateCBOW, WholeRows
from skdp.embedding.encoding import encoded
from skdp.embedding.gradients import CbowGradients
from skdp.embedding.loss import mean_loss
from skdp.embedding.negatives import NegativeLaw
from skdp.embedding.records import CbowRecords
from skdp.embedding.run import CbowRun
from skdp.privacy import PrivacyBudget
from skdp.training import (
    Adam,
    AllCoordinates,
    ConstantNoise,
    CoordinateSelector,
    ExponentialSelector,
    GaussianSelector,
    PoissonSampler,
    SparseVectorSelector,
    SurvivorSelector,
    TrainingPlan,
)

SIZE, NEGATIVES, DELTA, BATCH, SEEN = 100, 8, 1e-5, 500, 20_000
COORDINATES, ROWS = 5000, 50
PAPERS = ("exponential", "sparse vector")
COLUMNS = (
    "setting", "method", "accounting", "epsilon", "sound_epsilon", "sigma", "epoch", "train",
    "test", "accuracy", "seconds", "seed",
)  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """Where vectors start, where gradients are clipped, and what is asked for."""

    init: float
    clip: float
    epsilons: tuple[float, ...]
    papers: bool

    @property
    def selectors(self) -> dict[str, CoordinateSelector]:
        """How coordinates are chosen; after a choice of single ones gradients are shorter."""
        shorter = {"selected_norm": self.clip / 3}
        return {
            "dense noise": AllCoordinates(),
            "exponential": ExponentialSelector(COORDINATES, **shorter),
            "sparse vector": SparseVectorSelector(COORDINATES, **shorter),
            "gaussian": GaussianSelector(COORDINATES),
            "rows, gaussian": WholeRows(GaussianSelector(ROWS, share=0.5), SIZE),
            "rows, adafest": WholeRows(SurvivorSelector(ROWS), SIZE),
        }


SETTINGS = {
    "paper": Setting(1.0, 15.0, (30.0,), papers=True),
    "small": Setting(0.1, 1.0, (1.0, 3.0, 10.0), papers=False),
}

Row = dict[str, Any]


@dataclass(frozen=True)
class Data:
    """Records to train on, and samples of examples that losses are taken of."""

    train: CbowRecords
    seen: dict[str, CbowRecords]
    n_words: int


def data_of(found: Corpus) -> Data:
    """Return the records; each sample has the first so many examples of its part."""

    def records(documents: Documents) -> CbowRecords:
        return CbowRecords(
            encoded(documents, found.vocabulary.places),
            WINDOW,
            NEGATIVES,
            NegativeLaw.of(found.vocabulary, 0.75),
            by_document=False,
            most_examples=1,
        )

    def sample(name: str) -> CbowRecords:
        whole = found.parts[name]
        step = max(1, sum(map(len, whole)) * 2 * WINDOW // SEEN)
        pieces = [words[at : at + 50] for words in whole for at in range(0, len(words), 50)]
        return records(pieces[::step])

    seen = {name: sample(name) for name in ("train", "test")}
    return Data(records(found.parts["train"]), seen, len(found.vocabulary))


def losses(data: Data, table: np.ndarray) -> dict[str, float]:
    """Mean loss of examples of training and test documents, always of the same ones."""
    by_document = {}
    for name, records in data.seen.items():
        every = CbowRecords(
            records.documents, WINDOW, NEGATIVES, records.law, by_document=True,
            most_examples=2**31,
        )  # fmt: skip
        by_document[name] = mean_loss(table, every, np.uint64(1))
    return by_document


def plan_of(
    selector: CoordinateSelector, data: Data, epochs: int, setting: Setting
) -> TrainingPlan:
    """Return the shape of a run; its noise is still to be set."""
    sampler = PoissonSampler.of_batch_size(BATCH, data.train.n_records)
    n_steps = round(epochs * sampler.steps_per_epoch)
    size = data.n_words * SIZE
    return TrainingPlan(
        sampler, selector, ConstantNoise(), setting.clip, n_steps=n_steps, size=size
    )


def run_of(plan: TrainingPlan, setting: Setting) -> CbowRun:
    return CbowRun(
        plan, Adam, 0.001, 0.0, average=False, n_free=0, vector_size=SIZE, init_scale=setting.init
    )


def trained(
    plan: TrainingPlan,
    setting: Setting,
    data: Data,
    seed: int,
    report: Callable[[int, np.ndarray], None],
) -> np.ndarray:
    """Run a plan; `report` is told each epoch's number and vectors."""
    run = run_of(plan, setting)
    per_epoch = round(plan.sampler.steps_per_epoch)

    def watch(made: int, table: np.ndarray) -> None:
        if made % per_epoch == 0 and made:
            report(made // per_epoch, table)

    table = run.train(data.train, RandomSource.from_seed(seed), watch=watch)
    report(round(plan.n_steps / per_epoch), table)
    return table


def plainly_trained(
    plan: TrainingPlan,
    setting: Setting,
    data: Data,
    seed: int,
    report: Callable[[int, np.ndarray], None],
) -> np.ndarray:
    """Run the steps of a plan without clipping and without noise."""
    run = run_of(plan, setting)
    rng = RandomSource.from_seed(seed)
    optimizer = Adam(run.descent, run._beginning(rng.spawn()))
    key = rng.spawn().words(1)[0]
    gradients = CbowGradients(data.train, SIZE, most_records=1, key=key)
    per_epoch, made = round(plan.sampler.steps_per_epoch), 0
    for block in plan.sampler.blocks(data.train.n_records, plan.n_steps, rng.spawn()):
        for rows in block.each():
            gradients.begin(made)
            total = gradients.clipped_sum(
                optimizer.values, 1.0, rows, max_norm=2.0**30, grid=2.0**-30
            )
            optimizer.apply(total.toarray())
            made += 1
            if made % per_epoch == 0:
                report(made // per_epoch, run._table(optimizer))
    return run._table(optimizer)


def arms(
    setting: Setting, data: Data, epochs: int
) -> Iterator[tuple[str, str, float, float, TrainingPlan]]:
    """Yield method, accounting, claimed epsilon, sound epsilon and plan."""
    for epsilon in setting.epsilons:
        for name, selector in setting.selectors.items():
            plan = plan_of(selector, data, epochs, setting)
            yield name, "sound", epsilon, epsilon, plan.calibrated(PrivacyBudget(epsilon, DELTA))
    for name in PAPERS if setting.papers else ():
        selector = setting.selectors[name]
        shape = plan_of(selector, data, epochs, setting)
        claim = split_claim(shape.sampler, selector, setting.clip, shape.n_steps, shape.size)
        yield name, "the paper's", claim.claimed, claim.sound, claim.plan


def accuracy(found: Corpus, table: np.ndarray) -> float:
    """Accuracy of film reviews by the means of their words' vectors, five folds."""
    words = PrivateCBOW(vocabulary=found.vocabulary)
    words.vectors_, words.index_to_key_ = table, list(found.vocabulary.words)
    features = words.transform(found.reviews)
    model = make_pipeline(StandardScaler(), LogisticRegressionCV(Cs=5, cv=3, max_iter=500))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(cross_val_score(model, features, found.labels, cv=5).mean())


def measure(found: Corpus, epochs: int, seed: int, only: str, least: float) -> Iterator[Row]:
    """Yield a row for each epoch of each arm, and one of its accuracy."""
    data = data_of(found)
    for name, setting in SETTINGS.items():
        shape = plan_of(AllCoordinates(), data, epochs, setting)
        start = run_of(shape, setting)._beginning(RandomSource.from_seed(seed).spawn())
        untrained = {"setting": name, "method": "untrained"}
        yield {**untrained, "epoch": 0, **losses(data, start.reshape(-1, SIZE))}
        yield {**untrained, "accuracy": accuracy(found, start.reshape(-1, SIZE))}
        plain = ("no privacy", "", np.inf, np.inf, shape)
        for method, accounting, epsilon, sound, plan in (plain, *arms(setting, data, epochs)):
            if epsilon < least or (only and method not in only.split(";")):
                continue
            facts = {
                "setting": name, "method": method, "accounting": accounting, "epsilon": epsilon,
                "sound_epsilon": sound, "sigma": plan.noise.level,
            }  # fmt: skip
            for row in fitted(plan, setting, data, seed, found, method == "no privacy"):
                yield {**facts, **row}
            print(facts, row, file=sys.stderr, flush=True)


def fitted(
    plan: TrainingPlan, setting: Setting, data: Data, seed: int, found: Corpus, plain: bool
) -> list[Row]:
    """Train once; return a row for each epoch, then one of accuracy and time."""
    rows: list[Row] = []
    watching = 0.0

    def report(epoch: int, table: np.ndarray) -> None:
        nonlocal watching
        before = time.process_time()
        rows.append({"epoch": epoch, **losses(data, table)})
        watching += time.process_time() - before

    began = time.process_time()
    table = (plainly_trained if plain else trained)(plan, setting, data, seed, report)
    seconds = time.process_time() - began - watching
    return [*rows, {"accuracy": accuracy(found, table), "seconds": seconds}]


def main() -> None:
    """Measure and store."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--epochs", type=int, default=6)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--only", default="", help="methods, separated by semicolons")
    options.add_argument("--least", type=float, default=0.0, help="least epsilon")
    options.add_argument("--brown", help="the Brown corpus, in NLTK's format")
    options.add_argument("--output", type=Path, help="CSV file")
    arguments = options.parse_args()
    found = corpus(arguments.brown)
    how = (arguments.epochs, arguments.seed, arguments.only, arguments.least)
    with (arguments.output or Path("/dev/stdout")).open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for row in measure(found, *how):
            writer.writerow({**row, "seed": arguments.seed})
            file.flush()


if __name__ == "__main__":
    main()
