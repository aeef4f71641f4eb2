"""Estimators of diffprivlib spend from a ledger, before they look at the data."""

import copy
import pickle
import threading

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from skdp.exceptions import BudgetExceededError
from skdp.privacy import PrivacyLedger, diffprivlib_accountant

models = pytest.importorskip(
    "diffprivlib.models", reason="needs the diffprivlib extra, that is scikit-learn 1.7"
)
tools = pytest.importorskip("diffprivlib.tools", reason="needs the diffprivlib extra")

pytestmark = [
    pytest.mark.filterwarnings("ignore:::diffprivlib"),
    pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning"),
]

X = np.random.default_rng(0).uniform(size=(60, 3))
Y = np.arange(60) % 2


@pytest.fixture
def ledger(tmp_path):
    return PrivacyLedger.create(tmp_path / "ledger.db", 10.0, 1e-5, filter="basic")


def account(ledger):
    return diffprivlib_accountant(ledger, neighbours="replace-one")


def bayes(ledger, epsilon=1.0):
    return models.GaussianNB(epsilon=epsilon, bounds=(0, 1), accountant=account(ledger))


def spent(ledger):
    return pytest.approx(10 - ledger.remaining().epsilon)


def test_each_fit_is_charged_once(ledger):
    model = bayes(ledger)
    model.fit(X, Y)
    assert spent(ledger) == 1.0
    model.fit(X, Y)
    tools.mean(X[:, 0], epsilon=0.5, bounds=(0, 1), accountant=model.accountant)
    assert spent(ledger) == 2.5
    assert len(model.accountant) == ledger.verify() == 3
    assert model.accountant.total()[0] == pytest.approx(2.5)
    assert model.accountant.remaining()[0] == pytest.approx(7.5)


@pytest.mark.parametrize(
    "make",
    [
        lambda a: models.LogisticRegression(epsilon=1.0, data_norm=2.0, accountant=a),
        lambda a: models.RandomForestClassifier(
            2, epsilon=1.0, bounds=(0, 1), classes=[0, 1], accountant=a
        ),
        lambda a: models.LinearRegression(
            epsilon=1.0, bounds_X=(0, 1), bounds_y=(0, 1), accountant=a
        ),
        lambda a: models.StandardScaler(epsilon=1.0, bounds=(0, 1), accountant=a),
        lambda a: models.KMeans(2, epsilon=1.0, bounds=(0, 1), accountant=a),
        lambda a: models.PCA(2, epsilon=1.0, bounds=(0, 1), data_norm=2.0, accountant=a),
    ],
    ids=["logistic", "forest", "linear", "scaler", "k-means", "pca"],
)
def test_every_kind_of_model_is_charged_what_it_asks_for(ledger, make):
    make(account(ledger)).fit(X, Y)
    assert spent(ledger) == 1.0


def test_a_refused_fit_has_not_looked_at_the_data(ledger):
    model = bayes(ledger, 11.0)
    with pytest.raises(BudgetExceededError):
        model.fit(X, Y)
    assert not hasattr(model, "theta_")
    assert ledger.verify() == 0


def test_a_fit_that_fails_after_it_asked_stays_paid(ledger):
    model = models.LogisticRegression(epsilon=1.0, data_norm=2.0, accountant=account(ledger))
    with pytest.raises(ValueError, match="class"):
        model.fit(X, np.zeros(60))
    assert spent(ledger) == 1.0
    model.fit(X, Y)
    assert spent(ledger) == 2.0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_grid_search_pays_for_all_fits(ledger, n_jobs):
    grid = {"epsilon": [0.5, 1.0]}
    search = GridSearchCV(bayes(ledger), grid, cv=2, n_jobs=n_jobs, error_score="raise").fit(X, Y)
    assert spent(ledger) == 3.0 + search.best_params_["epsilon"]
    assert ledger.verify() == 5


def test_clones_copies_pickles_and_threads_spend_from_one_ledger(ledger):
    model = bayes(ledger)
    for twin in (clone(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        twin.fit(X, Y)
    threads = [threading.Thread(target=model.fit, args=(X, Y)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert spent(ledger) == 6.0


def test_it_is_the_default_within_a_block(ledger):
    with account(ledger):
        tools.mean(X[:, 0], epsilon=0.5, bounds=(0, 1))
    tools.mean(X[:, 0], epsilon=0.5, bounds=(0, 1))
    assert spent(ledger) == 0.5
