"""Which score finds informative genes if class shares are known, nearly known, or unknown.

Ten picks of PrivateSelectKBest's exponential mechanism at epsilon 1, delta 1e-6, every patient of a
gene expression set there m times (n is m times their number; sums of products are m times as
large). Counted are picks among the hundredth of the columns with the largest absolute t statistic
(Welch), which is not private. Mean over 20 draws of noise. Then the patients as they are, for one
and for ten picks, with more epsilon.

    export SKDP_DATA=FOLDER
    python -m benchmarks.papers.gene_scores > benchmarks/results/papers/gene_scores.txt
"""

from collections.abc import Iterable

import numpy as np
from scipy.stats import ttest_ind

from benchmarks.data import Problem
from benchmarks.papers.watson_data import gene_rows
from skdp._random import RandomSource
from skdp.feature_selection.scores import ClassTarget, FeatureScore, RowBounds
from skdp.feature_selection.top_k import exponential
from skdp.privacy import PrivacyBudget

COPIES = (10, 30, 100, 300)
EPSILONS = (1.0, 3.0, 10.0, 40.0)
K, DRAWS = 10, 20
DELTA = 1e-6


def targets(problem: Problem) -> dict[str, ClassTarget]:
    """Return the scores: centred at means, or at shares of the second class."""
    share = problem.y.mean()
    declared = {
        "product, true shares": share,
        "product, shares off by 0.02": share + 0.02,
        "product, shares off by 0.05": share + 0.05,
        "product, equal shares": 0.5,
    }
    made = {name: ClassTarget(2, np.array([1 - p, p])) for name, p in declared.items()}
    return {"covariance": ClassTarget(2), **made}


def informative(problem: Problem) -> np.ndarray:
    """Return the hundredth of the columns with the largest t statistic."""
    rows = problem.X
    statistic = ttest_ind(rows[problem.y == 1], rows[problem.y == 0], equal_var=False).statistic
    statistic = np.abs(np.nan_to_num(statistic))
    return np.argsort(-statistic)[: rows.shape[1] // 100]


def found(
    problem: Problem, target: ClassTarget, good: np.ndarray, *, copies: int, k: int, epsilon: float
) -> str:
    """Return the mean share of picks that are informative."""
    bounds, shape = RowBounds((-1.0, 1.0), None), problem.X.shape
    exact = copies * FeatureScore(target, bounds, *shape).of(problem.X, problem.y)
    score = FeatureScore(target, bounds, copies * shape[0], shape[1])
    mechanism = exponential(score, k, PrivacyBudget(epsilon, DELTA))
    rng = RandomSource.from_system()
    picks = [mechanism.release(exact, rng).indices for _ in range(DRAWS)]
    return f"{100 * np.mean(np.isin(np.concatenate(picks), good)):.0f} %"


def line(cells: Iterable[str]) -> None:
    print(f"| {' | '.join(cells)} |")


def main() -> None:
    """Print two tables per set."""
    for name in ("gene ALL", "gene Golub"):
        problem = gene_rows(name)
        good, n = informative(problem), len(problem.y)
        line([f"{name}, epsilon 1", *(f"n = {copies * n:,}" for copies in COPIES)])
        line(["---", *("---:" for _ in COPIES)])
        for label, target in targets(problem).items():
            shares = (found(problem, target, good, copies=c, k=K, epsilon=1.0) for c in COPIES)
            line([label, *shares])
        print()
        line([f"{name}, n = {n}, covariance", *(f"epsilon {e:g}" for e in EPSILONS)])
        line(["---", *("---:" for _ in EPSILONS)])
        for k in (1, K):
            shares = (
                found(problem, ClassTarget(2), good, copies=1, k=k, epsilon=e) for e in EPSILONS
            )
            line([f"k = {k}", *shares])
        print()


if __name__ == "__main__":
    main()
