"""Which phrases word vectors remember: the secret sharer of Zhang, Mironov and Hejazinia (2021).

100 phrases of three words drawn uniformly from the vocabulary are planted in the training text,
each as a document, so many times over. Then they are ranked by log-perplexity among 10,000
phrases drawn in the same way that nobody planted. Vectors start at 0.1 N(0, 1), gradients are
clipped at 1, the unit is an example: of 100 copies of a document of six examples that promises
nothing, and what noise does to them all the same is what is measured.

Usage: python -m benchmarks.papers.zhang_sharer [--epochs 6] [--output CSV]
"""

import argparse
import csv
from dataclasses import replace
from pathlib import Path

from benchmarks.papers.embedding_corpus import corpus
from benchmarks.papers.zhang_embedding import (
    DELTA,
    SETTINGS,
    Schedule,
    data_of,
    plainly_trained,
    plan_of,
    trained,
)
from skdp.audit import ContextPerplexity, plant_canaries, random_phrases, secret_sharer
from skdp.privacy import PrivacyBudget

SETTING, BATCH = SETTINGS["small"], 500
ARMS = (("no privacy", None), ("dense noise", 1.0), ("dense noise", 10.0), ("rows, adafest", 10.0))
COLUMNS = ("method", "epsilon", "copies", "mean_exposure", "median_rank", "p_value", "references")


def main() -> None:
    """Measure and store."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--epochs", type=int, default=6)
    options.add_argument("--output", type=Path, help="CSV file")
    given = options.parse_args()
    schedule = Schedule(BATCH, given.epochs, given.epochs)
    found = corpus()
    words = found.vocabulary.words
    canaries = random_phrases(words, 100, random_state=1)
    references = random_phrases(words, 10_000, random_state=2)
    with (given.output or Path("/dev/stdout")).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for copies in (1, 10, 100):
            planted = plant_canaries(found.parts["train"], canaries, n_copies=copies)
            data = data_of(replace(found, parts={**found.parts, "train": planted}))
            for name, epsilon in ARMS:
                selector = SETTING.selectors.get(name, SETTING.selectors["dense noise"])
                plan = plan_of(selector, data, schedule, SETTING)
                train = plainly_trained if epsilon is None else trained
                if epsilon is not None:
                    plan = plan.calibrated(PrivacyBudget(epsilon, DELTA))
                table = train(plan, SETTING, data, 0, lambda epoch, table: None)
                score = ContextPerplexity(table, table, found.vocabulary.places)
                audit = secret_sharer(score, canaries, references, random_state=0)
                writer.writerow(
                    [
                        name, epsilon or "", copies, f"{audit.exposures.mean():.3f}",
                        f"{sorted(audit.ranks)[len(audit.ranks) // 2]}", f"{audit.p_value:.2g}",
                        audit.n_references,
                    ]
                )  # fmt: skip
                file.flush()


if __name__ == "__main__":
    main()
