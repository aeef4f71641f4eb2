"""What a refusal must look like: a ValueError or TypeError that quotes nothing and cost nothing."""

import numpy as np
import pytest
from sklearn.base import clone

from skdp.linear_model import (
    PrivateElasticNet,
    PrivateElasticNetClassifier,
    SparseDPSGDClassifier,
    SparseDPSGDRegressor,
)
from skdp.neural_network import PrivateMLPClassifier, PrivateMLPRegressor
from skdp.privacy import InMemoryLedger, Neighbours

#: Planted in the data; no message may repeat it, in any of these spellings.
SECRET_DIGITS = "8675309"
SECRET_TEXT = f"SECRET-{SECRET_DIGITS}"
SECRET_NUMBER = float(f"{SECRET_DIGITS}.25")

#: A table with the secret in it, and who is to refuse it.
N = 8
NAMES = ["a", "b", "c"]
X = np.random.default_rng(0).normal(size=(N, 3))
X[1, 0] = SECRET_NUMBER
y = np.arange(N) % 2

CLASSIFIER, REGRESSOR = PrivateElasticNetClassifier(), PrivateElasticNet()
WEIGHTED = pytest.mark.parametrize(
    "estimator", [CLASSIFIER, REGRESSOR], ids=["classifier", "regressor"]
)
ALL = pytest.mark.parametrize(
    "estimator",
    [
        CLASSIFIER, REGRESSOR, SparseDPSGDClassifier(), SparseDPSGDRegressor(),
        PrivateMLPClassifier(), PrivateMLPRegressor(),
    ],
    ids=["classifier", "regressor", "SGD classifier", "SGD regressor", "network", "net regressor"],
)  # fmt: skip


def said(error):
    """Return all that an exception and the ones it hangs on say."""
    seen, texts = set(), []
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        texts += [str(error), repr(error), *map(str, getattr(error, "__notes__", ()))]
        error = error.__cause__ or error.__context__
    return "\n".join(texts)


def refuses(call, match):
    """Assert that a call is refused with such a message and quotes no secret."""
    with pytest.raises((ValueError, TypeError), match=match) as caught:
        call()
    assert SECRET_DIGITS not in said(caught.value)
    return caught.value


def refuses_to_fit(estimator, *data, match, **fit_parameters):
    """Assert that a fit is refused before anything is spent and leaves no trace."""
    neighbours = Neighbours.ZERO_OUT if hasattr(estimator, "sampling") else Neighbours.REPLACE_ONE
    ledger = InMemoryLedger(1e6, 0.5, neighbours)
    estimator = clone(estimator).set_params(ledger=ledger)
    before = vars(estimator).copy()
    error = refuses(lambda: estimator.fit(*data, **fit_parameters), match)
    assert ledger.history() == ()
    assert vars(estimator).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(estimator).items())
    return error
