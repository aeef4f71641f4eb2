"""Bits, generators, attributes and the command: what leaks beside the law of the noise."""

import itertools
import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression

from skdp._random import RandomSource
from skdp.audit import (
    Claim,
    audit_attributes,
    audit_floating_point,
    audit_randomness,
    record_and_replay,
    worst_case_neighbours,
)
from skdp.audit.repeats import Variants, chance_of_arrangement, fits_to_exclude
from skdp.cli import main
from skdp.linear_model import PrivateElasticNetClassifier, PrivateRidge, SparseDPSGDClassifier
from tests.support.toy_models import NoisyMean

N = 10
ZERO = (np.zeros((N, 1)), np.resize([0, 1], N))
X = ZERO[0].copy()
X[0] = 0.7
SEVEN = (X, ZERO[1])
MODEL = PrivateElasticNetClassifier(classes=[0, 1])


class TestBits:
    """Low-order bits."""

    def test_ours_lie_on_a_grid(self):
        found = audit_floating_point(MODEL, ZERO, SEVEN, n_fits=60, random_state=0)
        assert not found.accuses
        assert None not in found.grids
        assert len(found.grids) == 2

    def test_textbook_laplace_noise_is_found_out(self):
        class Textbook(NoisyMean):
            def fit(self, X, y=None):
                value = 0.0 if not X.any() else 1.0
                uniform = np.random.default_rng(self.random_state).random() - 0.5
                noise = -np.sign(uniform) * np.log1p(-2 * abs(uniform))
                self.coef_ = np.array([value + noise])
                return self

        found = audit_floating_point(Textbook(), ZERO, SEVEN, n_fits=1500, random_state=0)
        assert found.differing
        assert found.grids == (None,)
        assert "plain doubles" in found.sentence()

    def test_counts_repeat_themselves_by_right(self):
        class Count(NoisyMean):
            def fit(self, X, y=None):
                law = np.random.default_rng(self.random_state)
                noise = law.geometric(1 - np.exp(-1.0)) - law.geometric(1 - np.exp(-1.0))
                self.coef_ = np.array([float(X.any()) + noise])
                return self

        found = audit_floating_point(Count(), ZERO, SEVEN, n_fits=500, random_state=0)
        assert not found.accuses
        assert found.grids == (1.0,)

    def test_a_noisy_choice_of_doubles_repeats_itself_by_right_and_a_short_seed_does_not(self):
        class Choice(NoisyMean):
            n_seeds = None

            def fit(self, X, y=None):
                law = np.random.default_rng(self.random_state)
                chosen = law.choice([0.1, 0.7, 0.9])
                if self.n_seeds is not None:
                    chosen = np.random.default_rng(law.integers(self.n_seeds)).laplace()
                self.coef_ = np.array([chosen])
                return self

        class ShortSeed(Choice):
            n_seeds = 2**14

        found = audit_floating_point(Choice(), ZERO, SEVEN, n_fits=100, random_state=0)
        assert not found.accuses
        found = audit_floating_point(ShortSeed(), ZERO, SEVEN, n_fits=800, random_state=0)
        assert found.n_repeated > 0
        assert found.accuses

    def test_repeated_and_infinite_outputs_are_counted(self):
        class Stuck(NoisyMean):
            def fit(self, X, y=None):
                self.coef_ = np.array([np.inf, 1.0])
                return self

        found = audit_floating_point(Stuck(), ZERO, SEVEN, n_fits=5)
        assert (found.n_infinite, found.n_repeated) == (10, 8)
        assert found.accuses


class Cached(NoisyMean):
    """Keeps its generator from before the fork, like a module that seeds one at import."""

    generator = np.random.default_rng(0)

    def fit(self, X, y=None):
        self.coef_ = Cached.generator.laplace(size=1)
        return self


class SameForAll(BaseEstimator):
    """The same noise for every class."""

    def fit(self, X, y=None):
        self.coef_ = np.tile(np.random.default_rng().laplace(size=2), (3, 1))
        return self


class NoisyLabel(BaseEstimator):
    """Randomised response on whether a row has a number: one output of two."""

    def __init__(self, epsilon=1.0, random_state=None):
        self.epsilon, self.random_state = epsilon, random_state

    def fit(self, X, y=None):
        law = np.random.default_rng(self.random_state)
        told = bool(np.any(X)) != (law.random() < 1 / (1 + np.exp(self.epsilon)))
        self.winner_ = float(told) * 0.3
        # The same bit over and over: many columns are not many values.
        self.support_ = np.resize([told, not told], 40)
        return self


class Thresholded(BaseEstimator):
    """Noise for each class, most of which a threshold empties."""

    def __init__(self, most=1.0):
        self.most = most

    def fit(self, X, y=None):
        noise = np.random.default_rng().laplace(size=(3, 2))
        self.coef_ = np.where(np.abs(noise) > self.most, noise, 0.0)
        return self


class Plain:
    """No estimator of scikit-learn."""

    def fit(self, X, y=None):
        self.weight = np.random.default_rng().laplace(size=2)


class TestGenerators:
    """The same noise never appears twice."""

    @pytest.mark.parametrize(
        "model", [MODEL, PrivateRidge(random_state=7)], ids=lambda m: type(m).__name__
    )
    def test_ours_never_repeat_themselves(self, model):
        found = audit_randomness(model, ZERO, n_fits=2)
        assert found.repeated == found.unclear == ()
        assert {"pickled", "in two processes"} <= set(found.n_fits)

    def test_rows_of_text_can_be_audited(self):
        found = audit_randomness(Plain(), (np.array([["a"], ["b"]]), [0, 1]), n_fits=2)
        assert not found.accuses

    def test_classes_without_parameters_can_be_audited(self):
        found = audit_randomness(Plain(), ZERO, n_fits=2)
        assert found.repeated == found.unclear == ()
        assert "in two processes" in found.n_fits

    def test_a_generator_that_is_shared_with_children_is_found_out(self):
        """Each child draws what the parent draws next, which is among the fits compared with."""
        found = audit_randomness(Cached(), ZERO)
        assert any("forked" in words for words in found.repeated)
        assert not audit_randomness(Cached(), ZERO, n_fits=2).repeated  # too few to be sure

    def test_noise_shared_by_classes_is_found_out(self):
        assert "classes" in audit_randomness(SameForAll(), ZERO, n_fits=2).sentence()

    @pytest.mark.parametrize("most", [1.0, 50.0])
    def test_classes_that_a_threshold_empties_are_no_fault(self, most):
        assert not audit_randomness(Thresholded(most), ZERO, n_fits=2).accuses

    def test_no_noise_at_all_is_found_out(self):
        found = audit_randomness(LinearRegression(), SEVEN, n_fits=2)
        assert found.accuses
        assert "without any noise" in found.sentence()

    @pytest.mark.parametrize("epsilon", [0.01, 1.0, 50.0])
    def test_equal_outputs_of_noise_with_few_values_are_no_fault(self, epsilon):
        found = audit_randomness(NoisyLabel(epsilon), SEVEN)
        assert not found.accuses
        assert "cannot tell" in found.sentence()

    def test_a_number_of_fits_out_of_range_is_refused(self):
        with pytest.raises(ValueError, match="n_fits"):
            audit_randomness(MODEL, ZERO, n_fits=1)


class TestRepeats:
    """What equal outputs are worth, against brute force."""

    @pytest.mark.parametrize("tested", ["aab", "aabb", "abc", "aaa", "xxa", "xya"])
    @pytest.mark.parametrize("reference", ["xyz", "xxz"])
    def test_the_chance_is_the_share_of_arrangements(self, tested, reference):
        outputs, m = [*tested, *reference], len(tested)
        equal = [outputs.count(output) > 1 for output in outputs]
        as_many = [
            sum(equal[place] for place in places) >= sum(equal[:m])
            for places in itertools.combinations(range(len(outputs)), m)
        ]
        found = chance_of_arrangement(list(tested), list(reference))
        assert found == pytest.approx(np.mean(as_many))

    def test_honest_noise_of_few_values_is_accused_as_rarely_as_is_stated(self):
        """8,000 audits in which 1 in 100 would be accused: P(more than 130 of them) < 1e-6."""
        law = np.random.default_rng(0)
        chances = [
            chance_of_arrangement(list(law.integers(n, size=4)), list(law.integers(n, size=12)))
            for n in (20, 60, 200, 2000)
            for _ in range(2000)
        ]
        assert (np.array(chances) <= 0.01).sum() <= 130

    @pytest.mark.parametrize("apart", [2, 4])
    @pytest.mark.parametrize("claim", [Claim(1.0, 0.0), Claim(0.1, 1e-6), Claim(None, 0.0)])
    def test_so_many_data_sets_of_neighbours_exclude_a_claim(self, claim, apart):
        """The likeliest of all is output i on data set i, with e^(m e)/(K - 1 + e^(m e)) each."""
        number = fits_to_exclude(claim, apart)
        factor = np.exp(apart * (claim.epsilon or 1.0))
        own = factor / (number - 1 + factor)
        assert number * math.log(own**2) <= math.log(1e-6)
        assert fits_to_exclude(Claim(30.0, 0.0)) is None
        assert fits_to_exclude(Claim(1.0, 0.5)) is None

    def test_rows_of_any_container_change_in_one_place(self):
        for X in (ONE_ROW, ONE_ROW.tolist(), sparse.csr_array(ONE_ROW)):
            for given in ((X, [0, 1]), {"X": X, "y": [0, 1]}):
                made = list(Variants().made_of(given, 3))
                tables = [m["X"] if isinstance(m, dict) else m[0] for m in made]
                dense = [t.toarray() if sparse.issparse(t) else t for t in tables]
                assert len({tuple(t[0]) for t in dense}) == 3
                assert all(np.array_equal(t[1:], ONE_ROW[1:]) for t in dense)


ONE_ROW = np.array([[3.0, 0.0], [1.0, 2.0]])


class CountsLabels(NoisyMean):
    """Publishes the number of ones, and warns where there are many."""

    def fit(self, X, y=None):
        self.n_ones_ = int(np.sum(y))
        if self.n_ones_ > 5:
            import warnings

            warnings.warn("many ones", UserWarning, stacklevel=2)
        return super().fit(X, y)


class TestAttributes:
    """Attributes, warnings and errors."""

    OTHER = (ZERO[0], np.resize([1, 1, 1, 0], N))

    def test_what_is_not_noisy_is_found_out(self):
        found = audit_attributes(CountsLabels(), ZERO, self.OTHER, epsilon=1.0)
        assert found.findings == ("n_ones_ differs", "what was warned of differs")
        assert found.epsilon > 0

    def test_an_error_is_found_out(self):
        class Raises(NoisyMean):
            def fit(self, X, y=None):
                if X.any():
                    raise ValueError("not empty")
                return super().fit(X, y)

        assert "the error raised differs" in audit_attributes(Raises(), ZERO, SEVEN).findings

    def test_a_noisy_bit_is_no_fault(self):
        """Randomised response of epsilon 3: 10 fits on either side often show one value each."""

        class Bit(NoisyMean):
            def fit(self, X, y=None):
                truth = bool(X.any())
                lies = RandomSource.from_system().generator().random() < 1 / (1 + np.exp(3.0))
                self.bit_ = truth != lies
                return self

        audits = [audit_attributes(Bit(), ZERO, SEVEN, epsilon=3.0) for _ in range(30)]
        # P(one of them says the same in 100 fits on either side) < 30 * 0.953^200 = 2e-3
        assert sum(audit.accuses for audit in audits) <= 2
        assert any(audit.n_fits > 10 for audit in audits)

    def test_ours_leave_nothing_but_noise(self):
        assert audit_attributes(MODEL, ZERO, SEVEN, n_fits=3).findings == ()
        assert record_and_replay(MODEL, ZERO, SEVEN).findings == ()

    def test_a_sensitivity_that_is_too_small_is_found_by_replay(self, monkeypatch):
        from skdp.stability.erm import GradientDiameterBound

        true = GradientDiameterBound.distance
        monkeypatch.setattr(GradientDiameterBound, "distance", lambda *a: true(*a) / 4)
        model = PrivateElasticNetClassifier("huber_hinge", alpha=8.0, l1_ratio=0.0, classes=[0, 1])
        pair = worst_case_neighbours(model)[0]
        assert "x its bound" in record_and_replay(model, pair.data, pair.neighbour).sentence()


class TestCommand:
    """``skdp audit``."""

    def test_it_accuses_a_model_without_noise_by_its_exit_code(self, capsys, tmp_path):
        figure = tmp_path / "best.png"
        given = ["--epsilon", "1", "--fits", "40", "--seed", "0", "--figure", str(figure)]
        given += ["--checks", "epsilon", "attributes"]
        assert main(["audit", "sklearn.linear_model.LinearRegression", *given]) == 3
        assert "FALSE" in capsys.readouterr().out
        assert figure.stat().st_size > 0

    def test_it_does_not_accuse_ours(self, capsys):
        given = ["--set", "alpha=8.0", "--set", "classes=[0,1]", "--set", "loss=huber_hinge"]
        checks = ["--checks", "release", "replay", "one-run", "--fits", "30", "--seed", "0"]
        path = "skdp.linear_model:PrivateElasticNetClassifier"
        assert main(["audit", path, *given, *checks]) == 0
        out = capsys.readouterr().out
        assert "release: " in out
        assert "one-run: " in out

    @pytest.mark.parametrize(
        "asked",
        [
            ["nowhere.Class"],
            ["skdp.linear_model.PrivateRidge", "--set", "alpha"],
            ["skdp.linear_model.PrivateRidge", "--set", "beta=1"],
            ["skdp.linear_model.PrivateRidge", "--fits", "3"],
            ["skdp.linear_model.SparseDPSGDClassifier", "--checks", "release"],
        ],
    )
    def test_what_cannot_be_audited_is_refused_in_words(self, asked, capsys):
        assert main(["audit", *asked]) == 1
        assert capsys.readouterr().err.startswith("skdp: error: ")


def test_every_worst_case_pair_can_be_fitted_by_private_sgd():
    for pair in worst_case_neighbours(SparseDPSGDClassifier()):
        SparseDPSGDClassifier().fit(*pair.data)
