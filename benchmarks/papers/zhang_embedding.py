"""Word vectors with and without privacy: Zhang, Mironov and Hejazinia (2021), the embeddings.

1,000 words, 100 dimensions, one table, windows of 4, 8 negatives, Adam at 0.001, on 200,000
training examples of MASC (Brown with --brown). Mean loss of about 20,000 training and as many test
examples after each epoch: without privacy, with noise everywhere, with a selection of coordinates
by the exponential mechanism, the sparse vector technique and Gaussian noise, and of rows.

Two settings. "paper": vectors start at N(0, 1) and gradients are clipped at 15, epsilon 30, with
sound accounting for one example and with the paper's split, which is no guarantee. "small": they
start at 0.1 N(0, 1) and are clipped at 1, epsilon 1, 3 and 10, sound. Each with the paper's 20
epochs of batches of 20, and, with --batch 500 --epochs 6, with larger ones, which hide more at the
same cost of time.

Then the vectors as features: film reviews as means of their words, logistic regression, five folds.

Usage: python -m benchmarks.papers.zhang_embedding [--batch 20] [--epochs 20] [--brown PATH]
[--output CSV]
"""

import argparse
import csv
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
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
from skdp.embedding.dense_kernels import make_step
from skdp.embedding.encoding import encoded
from skdp.embedding.fused_dense import by_word
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

SIZE, NEGATIVES, DELTA, SEEN = 100, 8, 1e-5, 20_000
COORDINATES, ROWS = 5000, 50
PAPERS = ("exponential", "sparse vector")
COLUMNS = (
    "setting", "method", "accounting", "epsilon", "sound_epsilon", "sigma", "batch", "epochs",
    "epoch", "train", "test", "accuracy", "seconds", "seed",
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
Write = Callable[[Row], None]
#: Method, accounting, claimed epsilon, sound epsilon and plan.
Arm = tuple[str, str, float, float, TrainingPlan]


@dataclass(frozen=True)
class Schedule:
    """Expected batch size, number of epochs, and how many of these are made."""

    batch: int
    epochs: int
    made: int

    def cut(self, plan: TrainingPlan) -> TrainingPlan:
        """Return the first steps of a plan, with the noise of the whole."""
        steps = round(plan.n_steps * self.made / self.epochs)
        return replace(plan, n_steps=min(plan.n_steps, steps))


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
    selector: CoordinateSelector, data: Data, schedule: Schedule, setting: Setting
) -> TrainingPlan:
    """Return the shape of a run; its noise is still to be set."""
    sampler = PoissonSampler.of_batch_size(schedule.batch, data.train.n_records)
    n_steps = round(schedule.epochs * sampler.steps_per_epoch)
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
        if made:
            report(made // per_epoch, table)

    rng = RandomSource.from_seed(seed)
    table = run.train(data.train, rng, watch=watch, every=per_epoch)
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
    state = by_word(optimizer, gradients.shape, plan.n_steps)
    total = np.empty(gradients.shape)
    per_epoch, made, unbounded, grid = round(plan.sampler.steps_per_epoch), 0, 2.0**30, 2.0**-30
    for block in plan.sampler.blocks(data.train.n_records, plan.n_steps, rng.spawn()):
        for rows in block.each():
            gradients.begin(made)
            sums = gradients.sums(optimizer.values, rows, max_norm=unbounded, grid=grid)
            total[:] = 0.0
            make_step(state, made, *sums, total, grid)
            made += 1
            if made % per_epoch == 0 and made < plan.n_steps:
                report(made // per_epoch, run._table(optimizer))
    report(round(plan.n_steps / per_epoch), run._table(optimizer))
    return run._table(optimizer)


def arms(setting: Setting, data: Data, schedule: Schedule) -> Iterator[Arm]:
    """Yield the arms of a setting."""
    for epsilon in setting.epsilons:
        for name, selector in setting.selectors.items():
            plan = plan_of(selector, data, schedule, setting)
            yield name, "sound", epsilon, epsilon, plan.calibrated(PrivacyBudget(epsilon, DELTA))
    for name in PAPERS if setting.papers else ():
        selector = setting.selectors[name]
        shape = plan_of(selector, data, schedule, setting)
        claim = split_claim(shape.sampler, selector, setting.clip, shape.n_steps, shape.size)
        yield name, "the paper's", claim.claimed, claim.sound, claim.plan


@dataclass(frozen=True)
class Wanted:
    """Which arms are to be run; what is empty or None admits all."""

    setting: str
    methods: str
    accounting: str | None
    epsilon: float | None

    def __call__(self, setting: str, method: str, accounting: str, epsilon: float) -> bool:
        return (
            self.setting in ("", setting)
            and (not self.methods or method in self.methods.split(";"))
            and self.accounting in (None, accounting)
            and self.epsilon in (None, epsilon)
        )


def accuracy(found: Corpus, table: np.ndarray) -> float:
    """Accuracy of film reviews by the means of their words' vectors, five folds."""
    words = PrivateCBOW(vocabulary=found.vocabulary)
    words.vectors_, words.index_to_key_ = table, list(found.vocabulary.words)
    features = words.transform(found.reviews)
    model = make_pipeline(StandardScaler(), LogisticRegressionCV(Cs=5, cv=3, max_iter=500))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(cross_val_score(model, features, found.labels, cv=5).mean())


def measure(found: Corpus, schedule: Schedule, seed: int, wanted: Wanted, write: Write) -> None:
    """Write a row for each epoch of each arm, and one of its accuracy."""
    data = data_of(found)
    for name, setting in SETTINGS.items():
        shape = plan_of(AllCoordinates(), data, schedule, setting)
        untrained = ("untrained", "", -np.inf, -np.inf, shape)
        plain = ("no privacy", "", np.inf, np.inf, shape)
        for arm in (untrained, plain, *arms(setting, data, schedule)):
            if wanted(name, *arm[:3]):
                *facts, plan = arm
                arm = (*facts, schedule.cut(plan))
                measure_arm(arm, {"setting": name}, data, found, seed, write)


def measure_arm(arm: Arm, known: Row, data: Data, found: Corpus, seed: int, write: Write) -> None:
    """Write the rows of one arm."""
    method, accounting, epsilon, sound, plan = arm
    setting = SETTINGS[known["setting"]]
    facts: Row = {**known, "method": method}
    if method == "untrained":
        start = run_of(plan, setting)._beginning(RandomSource.from_seed(seed).spawn())
        table, seconds = start.reshape(-1, SIZE), 0.0
        write({**facts, "epoch": 0, **losses(data, table)})
    else:
        sigma = plan.noise.level if accounting else 0.0
        facts |= {
            "accounting": accounting, "epsilon": epsilon, "sound_epsilon": sound, "sigma": sigma,
        }  # fmt: skip
        run = trained if accounting else plainly_trained
        table, seconds = timed(run, plan, setting, data, seed, lambda row: write(facts | row))
    write({**facts, "accuracy": accuracy(found, table), "seconds": seconds})


def timed(
    run: Callable[..., np.ndarray], plan: TrainingPlan, setting: Setting, data: Data, seed: int,
    write: Write,
) -> tuple[np.ndarray, float]:  # fmt: skip
    """Train once, writing a row for each epoch; return the vectors and the CPU time of training."""
    watching = 0.0

    def report(epoch: int, table: np.ndarray) -> None:
        nonlocal watching
        before = time.process_time()
        write({"epoch": epoch, **losses(data, table)})
        watching += time.process_time() - before

    began = time.process_time()
    table = run(plan, setting, data, seed, report)
    return table, time.process_time() - began - watching


def main() -> None:
    """Measure and store."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--batch", type=int, default=20)
    options.add_argument("--epochs", type=int, default=20)
    options.add_argument("--made", type=int, help="stop after so many epochs of these")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--setting", default="", help="one of the two")
    options.add_argument("--only", default="", help="methods, separated by semicolons")
    options.add_argument("--accounting", default=None, help="one of the two")
    options.add_argument("--epsilon", type=float, default=None, help="one of them")
    options.add_argument("--brown", help="the Brown corpus, in NLTK's format")
    options.add_argument("--output", type=Path, help="CSV file; rows are added to it")
    arguments = options.parse_args()
    wanted = Wanted(arguments.setting, arguments.only, arguments.accounting, arguments.epsilon)
    public = {"batch": arguments.batch, "epochs": arguments.epochs, "seed": arguments.seed}
    output = arguments.output or Path("/dev/stdout")
    new = not output.is_file()
    with output.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if new:
            writer.writeheader()

        def write(row: Row) -> None:
            writer.writerow({**row, **public})
            file.flush()

        made = arguments.made or arguments.epochs
        schedule = Schedule(arguments.batch, arguments.epochs, made)
        measure(corpus(arguments.brown), schedule, arguments.seed, wanted, write)


if __name__ == "__main__":
    main()
