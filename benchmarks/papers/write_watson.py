"""Write docs/watson.md and its figures from benchmarks/results/papers/watson.csv; measures nothing.

Usage: python -m benchmarks.papers.write_watson
"""

from pathlib import Path

from benchmarks.papers.watson_rules import PAPER, TIGHT
from benchmarks.papers.watson_tables import (
    GENES,
    LARGE_SETS,
    Results,
    accuracy_table,
    best_table,
    draw_accuracy,
    draw_features,
    draw_size,
    feature_table,
    size_table,
)

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "papers" / "watson.csv"
TARGET = ROOT / "docs" / "watson.md"
FIGURES = ROOT / "docs" / "figures"
#: Training rows of a split.
PATIENTS = {"gene ALL": 89, "gene Golub": 26}

PAGE = """# Noise scaled by stability

Written by `benchmarks/papers/write_watson.py`; `benchmarks/papers/watson.py` says how to measure
again.

Watson, Rozemberczki and Sarkar (2020) release elastic-net models with noise in proportion to their
stability: the stronger the penalty lambda, the less one record moves the model and the less noise
is needed. Their experiments are repeated here with sound noise: rows clipped to norm 1, the
intercept penalised, ranges and categories from documentation, exact minimisers, noise of the norm
in which the sensitivity is bounded. Logistic loss, 5 % of the penalty L1, pure epsilon-DP for
replaced records unless a delta is named. Mean ± standard error of 10 draws (a stratified split with
70 % for training, and fresh noise).

The rules for the noise (`benchmarks/papers/watson_rules.py` has the formulas):

- **tight**: what `PrivateElasticNetClassifier` does.
- **Theorem 4**: the paper's bound, twice as large, and Laplace noise on each coefficient, which
  costs another factor of the root of their number. `bound="paper", noise="laplace"`.
- **Theorem 7**: the paper's general bound from uniform stability. It falls as n^(-1/2) where the
  others fall as 1/n.
- **fixed b = 0.1**: Laplace noise of scale 0.1 whatever lambda is. That is no guarantee of one
  epsilon: the last line of each table says what epsilon it has (with the tight bound).

## Accuracy against lambda

![Accuracy against lambda on three sets](figures/watson_accuracy.png)

With noise scaled by stability accuracy first *rises* with lambda, as the noise shrinks, and then
falls with the model's own: with rows of norm 1 a lambda of 0.1 leaves the majority class. With
fixed noise it starts where the model without noise is, at an epsilon that protects nobody, and
falls with lambda, at last below the majority class on Adult and spambase, where the weights shrink
under the noise. Both shapes are the paper's. Theorem 4 needs a larger lambda, where it works at
all, since its noise is larger; Theorem 7 leaves nothing.

{best}

{accuracy}

## Private features against those of the model without noise

A feature is selected if its noisy weight reaches a threshold: "auto" is what noise alone passes
once in expectation, "2 sd" is twice the standard deviation of the noise, both tied to the noise;
T = 0.1 and T = 1 are static. "Non-zero" compares with the features of non-zero weight in the model
without noise, the paper's target; "large" with those whose weight reaches the threshold, which is
fairer: a tiny weight is not zero, and no noisy release can tell.

![F1 of selected features against lambda](figures/watson_features.png)

The paper finds that F1 first drops, where the penalty begins to zero weights, and later rises as
noise shrinks. With a static threshold the drop is there, and on KDDCup99 the rise too. But the high
F1 at a small lambda is no success: there the noise passes the threshold everywhere, all features
are selected, and the F1 is that of keeping them all without looking (dashed). With thresholds tied
to the noise F1 is near 0 there, as it should be, and rises as the noise falls below the weights.
For a large lambda static thresholds exceed the weights and select nothing; thresholds tied to the
noise shrink with it, and go on to find what is left. On spambase (3,220 training rows, 57 columns)
the noise at epsilon 1 hides most weights at every lambda.

{features}

## Gene expression: few hundred records, thousands of columns

Sound noise leaves nothing here. At no lambda and at no epsilon up to 40 does any rule come out
above the majority class: the accuracies scatter between those of a constant answer, and what passes
the thresholds is noise (fixed noise "works" at epsilons of thousands to millions). The F1 of static
thresholds is that of keeping everything.

{genes}

**From which n on does it work?** Every patient is there m times, so that the model without noise
stays what it is and the noise falls as 1/m. (Copies of patients are not new patients: what this
shows is where the noise stops to matter, not what new patients would teach.) Compared are a private
model of all columns, with lambda "auto", its noise Gaussian (delta 1e-6), and half of the budget
spent on `PrivateSelectKBest(k=10)`, half on a model of those ten columns.

![Accuracy on gene expression against n](figures/watson_size.png)

{sizes}

On the 12,625 columns of ALL the selection finds nearly the right columns from some thousand records
on at epsilon 10 and ten thousand at epsilon 1, and ten columns are enough for the model; a model of
all columns needs ten to a hundred times as many records. On the 3,051 of Golub the distance is
smaller, and in the end all columns are better than ten. For *one* column the patients as they are
suffice: at epsilon 3 PrivateSelectKBest(k=1) always finds an informative gene of ALL, and ten at
epsilon 40 (`benchmarks/results/papers/gene_scores.txt`).

"of the best 10": share of the picks that are among the ten columns of highest covariance; "of the
best 1 %": among the hundredth. "of them non-zero": share of the features selected from the model of
all columns that are non-zero without noise.
"""


def features(results: Results) -> str:
    """Return the tables of F1 on the large sets."""
    tables = [feature_table(results, data, TIGHT, "1") for data in LARGE_SETS]
    tables.append(feature_table(results, "adult", PAPER, "1"))
    return "\n\n".join(tables)


def genes(results: Results) -> str:
    """Return accuracies and features at n as it is."""
    tables = [
        accuracy_table(results, data, epsilon) for data in GENES for epsilon in ("1", "10", "40")
    ]
    tables += [feature_table(results, data, TIGHT, "40") for data in GENES]
    return "\n\n".join(tables)


def main() -> None:
    """Write the page and its figures."""
    results = Results(RESULTS)
    draw_accuracy(results, FIGURES / "watson_accuracy.png")
    draw_features(results, FIGURES / "watson_features.png")
    draw_size(results, PATIENTS, FIGURES / "watson_size.png")
    page = PAGE.format(
        best=best_table(results, LARGE_SETS, "1"),
        accuracy="\n\n".join(accuracy_table(results, data, "1") for data in LARGE_SETS),
        features=features(results),
        genes=genes(results),
        sizes="\n\n".join(
            size_table(results, data, epsilon, PATIENTS[data])
            for data in GENES
            for epsilon in ("1", "10")
        ),
    )
    TARGET.write_text(page)
    print(f"{TARGET} is written")


if __name__ == "__main__":
    main()
