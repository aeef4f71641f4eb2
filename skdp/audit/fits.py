"""Fitting an estimator many times over, with fresh noise each time, and what each fit shows."""

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

from joblib import Parallel, delayed
from sklearn.base import clone

from skdp._random import RandomSource
from skdp.audit.generators import renew_generators
from skdp.exceptions import PrivacyLeakWarning

__all__ = ["FitMany", "NoFitError", "call_fit", "fresh", "progress_bar"]

_TASKS_PER_JOB = 16
_SEEDS = 2**31


class NoFitError(RuntimeError):
    """No fit succeeded, so nothing was seen; from what the first one raised."""


def fresh(estimator: Any, seed: int | None = None) -> Any:
    """Return an unfitted copy that charges no ledger and draws noise of its own.

    Every `random_state`, nested ones too, is set to `seed`; None leaves them to the system, also
    where the estimator had a seed, with which all fits would be one.
    """
    if not hasattr(estimator, "get_params"):
        copied = copy.deepcopy(estimator)
        renew_generators(copied, seed)
        return copied
    copied = clone(estimator)
    renew_generators(copied, seed)
    changed = dict.fromkeys(_named(copied, "random_state"), seed)
    changed |= dict.fromkeys(_named(copied, "ledger"))
    return copied.set_params(**changed)


def _named(estimator: Any, parameter: str) -> list[str]:
    names = estimator.get_params(deep=True)
    return [name for name in names if name.split("__")[-1] == parameter]


def call_fit(model: Any, data: Any) -> Any:
    """Fit on a tuple of arguments, or on a dictionary of named ones; warnings are not shown.

    The model is returned, whatever its `fit` returns.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        model.fit(**data) if isinstance(data, dict) else model.fit(*data)
    return model


@final
@dataclass(frozen=True)
class FitMany:
    """Fits an estimator as often as asked and returns what each of the models shows.

    Attributes
    ----------
    estimator : estimator
        Copied for every fit.
    observe : callable
        Maps a fitted model to a vector.
    n_jobs : int or None
        Processes, as in joblib.
    random_state : int or None
        Determines the noise of all fits; None leaves it to the system.
    progress : bool
        Whether to show a bar.
    """

    estimator: Any
    observe: Callable[[Any], Any]
    n_jobs: int | None = None
    random_state: int | None = None
    progress: bool = False

    def on(self, *pairs: tuple[Any, int]) -> list[list[Any]]:
        """Return, for each (data, number of fits), the vectors; an exception stands for a fit."""
        seeds = iter(self._seeds(sum(number for _, number in pairs)))
        tasks: list[tuple[int, Any, list[int | None]]] = []
        for place, (data, number) in enumerate(pairs):
            size = max(1, min(50, -(-number // _TASKS_PER_JOB)))
            left = [next(seeds) for _ in range(number)]
            tasks += [(place, data, left[i : i + size]) for i in range(0, number, size)]
        shown: list[list[Any]] = [[] for _ in pairs]
        with progress_bar(sum(number for _, number in pairs), shown=self.progress) as advance:
            parallel = Parallel(n_jobs=self.n_jobs, return_as="generator")
            calls = (
                delayed(_fit_some)(self.estimator, data, self.observe, some)
                for _, data, some in tasks
            )
            for (place, _, some), found in zip(tasks, parallel(calls), strict=True):
                shown[place] += found
                advance(len(some))
        return shown

    def _seeds(self, number: int) -> Sequence[int | None]:
        if self.random_state is None:
            return [None] * number
        first = int(RandomSource.from_seed(self.random_state).words(1)[0]) % _SEEDS
        return [first + i for i in range(number)]


def _fit_some(
    estimator: Any, data: Any, observe: Callable[[Any], Any], seeds: list[int | None]
) -> list[Any]:
    unfitted = fresh(estimator)
    states = _named(unfitted, "random_state") if hasattr(unfitted, "get_params") else []
    found = []
    for seed in seeds:
        model = clone(unfitted, safe=False)
        renew_generators(model, seed)
        if seed is not None and states:
            model.set_params(**dict.fromkeys(states, seed))
        found.append(_outcome(model, data, observe))
    return found


def _outcome(model: Any, data: Any, observe: Callable[[Any], Any]) -> Any:
    try:
        return observe(call_fit(model, data))
    except Exception as error:  # an outcome like any other: whether a fit raises tells of its data
        return error


@contextmanager
def progress_bar(total: int, *, shown: bool) -> Iterator[Callable[[int], None]]:
    """Yield what moves a bar; nothing is shown unless asked for."""
    if not shown:
        yield lambda step: None
        return
    from rich.progress import Progress

    with Progress(transient=True) as progress:
        task = progress.add_task("fits", total=total)
        yield lambda step: progress.advance(task, step)
