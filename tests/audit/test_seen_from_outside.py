"""Estimators of a user's own, with faults or without, of which nothing but `fit` is known."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdp.audit import (
    Claim,
    audit_attributes,
    audit_epsilon,
    audit_floating_point,
    audit_one_run,
    audit_release,
    audit_worst_cases,
    generalization_gap,
    membership_inference,
    record_and_replay,
    secret_sharer,
    worst_case_neighbours,
)
from skdp.audit.facts import has_no_constant
from skdp.audit.membership import LossOf
from skdp.cli import main
from skdp.linear_model import PrivateRidge
from skdp.model_selection import PrivateGridSearchCV
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import PrivateStandardScaler


class NoisyLogistic(ClassifierMixin, BaseEstimator):
    """Output perturbation of a strongly convex problem; `share` below 1 is a wrong sensitivity."""

    def __init__(self, epsilon=1.0, share=1.0, n_jobs=None, random_state=None):
        self.epsilon, self.share, self.n_jobs = epsilon, share, n_jobs
        self.random_state = random_state

    def fit(self, X, y):
        X = np.asarray(X, dtype=float)
        X = X / np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
        self.classes_ = np.unique(y)
        plain = LogisticRegression(C=1.0, fit_intercept=False).fit(X, y)
        scale = self.share * 2 * np.sqrt(X.shape[1]) / self.epsilon
        law = np.random.default_rng(self.random_state)
        self.coef_ = plain.coef_ + law.laplace(scale=scale, size=plain.coef_.shape)
        return self

    def decision_function(self, X):
        return np.asarray(X, dtype=float) @ np.nan_to_num(self.coef_[0])

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


class HasNaN(NoisyLogistic):
    """Its last number is none."""

    def fit(self, X, y):
        super().fit(X, y)
        self.coef_[0, -1] = np.nan
        return self


class Fails(NoisyLogistic):
    """Cannot be fitted where one row alone is not empty."""

    def fit(self, X, y):
        if np.any(X, axis=1).sum() == 1:
            raise RuntimeError("singular")
        return super().fit(X, y)


class NoisyRidge(RegressorMixin, BaseEstimator):
    """With as much noise as anybody says."""

    def __init__(self, epsilon=1.0, delta=1e-6, y_bound=1.0, noise=1.0):
        self.epsilon, self.delta, self.y_bound, self.noise = epsilon, delta, y_bound, noise

    def fit(self, X, y):
        X, y = np.clip(X, -1, 1), np.clip(y, -self.y_bound, self.y_bound)
        noise = np.random.default_rng().normal(scale=self.noise, size=X.shape[1])
        self.coef_ = Ridge().fit(X, y).coef_ + noise
        return self

    def predict(self, X):
        return np.asarray(X) @ self.coef_


class Plain:
    """No estimator of scikit-learn: neither parameters nor tags, and a weight of any name."""

    def fit(self, X, y):
        self.w = np.ones(np.shape(X)[1]) + np.random.default_rng().laplace(size=np.shape(X)[1])

    def predict(self, X):
        return (np.asarray(X) @ self.w > 0).astype(int)


rng = np.random.default_rng(0)
X = rng.normal(size=(30, 2))
Y = (X[:, 0] > 0).astype(int)
LONG, OTHER = X.copy(), Y.copy()
LONG[0], Y[0], OTHER[0] = (9.0, 0.0), 1, 0


class TestEpsilon:
    """`audit_epsilon`."""

    @pytest.mark.parametrize(
        "pack",
        [
            lambda X, y: (X, y),
            lambda X, y: (X.tolist(), y.tolist()),
            lambda X, y: {"X": X, "y": y},
            lambda X, y: (pd.DataFrame(X, columns=["a", "b"]), pd.Series(y)),
            lambda X, y: (X, np.where(y, "yes", "no")),
        ],
        ids=["arrays", "lists", "by name", "frames", "words"],
    )
    def test_a_wrong_sensitivity_is_found_in_any_container(self, pack):
        given = {"n_fits": 60, "random_state": 0}
        pair = pack(LONG, Y), pack(LONG, OTHER)
        assert audit_epsilon(NoisyLogistic(share=0.01), *pair, **given).accuses
        assert not audit_epsilon(NoisyLogistic(), *pair, **given).accuses

    @pytest.mark.parametrize(
        "model",
        [HasNaN(), NoisyLogistic(n_jobs=2), Plain()],
        ids=lambda model: type(model).__name__,
    )
    def test_what_is_honest_is_not_accused(self, model):
        given = {"n_fits": 30, "epsilon": 3.0, "confidence": 1 - 1e-6}
        assert not audit_epsilon(model, (LONG, Y), (LONG, OTHER), **given).accuses

    def test_too_few_fits_say_what_they_can_show_at_most(self):
        found = audit_epsilon(NoisyLogistic(5.0), (LONG, Y), (LONG, OTHER), n_fits=20)
        assert found.limit < 5
        assert f"No more than {found.limit:.3g} can be shown" in found.sentence()
        found = audit_epsilon(NoisyLogistic(0.5), (LONG, Y), (LONG, OTHER), n_fits=20)
        assert "No more than" not in found.sentence()

    def test_of_steps_of_a_pipeline_nothing_is_claimed_unless_it_is_said(self):
        model = make_pipeline(StandardScaler(), NoisyLogistic())
        found = audit_epsilon(model, (LONG, Y), (LONG, OTHER), n_fits=20)
        assert found.claim == Claim(None, 0.0)
        assert "nothing was claimed" in found.sentence()

    def test_if_no_fit_succeeds_it_says_so_and_why(self):
        one = np.eye(30, 2)[:, :1] * [1.0, 0.0]
        with pytest.raises(RuntimeError, match=r"No fit succeeded.*singular"):
            audit_epsilon(Fails(), (one, Y), (one, OTHER), n_fits=20)


class TestWorstCases:
    """`audit_worst_cases`."""

    def test_pairs_that_cannot_be_fitted_are_named_and_the_others_audited(self):
        found = audit_worst_cases(Fails(), n_fits=20, controls=False, random_state=0)
        assert found.failed["another label"] == "singular"
        assert found.audits
        assert 'All fits of "another label" raised: singular.' in found.sentence()

    def test_if_none_can_be_fitted_it_raises(self):
        pairs = [p for p in worst_case_neighbours(Fails()) if p.name == "another label"]
        with pytest.raises(RuntimeError, match="singular"):
            audit_worst_cases(Fails(), pairs, n_fits=20)

    def test_a_class_without_tags_is_fitted_on_two_labels(self):
        found = audit_worst_cases(Plain(), n_fits=20, controls=False, epsilon=5.0, random_state=0)
        assert not found.accuses
        assert len(found.audits) == 8

    def test_the_relation_can_be_said(self):
        given = {"n_fits": 20, "controls": False, "relation": "add-or-remove-one"}
        assert "row removed" in audit_worst_cases(NoisyLogistic(), **given).audits

    def test_a_row_of_zeros_is_null_in_a_model_of_ones_own_not_behind_a_scaler(self):
        ridge = PrivateRidge(neighbours="zero-out", fit_intercept=False)
        scaler = PrivateStandardScaler((-1.0, 1.0))
        whole = make_private_pipeline(scaler, ridge, epsilon=1.0, delta=1e-6)
        names = [{p.name for p in worst_case_neighbours(model)} for model in (ridge, whole)]
        assert ["row nulled" in some for some in names] == [True, False]
        assert not has_no_constant(PrivateGridSearchCV(ridge, {"alpha": [1.0]}))
        coins = [audit_one_run(m, X, Y, n_canaries=2).distance for m in (ridge, whole)]
        assert coins == [1, 2]


class TestOneRun:
    """`audit_one_run`."""

    @pytest.mark.parametrize("words", [False, True])
    def test_a_wrong_sensitivity_is_found(self, words):
        y = np.where(Y, "yes", "no") if words else Y
        given = {"n_canaries": 150, "random_state": 0}
        assert audit_one_run(NoisyLogistic(share=0.002), X, y, **given).accuses
        assert not audit_one_run(NoisyLogistic(), X, y, **given).accuses

    @pytest.mark.parametrize(
        "model",
        [HasNaN(), NoisyRidge(), Plain(), make_pipeline(StandardScaler(), NoisyLogistic())],
        ids=lambda model: type(model).__name__,
    )
    def test_whatever_answers_can_be_asked(self, model):
        found = audit_one_run(model, X, Y, n_canaries=20, random_state=0, confidence=1 - 1e-6)
        assert not found.accuses

    def test_words_are_labels_of_a_class_without_tags_as_well(self):
        found = audit_one_run(Plain(), X, np.where(Y, "b", "a"), n_canaries=20)
        assert "nothing was claimed" in found.sentence()


class TestOtherAudits:
    """Attributes and bits; and what is for estimators of skdp alone."""

    def test_attributes_are_held_against_the_claim_for_so_many_records(self):
        class Public(NoisyLogistic):
            def fit(self, X, y):
                self.n_ones_ = int(np.sum(y))
                return super().fit(X, y)

        pair = (LONG, Y), (LONG, OTHER)
        once, twice = (
            audit_attributes(Public(epsilon=3.0), *pair, n_fits=200, distance=distance)
            for distance in (1, 2)
        )
        assert once.accuses
        assert not twice.accuses
        assert twice.epsilon == once.epsilon / 2

    def test_what_is_released_must_be_said_where_there_are_no_coefficients(self):
        with pytest.raises(ValueError, match="release"):
            audit_floating_point(Plain(), (LONG, Y), (LONG, OTHER), n_fits=2)
        found = audit_floating_point(
            Plain(), (LONG, Y), (LONG, OTHER), n_fits=20, release=lambda model: model.w
        )
        assert not found.accuses

    def test_releases_of_other_libraries_cannot_be_frozen(self):
        """An honest model would be accused of its own noise."""
        with pytest.raises(ValueError, match="audit_attributes"):
            record_and_replay(NoisyLogistic(), (LONG, Y), (LONG, OTHER))
        with pytest.raises(ValueError, match="makes 0 releases"):
            audit_release(NoisyLogistic(), (LONG, Y), (LONG, OTHER), n_draws=10)


class TestOneModel:
    """Membership inference, the gap, and the secret sharer."""

    SPLIT = X[:15], X[15:], Y[:15], Y[15:]

    def test_answers_that_are_no_numbers_are_the_worst_ones(self):
        class Undecided(NoisyRidge):
            def predict(self, X):
                return np.where(np.arange(len(X)) == 0, np.nan, super().predict(X))

        model = Undecided().fit(X[:15], Y[:15])
        assert LossOf(X, Y)(model)[0] == np.inf
        assert 0 <= membership_inference(model, *self.SPLIT).auc <= 1
        assert np.isfinite(generalization_gap(model, *self.SPLIT).gap)
        shadows = {"attack": "likelihood-ratio", "n_shadows": 4, "random_state": 0}
        assert np.isfinite(membership_inference(model, *self.SPLIT, **shadows).member_scores).all()

    def test_labels_that_are_words_are_right_or_wrong(self):
        class Answers:
            def predict(self, X):
                return np.where(np.asarray(X)[:, 0] > 0, "yes", "no")

        losses = LossOf(X, np.where(X[:, 0] > 0, "yes", "maybe"))(Answers())
        assert losses.tolist() == (X[:, 0] <= 0).astype(float).tolist()

    def test_without_a_claim_nothing_is_said_of_what_is_allowed(self):
        model = Plain()
        model.fit(X[:15], Y[:15])
        said = membership_inference(model, *self.SPLIT).sentence()
        assert "allowed" not in said
        assert "nothing was claimed" in said
        held = membership_inference(model, *self.SPLIT, epsilon=1.0).sentence()
        assert "allowed on average" in held

    @pytest.mark.parametrize(
        "score", [lambda p: [1.0], lambda p: [np.nan] * len(p)], ids=["one", "NaN"]
    )
    def test_scores_must_be_one_number_for_each_phrase(self, score):
        with pytest.raises(ValueError, match="each of the phrases"):
            secret_sharer(score, [["a"], ["b"]], [["c"]] * 20)


class TestCommand:
    """``skdp audit`` of a class in the current folder."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("sys.path", [*__import__("sys").path])
        (tmp_path / "made_at_home.py").write_text(SOURCE)

    def test_one_check_that_cannot_be_run_keeps_no_other_one_from_running(self, capsys):
        checks = ["--checks", "bits", "replay", "attributes", "--fits", "20"]
        assert main(["audit", "made_at_home.Votes", *checks]) == 1
        out, err = capsys.readouterr()
        assert "skdp: error: bits: Votes has no coef_" in err
        assert "skdp: error: replay: " in err
        assert "attributes: " in out

    def test_a_claim_that_is_false_is_one_whatever_else_fails(self, capsys):
        given = ["--set", "share=1e-9", "--epsilon", "1", "--fits", "60", "--seed", "0"]
        checks = ["--checks", "bits", "epsilon", "--relation", "add-or-remove-one"]
        assert main(["audit", "made_at_home.Votes", *given, *checks]) == 3
        assert "FALSE" in capsys.readouterr().out


SOURCE = """
import numpy as np
from sklearn.base import BaseEstimator


class Votes(BaseEstimator):
    def __init__(self, share=1.0):
        self.share = share

    def fit(self, X, y):
        noise = np.random.default_rng().laplace(scale=self.share)
        self.votes_ = float(np.sum(y)) + noise
        return self
"""


class Failing(BaseEstimator):
    """Of another library, and for other data."""

    def fit(self, X, y=None):
        raise TypeError("rows of another kind are needed")


def test_attributes_of_fits_that_all_raise_are_not_said_to_be_noisy():
    X = np.zeros((4, 1))
    with pytest.raises(RuntimeError, match=r"No fit succeeded.*another kind"):
        audit_attributes(Failing(), (X,), (X + 1,), n_fits=2, epsilon=1.0)
