"""One person, many rows: what the elastic nets promise to a group."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline

from skdp.linear_model import PrivateElasticNet, PrivateElasticNetClassifier
from skdp.preprocessing import RowNormClipper
from skdp.records.groups import GroupSlots
from skdp.stability.erm import GradientDiameterBound
from tests.support.replay import violations

G, M = 8, 3
rng = np.random.default_rng(5)
GROUPS = np.repeat(np.arange(G), 4)
X = rng.normal(size=(4 * G, 2))
Y = np.arange(4 * G) % 2


def model(**parameters):
    given = {"alpha": 2.0, "classes": (0, 1), "max_rows_per_group": M, "n_groups": G}
    return PrivateElasticNetClassifier(**{**given, **parameters})


def replaced_and_removed(container):
    """A group of one row becomes one of five opposed rows, or leaves."""
    kept = np.flatnonzero((GROUPS != 0) | (np.arange(4 * G) == 0))
    others = np.flatnonzero(GROUPS != 0)
    five = np.concatenate([others, np.zeros(5, dtype=int)])
    X_five = np.vstack([X[others], np.tile(-X[:1], (5, 1))])
    yield (
        (container(X[kept]), Y[kept], None, GROUPS[kept]),
        (
            container(X_five),
            np.append(Y[others], [1] * 5),
            None,
            GROUPS[five],
        ),
    )
    yield (container(X), Y, None, GROUPS), (container(X[others]), Y[others], None, GROUPS[others])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "estimator", [model(), model(loss="huber_hinge"), model(fit_intercept=False)]
)
def test_a_whole_group_replaced_or_removed_differs_in_the_release_alone(estimator, container):
    for data, neighbour in replaced_and_removed(container):
        assert violations(estimator, data, neighbour) == []


def worst_pair():
    """All M rows of a group turn around; a Huber hinge attains m D / (n l2) exactly."""
    rows = np.zeros((G * M, 1))
    rows[:M] = 1.0
    y = np.ones(G * M, dtype=int)
    groups = np.repeat(np.arange(G), M)
    y_other = np.where(groups == 0, 0, 1)
    return (rows, y, None, groups), (rows, y_other, None, groups)


WORST = {"loss": "huber_hinge", "alpha": 8.0, "l1_ratio": 0.0, "fit_intercept": False}


def test_the_worst_pair_keeps_the_bound():
    assert violations(model(**WORST), *worst_pair()) == []


def test_a_sensitivity_of_one_row_is_seen(monkeypatch):
    true = GradientDiameterBound.distance
    monkeypatch.setattr(GradientDiameterBound, "distance", lambda *a: true(*a) / M)
    assert any(
        "moved by 2.9" in s or "moved by 3.0" in s
        for s in violations(model(**WORST), *worst_pair())
    )


def test_a_divisor_of_the_rows_kept_is_seen(monkeypatch):
    def kept_only(self, values):
        return values[self.rows]

    monkeypatch.setattr(GroupSlots, "table", kept_only)
    monkeypatch.setattr(GroupSlots, "column", lambda self, values, empty: values[self.rows])
    monkeypatch.setattr(GroupSlots, "weights", lambda self, weights: np.ones(len(self.rows)))
    _, (data, neighbour) = replaced_and_removed(np.asarray)
    assert violations(model(), data, neighbour) != []


def test_groups_of_one_row_give_the_fit_of_rows():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = PrivateElasticNetClassifier(random_state=0).fit(X, Y)
        names = [f"p{i}" for i in rng.permutation(len(X))]
        one = PrivateElasticNetClassifier(random_state=0, max_rows_per_group=1)
        one.fit(X, Y, groups=names)
    assert np.array_equal(rows.coef_, one.coef_)
    assert rows.privacy_.unit == "row"
    assert one.privacy_.unit == "group"


def test_the_statement_names_the_group_and_its_facts():
    text = "\n".join(model(n_groups=None).fit(X, Y, groups=GROUPS).privacy_.assumptions)
    assert "taken from groups=" in text
    assert "number of groups times 3" in text
    assert "number of rows and" not in text
    fitted = PrivateElasticNet(max_rows_per_group=2).fit(X, Y * 1.0, groups=GROUPS)
    assert fitted.privacy_.unit == "group"


@pytest.mark.parametrize(
    ("parameters", "groups", "error"),
    [
        ({"max_rows_per_group": None, "n_groups": None}, GROUPS, "max_rows_per_group is None"),
        ({"max_rows_per_group": None}, None, "counts groups"),
        ({}, None, "protects groups"),
        ({}, GROUPS[:-1], "one group for each"),
        ({"n_groups": G - 1}, GROUPS, "more than the declared"),
        ({}, GROUPS + 0.5, "all integers or all strings"),
        ({}, ["a", 1] * (2 * G), "all integers or all strings"),
        ({}, ["a", None] * (2 * G), "all integers or all strings"),
    ],
)
def test_what_leaves_the_unit_unclear_is_refused(parameters, groups, error):
    with pytest.raises((ValueError, TypeError), match=error):
        model(**parameters).fit(X, Y, groups=groups)


def test_groups_travel_through_pipelines_and_searches():
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(RowNormClipper(), model().set_fit_request(groups=True))
        assert pipeline.fit(X, Y, groups=GROUPS)[-1].privacy_.unit == "group"
        grid = {"privateelasticnetclassifier__alpha": [1.0, 2.0]}
        search = GridSearchCV(pipeline, grid, cv=GroupKFold(2), error_score="raise")
        assert search.fit(X, Y, groups=GROUPS).best_estimator_[-1].privacy_.unit == "group"
