"""Is ``alpha="auto"`` a good choice? It is compared with the best fixed alpha of a grid.

Requirement: on every data set and epsilon, the accuracy that the automatic choice loses to the
model without noise and without privacy (scikit-learn's LogisticRegression on the same clipped
rows) is at most 1.5 times what the best of 12 fixed values loses, plus one point. The best fixed
value is chosen on the test rows at no privacy charge, so nobody could have it. The one constant of
the automatic rule (`TYPICAL_ENERGY`) was set after seeing such grids on these same sets: meeting
the requirement here is no evidence for other data.

For speed every objective is minimised once per split and penalty, and the noise of the mechanism
is drawn a few times per split, scaled to each sensitivity and added to all minimisers. Those sums
are not releases: they share their noise. Neighbouring relation replace-one, delta 0.

Usage: python -m benchmarks.alpha [--seeds 10] [--draws 20] [--only wine,adult] [--output FILE]
"""

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.data import Problem, Split, problems
from benchmarks.planned import PlannedFit
from skdp._random import RandomSource

EPSILONS = (0.1, 0.5, 1.0, 3.0, 10.0)
GRID = tuple(float(alpha) for alpha in np.logspace(-4, 1.5, 12))
FACTOR, POINTS = 1.5, 1.0


@dataclass(frozen=True)
class Cell:
    """Mean test accuracy, in per cent, of every choice of alpha for one set and one epsilon."""

    data: str
    epsilon: float
    not_private: float
    auto_alpha: float
    auto: float
    fixed: tuple[float, ...]

    @property
    def best(self) -> int:
        return int(np.argmax(self.fixed))

    @property
    def allowed_loss(self) -> float:
        return FACTOR * (self.not_private - self.fixed[self.best]) + POINTS

    @property
    def loss(self) -> float:
        return self.not_private - self.auto

    def row(self) -> str:
        met = "yes" if self.loss <= self.allowed_loss else "NO"
        return (
            f"| {self.data:<13} | {self.epsilon:>7g} | {self.not_private:>6.1f} "
            f"| {self.fixed[self.best]:>6.1f} | {GRID[self.best]:>9.4f} "
            f"| {self.auto:>6.1f} | {self.auto_alpha:>9.4f} "
            f"| {self.loss:>5.1f} | {self.allowed_loss:>5.1f} | {met:>3} |"
        )


HEADER = (
    "| data          | epsilon | not private | best fixed | its alpha | auto | its alpha "
    "| loss | allowed | met |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---|"
)


class SplitStudy:
    """Accuracy on the test rows of one split under many penalties, with shared noise."""

    def __init__(self, split: Split, n_draws: int) -> None:
        self._split = split
        self._unit = PlannedFit(split, 1.0, 1.0)
        rng, zeros = RandomSource.from_system(), np.zeros(self._unit.shape)
        draws = [self._unit.mechanism.release(zeros, rng) for _ in range(n_draws)]
        self._noise = [self._scores(self._unit.as_model(draw)) for draw in draws]
        self._exact: dict[float, np.ndarray] = {}

    def _scores(self, model: LogisticRegression) -> np.ndarray:
        return model.decision_function(self._split.test)

    def planned(self, epsilon: float, alpha: float | str) -> PlannedFit:
        return PlannedFit(self._split, epsilon, alpha)

    def accuracy(self, planned: PlannedFit) -> float:
        """Mean accuracy over the draws, in per cent."""
        if planned.alpha not in self._exact:
            self._exact[planned.alpha] = self._scores(planned.without_noise())
        exact = self._exact[planned.alpha]
        scale = planned.mechanism.standard_deviation / self._unit.mechanism.standard_deviation
        return float(np.mean([self._right(exact + scale * noise) for noise in self._noise]))

    def _right(self, scores: np.ndarray) -> float:
        places = scores.argmax(axis=1) if scores.ndim > 1 else scores > 0
        return 100 * float(np.mean(places == self._split.y_test))

    def not_private(self) -> float:
        """Accuracy of scikit-learn's default on the same rows."""
        split = self._split
        model = LogisticRegression(max_iter=1000).fit(split.train, split.y_train)
        return 100 * model.score(split.test, split.y_test)


def study(problem: Problem, n_seeds: int, n_draws: int) -> list[Cell]:
    """Compare on one data set."""
    reference, auto, auto_alpha, fixed = [], [], [], []
    for seed in range(n_seeds):
        split = SplitStudy(problem.split(seed), n_draws)
        reference.append(split.not_private())
        chosen = [split.planned(epsilon, "auto") for epsilon in EPSILONS]
        auto_alpha.append([planned.alpha for planned in chosen])
        auto.append([split.accuracy(planned) for planned in chosen])
        fixed.append(
            [
                [split.accuracy(split.planned(epsilon, alpha)) for alpha in GRID]
                for epsilon in EPSILONS
            ]
        )
    auto, auto_alpha, fixed = (np.mean(values, axis=0) for values in (auto, auto_alpha, fixed))
    return [
        Cell(problem.name, epsilon, float(np.mean(reference)), alpha, accuracy, tuple(row))
        for epsilon, alpha, accuracy, row in zip(EPSILONS, auto_alpha, auto, fixed, strict=True)
    ]


def main() -> None:
    """Print the table and, for the curious, the accuracy of every fixed alpha."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--only", default="", help="names of data sets, separated by commas")
    parser.add_argument("--output", type=Path, help="write all accuracies to this JSON file")
    arguments = parser.parse_args()
    print(HEADER)
    cells = []
    for problem in problems(arguments.only):
        found = study(problem, arguments.seeds, arguments.draws)
        print("\n".join(cell.row() for cell in found), flush=True)
        cells += found
    print("\naccuracy by alpha", *(f"{alpha:.4f}" for alpha in GRID))
    for cell in cells:
        print(f"{cell.data} {cell.epsilon:g}:", *(f"{accuracy:.1f}" for accuracy in cell.fixed))
    if arguments.output:
        arguments.output.write_text(json.dumps([vars(cell) for cell in cells], indent=1) + "\n")
    missed = [cell for cell in cells if cell.loss > cell.allowed_loss]
    print(f"\n{len(cells) - len(missed)} of {len(cells)} cells meet the requirement")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
