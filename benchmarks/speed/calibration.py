"""Seconds to calibrate the noise of a training plan, from nothing.

Every plan is calibrated in a process of its own, forked after the imports and before anything was
calibrated, so that no cached result helps. 100,000 records, batches of 1,000, 100,000 parameters,
epsilon 1, delta 1e-6; the exponential, Laplace and sparse vector selections pay with 30 % of a
step's budget. Fixed-size sampling has no theorem for those, so it is left out there. CPU time.

Requirement: less than 2 s each.

Usage: python -m benchmarks.speed.calibration [--only poisson,gaussian]
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import itertools
import multiprocessing
import sys
import time

import dp_accounting.pld  # noqa: F401  (what the first calibration of a process would import)
import scipy.stats  # noqa: F401

import skdp.privacy.calibration  # noqa: F401
from benchmarks.timing import machine
from skdp.privacy import PrivacyBudget
from skdp.training import (
    AllCoordinates,
    ConstantNoise,
    CoordinateSelector,
    ExponentialSelector,
    FixedSizeWithoutReplacement,
    GaussianSelector,
    NoisyMaxSelector,
    PermuteAndFlipSelector,
    PoissonSampler,
    Sampler,
    ShuffledBatches,
    SparseVectorSelector,
    SurvivorSelector,
    TrainingPlan,
)

LIMIT = 2.0
N_RECORDS, BATCH, SIZE, SHARE = 100_000, 1000, 100_000, 0.3
BUDGET = PrivacyBudget(1.0, 1e-6)
STEPS = (200, 1000, 10_000)
SAMPLERS: dict[str, Sampler] = {
    "poisson": PoissonSampler.of_batch_size(BATCH, N_RECORDS),
    "shuffled": ShuffledBatches(BATCH, N_RECORDS),
    "fixed_size": FixedSizeWithoutReplacement(BATCH, N_RECORDS),
}
ONE_GAUSSIAN: dict[str, CoordinateSelector] = {
    "none": AllCoordinates(),
    "gaussian": GaussianSelector(100),
}
SELECTORS: dict[str, CoordinateSelector] = {
    **ONE_GAUSSIAN,
    "gaussian, second release": GaussianSelector(100, SHARE),
    **{f"exponential, {k}": ExponentialSelector(k, SHARE) for k in (1, 4, 16, 64)},
    **{f"noisy_max, {k}": NoisyMaxSelector(k, SHARE) for k in (1, 16, 64)},
    "permute_and_flip": PermuteAndFlipSelector(1, SHARE),
    **{f"sparse_vector, {k}": SparseVectorSelector(k, SHARE) for k in (1, 64)},
    "adafest": SurvivorSelector(100, SHARE),
}


def seconds(sampler: str, selector: str, n_steps: int) -> tuple[float, float]:
    """CPU seconds of a calibration, and the noise multiplier that it found."""
    plan = TrainingPlan(SAMPLERS[sampler], SELECTORS[selector], ConstantNoise(), 1.0, n_steps, SIZE)
    started = time.process_time()
    level = plan.calibrated(BUDGET).noise.level
    return time.process_time() - started, level


def main() -> None:
    """Print the table; the exit status tells whether the requirement is met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="starts of names, separated by commas")
    arguments = parser.parse_args()
    wanted = tuple(arguments.only.split(","))
    print(f"{machine()}\n")
    print("| sampling | selector | " + " | ".join(f"{n:,} steps, s" for n in STEPS) + " |")
    print("|---|---|" + "---:|" * len(STEPS))
    worst = 0.0
    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        for sampler, selector in itertools.product(SAMPLERS, SELECTORS):
            unsupported = sampler == "fixed_size" and selector not in ONE_GAUSSIAN
            if unsupported or not (sampler.startswith(wanted) or selector.startswith(wanted)):
                continue
            cases = [(sampler, selector, n_steps) for n_steps in STEPS]
            taken = [took for took, _ in pool.starmap(seconds, cases, chunksize=1)]
            cells = " | ".join(f"{took:.2f}" for took in taken)
            print(f"| {sampler} | {selector} | {cells} |", flush=True)
            worst = max(worst, *taken)
    print(f"\nSlowest {worst:.2f} s, requirement {LIMIT:g} s")
    sys.exit(not worst < LIMIT)


if __name__ == "__main__":
    main()
