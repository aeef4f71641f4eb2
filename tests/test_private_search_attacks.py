"""What somebody who sees a search could learn: the number of its trials, a score, a failure."""

import contextlib
import pickle
import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GroupShuffleSplit
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer

from skdp.exceptions import BudgetExceededError, LeakyPipelineError
from skdp.linear_model import PrivateElasticNet, PrivateElasticNetClassifier, PrivateRidge
from skdp.model_selection import (
    PrivateGridSearchCV,
    PrivateRandomizedSearchCV,
    strategies,
)
from skdp.model_selection.metadata import Units
from skdp.model_selection.plan import Parts, Plan, Rows
from skdp.neural_network import PrivateMLPClassifier
from skdp.pipeline import RowByRow, make_private_pipeline
from skdp.preprocessing import PrivateStandardScaler
from skdp.privacy import InMemoryLedger, PrivacyLedger
from skdp.privacy.accounting import epsilon_of
from skdp.training import ValidationDecay

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3)) / 2
Y = (X[:, 0] > 0).astype(int)
GROUPS = np.repeat(np.arange(40), 3)
ALPHAS = {"alpha": [0.1, 1.0]}
PIPED = {"privateelasticnetclassifier__alpha": [0.1, 1.0]}


def classifier(**given):
    return PrivateElasticNetClassifier(classes=[0, 1], **given)


def search(model=None, grid=None, **given):
    return PrivateGridSearchCV(model or classifier(), grid or ALPHAS, **{"epsilon": 2.0, **given})


def quietly(found, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return found.fit(*args, **kwargs)


@contextlib.contextmanager
def trials(monkeypatch, number):
    """As many trials as that, whatever the law says."""
    with monkeypatch.context() as patch:
        patch.setattr(strategies.TrialLaw, "survivals", lambda self: np.full(number, 2.0))
        yield


class Fits:
    """Counts the fits on real rows, and what each was given."""

    def __init__(self, monkeypatch):
        self.seen, true = [], PrivateElasticNetClassifier.fit

        def counted(model, rows, y, **kwargs):
            if np.any(rows):
                self.seen.append((model.epsilon, model.delta, len(rows)))
            return true(model, rows, y, **kwargs)

        monkeypatch.setattr(PrivateElasticNetClassifier, "fit", counted)


# ------------------------------------------------------------------------- the number of trials


def test_nothing_that_is_kept_or_printed_depends_on_the_number_of_trials(monkeypatch, capfd):
    shown = []
    for number in (1, 40):
        fits = Fits(monkeypatch)
        with trials(monkeypatch, number), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = search(random_state=0, verbose=9, n_jobs=2).fit(X, Y)
        assert len(fits.seen) == number
        shown.append(
            (
                sorted(vars(found)),
                sorted(vars(found.best_estimator_)),
                {key: len(column) for key, column in found.cv_results_.items()},
                # What an earlier test left open may be collected here.
                len([w for w in caught if w.category is not ResourceWarning]),
                capfd.readouterr(),
                found.privacy_.to_json(),
                len(pickle.dumps(found)) // 200,
            )
        )
    assert shown[0] == shown[1]
    assert shown[0][4] == ("", "")


def test_a_ledger_sees_one_entry_whatever_the_number_of_trials(monkeypatch, tmp_path):
    path = tmp_path / "rows.db"
    ledger = PrivacyLedger.create(
        path, epsilon=9.0, delta=1e-4, neighbours="replace-one", filter="basic"
    )
    with trials(monkeypatch, 30):
        search(ledger=path, delta=1e-6).fit(X, Y)
    with trials(monkeypatch, 1):
        search(ledger=path, delta=1e-6).fit(X, Y)
    history = ledger.history()
    assert len(history) == 2
    first, second = (history.iloc[i] for i in range(2))
    assert (first["epsilon"], first["delta"]) == (second["epsilon"], second["delta"])


def test_a_ledger_that_cannot_pay_refuses_before_any_row_is_used(monkeypatch):
    fits = Fits(monkeypatch)
    with pytest.raises(BudgetExceededError):
        search(ledger=InMemoryLedger(1.0)).fit(X, Y)
    assert fits.seen == []


def test_a_pipeline_that_prints_its_fits_is_refused():
    pipeline = Pipeline([("n", Normalizer()), ("m", classifier())], verbose=True)
    with pytest.raises(LeakyPipelineError, match="verbose"):
        search(pipeline, {"m__alpha": [0.1]}).fit(X, Y)


def test_warnings_of_trials_are_not_shown(monkeypatch):
    true = PrivateElasticNetClassifier.fit

    def warning(self, *args, **kwargs):
        warnings.warn("another trial", UserWarning, stacklevel=2)
        return true(self, *args, **kwargs)

    monkeypatch.setattr(PrivateElasticNetClassifier, "fit", warning)
    with trials(monkeypatch, 20), warnings.catch_warnings():
        warnings.simplefilter("error")
        search(n_jobs=2).fit(X, Y)


# ------------------------------------------------------------------------------------- failures


@pytest.mark.parametrize("strategy", ["random", "exponential"])
@pytest.mark.parametrize("where", ["fit", "predict"])
def test_a_trial_that_fails_is_as_if_it_had_seen_no_rows(monkeypatch, strategy, where):
    """An error would tell that this candidate was drawn, after the budget was spent."""
    true = getattr(PrivateElasticNetClassifier, where)

    def failing(self, rows, *args, **kwargs):
        if np.any(rows):
            raise ValueError(f"cell {rows[0, 0]}")
        return true(self, rows, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(PrivateElasticNetClassifier, where, failing)
        ledger = InMemoryLedger(2.0)
        found = search(strategy=strategy, ledger=ledger).fit(X, Y)
        assert len(ledger.history()) == 1
    assert set(found.predict(X)) <= {0, 1}


def test_a_row_that_nothing_is_predicted_for_costs_no_other_row_its_points():
    class Picky:
        def predict(self, rows):
            if (rows > 50).any():
                raise ValueError("no such row")
            return np.ones(len(rows), dtype=int)

    def score(rows):
        held_out = Parts(np.arange(40), [])
        plan = Plan([], None, None, held_out, np.equal, None)
        return plan.score(Picky(), Rows(rows, Y, None, Units(len(Y))))

    far = X.copy()
    far[np.flatnonzero(Y[:40])[0]] = 99.0
    assert score(X) == Y[:40].sum()
    assert score(far) == score(X) - 1


def test_parameters_that_any_candidate_refuses_are_refused_before_rows_are_read(monkeypatch):
    fits, ledger = Fits(monkeypatch), InMemoryLedger(9.0)
    for grid in ({"alpha": [0.1, -1.0]}, {"row_norm": [1.0, 0.0]}, {"l1_ratio": [0.5, 1.0]}):
        with pytest.raises(ValueError, match=r"alpha|row_norm|l1_ratio"):
            search(grid=grid, ledger=ledger).fit(X, Y)
    assert fits.seen == []
    assert ledger.history() == ()


def test_rows_that_a_public_step_cannot_map_are_refused_before_the_spend(monkeypatch):
    fits, ledger = Fits(monkeypatch), InMemoryLedger(9.0)
    root = FunctionTransformer(RowByRow(np.sqrt))
    found = search(make_pipeline(root, classifier()), PIPED, ledger=ledger)
    with pytest.raises(ValueError, match="no finite numbers"):
        found.fit(X, Y)
    assert ledger.history() == ()
    assert fits.seen == []
    assert found.fit(np.abs(X), Y).predict(np.abs(X)).shape == Y.shape


# ---------------------------------------------------------------------- what each fit may spend


def test_a_private_pipeline_spends_its_share_and_not_its_own_epsilon(monkeypatch):
    """Its own budget is set at `fit`, over that of its steps."""
    fits = Fits(monkeypatch)
    scaler = PrivateStandardScaler((-5.0, 5.0), neighbours="replace-one")
    pipeline = make_private_pipeline(scaler, classifier(), epsilon=500.0)
    found = search(pipeline, PIPED).fit(X, Y)
    assert found.best_estimator_.privacy_ is found.privacy_
    assert all(epsilon < 1 for epsilon, *_ in fits.seen)


def test_steps_of_a_pipeline_share_what_a_trial_may_spend(monkeypatch):
    fits = Fits(monkeypatch)
    scaler = PrivateStandardScaler((-5.0, 5.0), neighbours="replace-one", delta=0.0)
    search(make_pipeline(scaler, classifier()), PIPED, epsilon=2.0).fit(X, Y)
    assert {round(epsilon, 4) for epsilon, *_ in fits.seen} == {0.5}


def test_a_fit_that_spends_more_than_its_share_is_refused(monkeypatch):
    from skdp.exceptions import PrivacyError

    true = PrivateElasticNetClassifier._budget

    def double(self):
        whole = true(self)
        return type(whole)(2 * whole.epsilon, whole.delta)

    monkeypatch.setattr(PrivateElasticNetClassifier, "_budget", double)
    with pytest.raises(PrivacyError, match="more than its share"):
        search().fit(X, Y)


def test_private_validation_records_are_refused():
    """Each fit would ask them once more, and candidates on disjoint parts would share them."""
    model = PrivateMLPClassifier(
        classes=[0, 1],
        noise_schedule=ValidationDecay(private=True),
    )
    for strategy in ("random", "exponential"):
        found = search(model, {"alpha": [0.0, 0.1]}, strategy=strategy, delta=1e-4)
        with pytest.raises(ValueError, match="same private validation records"):
            found.fit(X, Y)


def test_the_winner_that_is_fitted_again_pays_for_itself():
    ledger = InMemoryLedger(9.0)
    found = search(ledger=ledger).fit(X, Y)
    assert found.best_estimator_.ledger is None
    clone(found.best_estimator_).set_params(ledger=ledger).fit(X, Y)
    assert len(ledger.history()) == 2


@pytest.mark.parametrize("trials", ["logarithmic", "geometric", "poisson"])
def test_the_statement_is_what_the_event_costs(trials):
    found = search(trials=trials, delta=1e-5).fit(X, Y)
    assert found.privacy_.epsilon == 2.0
    assert epsilon_of(found.privacy_.event, 1e-5) <= 2.0


# ------------------------------------------------------------------------------------- metadata


def test_weights_travel_to_every_fit(monkeypatch):
    seen, true = [], PrivateElasticNetClassifier.fit

    def watched(self, rows, y, sample_weight=None, groups=None):
        seen.append((rows, sample_weight))
        return true(self, rows, y, sample_weight=sample_weight, groups=groups)

    monkeypatch.setattr(PrivateElasticNetClassifier, "fit", watched)
    weights = np.abs(X[:, 1])
    search().fit(X, Y, sample_weight=weights)
    for rows, given in seen:
        if np.any(rows):
            np.testing.assert_array_equal(given, np.abs(rows[:, 1]))


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("strategy", ["random", "exponential"])
@pytest.mark.parametrize("wrap", [False, True])
def test_groups_are_split_as_wholes_and_named_in_the_statement(
    monkeypatch, routing, strategy, wrap
):
    seen, true = [], PrivateElasticNetClassifier.fit

    def watched(self, rows, y, sample_weight=None, groups=None):
        if np.any(rows) and self.ledger is None:  # with one it is asked whether it takes the rows
            seen.append(groups)
            assert self.n_groups == len(np.unique(groups))
        return true(self, rows, y, sample_weight=sample_weight, groups=groups)

    model, grid, name = classifier(max_rows_per_group=2), ALPHAS, "groups"
    with config_context(enable_metadata_routing=routing):
        if routing:
            model.set_fit_request(groups=True)
        if wrap:
            model, grid = make_pipeline(Normalizer(), model), PIPED
            name = "groups" if routing else "privateelasticnetclassifier__groups"
        found = search(model, grid, strategy=strategy)
        monkeypatch.setattr(PrivateElasticNetClassifier, "fit", watched)
        found.fit(X, Y, **{name: GROUPS})
    assert found.privacy_.unit == "group"
    assert "first 2 rows" in "".join(found.privacy_.assumptions)
    for groups in seen:
        assert set(np.unique(groups, return_counts=True)[1]) == {3}
    assert len({tuple(np.unique(groups)) for groups in seen}) <= (1 if strategy == "random" else 2)


def test_scores_of_groups_are_means_over_places_that_count(monkeypatch):
    released, true = [], strategies.LaplaceMechanism.release

    def watched(self, value, source):
        released.append((float(value[0]), self.sensitivity.value))
        return true(self, value, source)

    monkeypatch.setattr(strategies.LaplaceMechanism, "release", watched)
    sparse_groups = np.arange(120) % 60
    found = search(classifier(max_rows_per_group=4, n_groups=100))
    found.fit(X, Y, groups=sparse_groups)
    scores = [value for value, sensitivity in released if sensitivity == 1 / 20]
    assert scores
    assert max(scores) <= 0.5  # two of four places are filled, in 60 groups of 100


@pytest.mark.parametrize(
    ("found", "given", "error"),
    [
        (search(), {"groups": GROUPS}, "max_rows_per_group is None"),
        (search(classifier(max_rows_per_group=2)), {}, "fit was given none"),
        (search(classifier(max_rows_per_group=2, n_groups=3)), {"groups": GROUPS}, "n_groups=3"),
        (search(), {"sample_weight": -np.ones(120)}, "Negative values"),
        (search(), {"sample_weight": 1.0 * (np.arange(120) == 0)}, "sample_weight is 0"),
        (search(), {"blocks": GROUPS}, "nothing else"),
        (search(grid={"n_groups": [3]}), {}, "counts the groups"),
        (
            search(
                make_pipeline(
                    PrivateStandardScaler((-5.0, 5.0), neighbours="replace-one"),
                    classifier(max_rows_per_group=2),
                ),
                PIPED,
                delta=1e-4,
            ),
            {"privateelasticnetclassifier__groups": GROUPS},
            "not all the same",
        ),
    ],
    ids=["unset", "none", "more", "negative", "zero", "blocks", "grid", "mixed"],
)
def test_metadata_that_would_be_misread_is_refused_before_the_spend(found, given, error):
    ledger = InMemoryLedger(9.0, 1e-2)
    with pytest.raises((ValueError, TypeError), match=error):
        quietly(clone(found).set_params(ledger=ledger, strategy="exponential"), X, Y, **given)
    assert ledger.history() == ()


def test_the_randomised_search_and_a_regression_take_groups():
    found = PrivateRandomizedSearchCV(
        PrivateElasticNet(max_rows_per_group=3, n_groups=50), {"alpha": [0.1, 1.0]}, n_iter=2
    )
    assert found.fit(X, X[:, 0], groups=GROUPS).privacy_.unit == "group"


@pytest.mark.parametrize("strategy", ["random", "exponential"])
@pytest.mark.parametrize("delta", [0.0, 1e-4])
def test_steps_of_different_relations_are_refused(strategy, delta):
    scaler = PrivateStandardScaler((-5.0, 5.0), neighbours="zero-out", delta=0.0)
    pipeline = make_pipeline(scaler, classifier())
    with pytest.raises(ValueError, match="differ in their neighbouring relation"):
        search(pipeline, PIPED, strategy=strategy, delta=delta).fit(X, Y)


def test_a_relation_with_a_private_number_of_rows_is_refused():
    with pytest.raises(ValueError, match="split by their place"):
        search(PrivateRidge(neighbours="add-or-remove-one"), {"alpha": [1.0]}, delta=1e-4).fit(
            X, X[:, 0]
        )


def test_the_split_of_scikit_learn_is_not_what_divides_the_groups():
    """`cv` is no parameter: folds would fit each row several times."""
    with pytest.raises(TypeError):
        PrivateGridSearchCV(classifier(), ALPHAS, cv=GroupShuffleSplit(1))


@pytest.mark.parametrize("clip", [None, 10.0])
def test_a_step_that_may_overflow_after_a_private_one_is_refused(clip):
    """One far row made every trial that met it fail, which showed with certainty."""
    scaler = PrivateStandardScaler((0.1, 10.0), neighbours="replace-one", clip=clip)
    model = PrivateElasticNetClassifier(classes=[0, 1], row_norm=10.0)
    pipeline = make_pipeline(scaler, FunctionTransformer(np.exp), model)
    grid = {"privateelasticnetclassifier__alpha": [0.1, 1.0]}
    search = PrivateGridSearchCV(pipeline, grid, epsilon=3.0)
    with pytest.raises(ValueError, match=r"functiontransformer.*before the first private step"):
        search.fit(np.ones((40, 2)), np.arange(40) % 2)
