"""Variance that private components keep, and the time of their fit.

PrivatePCA at delta 1e-5 on images, rows clipped to norm 1 (of the images, only the direction), for
several epsilons, both relations, without a centre and with a private one. `kept` is the share of
the squared length of the training images that lies in the span of the components: as they are, and
less their mean, which is what helps to tell them apart. The first line has components without
noise, the best for the images less their mean. Means over seeds; their deviation is below 0.01.

Usage: python -m benchmarks.papers.private_pca [--seeds 3] [--only mnist] [--output FILE]
"""

import argparse
import itertools
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA

from benchmarks.data import Split
from benchmarks.papers.network_data import splits
from skdp.decomposition import PrivatePCA

N_COMPONENTS, DELTA = 60, 1e-5
EPSILONS = (0.1, 0.3, 0.5, 1.0, 2.0)
RELATIONS = ("zero-out", "replace-one")
CENTRES = ({}, {"center": "private", "center_norm": 10.0})
HEADER = (
    f"{'relation':12} {'centre':8} {'epsilon':>7} {'noise':>7} {'kept':>6} {'less mean':>9} "
    f"{'seconds':>7}"
)


def kept(components: np.ndarray, rows: np.ndarray) -> float:
    """Share of the squared length of rows in the span of orthonormal components."""
    scores = rows @ components.T.astype(rows.dtype)
    return float(np.square(scores).sum() / np.square(rows).sum())


def table(name: str, split: Split, seeds: int) -> list[str]:
    """One line for each relation, centre and epsilon."""
    rows = split.train
    centred = rows - rows.mean(axis=0)
    n_components = min(N_COMPONENTS, rows.shape[1] - 1)
    start = time.perf_counter()
    best = [PCA(n_components, svd_solver="covariance_eigh").fit(rows).components_]
    seconds = time.perf_counter() - start
    of = f"{n_components} of {rows.shape[1]} components, {len(rows)} rows, delta {DELTA:g}"
    lines = ["", f"{name}: {of}", HEADER]

    def line(relation, centre, epsilon, noise, fits, seconds):
        shares = [np.mean([kept(c, X) for c in fits]) for X in (rows, centred)]
        return (
            f"{relation:12} {centre:8} {epsilon:>7} {noise:7.2f} {shares[0]:6.3f} "
            f"{shares[1]:9.3f} {seconds:7.2f}"
        )

    lines.append(line("not private", "mean", "", 0.0, best, seconds))
    for relation, centre, epsilon in itertools.product(RELATIONS, CENTRES, EPSILONS):
        model = PrivatePCA(
            n_components, epsilon=epsilon, delta=DELTA, neighbours=relation, **centre
        )
        start = time.perf_counter()
        fits = [model.fit(rows).components_ for _ in range(seeds)]
        seconds = (time.perf_counter() - start) / seeds
        named = centre.get("center", "none")
        lines.append(line(relation, named, epsilon, model.noise_scale_, fits, seconds))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="mnist,fashion_mnist")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    lines = [line for name, split in splits(given.only) for line in table(name, split, given.seeds)]
    text = "\n".join(lines).strip() + "\n"
    sys.stdout.write(text)
    if given.output:
        given.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
