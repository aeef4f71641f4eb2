"""Private search: its price, the law of its trials, what it releases, planted bugs."""

import itertools
import json
import math
import warnings

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from skdp._random import RandomSource
from skdp.exceptions import LeakyPipelineError, UnsupportedEventError
from skdp.linear_model import PrivateElasticNetClassifier, PrivateRidgeClassifier
from skdp.mechanisms import LaplaceMechanism
from skdp.model_selection import PrivateGridSearchCV, strategies
from skdp.model_selection.candidates import Candidates
from skdp.model_selection.metadata import Metadata
from skdp.model_selection.pricing import pure_budget
from skdp.model_selection.stand_in import StandIn
from skdp.model_selection.strategies import RandomTrials
from skdp.pipeline import make_private_pipeline
from skdp.privacy import InMemoryLedger, PrivacyBudget
from skdp.privacy.accounting import delta_of, epsilon_of
from skdp.privacy.event_dicts import event_from_dict, event_to_dict
from skdp.privacy.events import GaussianReleaseDpEvent, accountant_event
from skdp.privacy.gaussian_curve import gaussian_mu
from skdp.privacy.pure_curve import pure_renyi
from skdp.privacy.renyi import ORDERS, RenyiCurve
from skdp.privacy.search_events import RandomSearchDpEvent
from skdp.privacy.trial_laws import TrialLaw
from tests.support.refusals import said

SHAPES = (0.0, 0.5, 1.0, math.inf)
GRID = {"alpha": [0.01, 0.1, 1.0]}


def table(n=200):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) / 3
    return X, (X[:, 0] + 0.1 * rng.normal(size=n) > 0).astype(int)


def quiet_fit(search, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return search.fit(X, y)


def search(**changed):
    return PrivateGridSearchCV(PrivateElasticNetClassifier(classes=[0, 1]), GRID, **changed)


# Price -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [0.0, 0.5, 1.0])
def test_renyi_divergences_of_a_search_are_those_of_dp_accounting(shape):
    ours = TrialLaw(10.0, shape).renyi(ORDERS * 0.05, None)
    accountant = RdpAccountant(list(ORDERS))
    accountant.compose(dp_event.RepeatAndSelectDpEvent(dp_event.ZCDpEvent(0.05), 10.0, shape))
    np.testing.assert_allclose(ours, accountant.rdp, rtol=1e-6)


def exact_best(p, masses):
    """Law of the best of K draws from p, outcomes in order of preference from the worst."""
    below = np.concatenate(([0.0], np.cumsum(p)))
    k = np.arange(len(masses))
    generating = np.array([(masses * x**k).sum() for x in below])
    return np.diff(generating)


def masses_of(law):
    beyond = np.concatenate(([1.0], law.survivals(), [0.0]))
    return -np.diff(beyond)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_no_exact_search_among_few_outcomes_costs_more_than_what_is_stated(shape, epsilon):
    """The exact delta of the best of K, for pairs of laws of three outcomes at ratio e^epsilon."""
    law = TrialLaw(5.0, shape)
    masses = masses_of(law)
    event = RandomSearchDpEvent(epsilon, 5.0, "poisson" if law.is_poisson else shape, "replace-one")
    total = 1.2 * epsilon
    stated = delta_of(event, total)
    worst = 0.0
    for low in np.geomspace(1e-4, 0.3, 12):
        high = low * math.exp(epsilon)
        for p, q in (([1 - high, high], [1 - low, low]), ([low, 1 - low], [high, 1 - high])):
            if min(*p, *q) <= 0:
                continue
            first, second = exact_best(np.array(p), masses), exact_best(np.array(q), masses)
            first, second = np.append(first, masses[0]), np.append(second, masses[0])
            worst = max(worst, np.maximum(first - math.exp(total) * second, 0).sum())
    assert worst <= stated


def test_the_price_of_a_fixed_number_of_trials_is_more_than_that_of_a_random_one():
    """The planted bug: always 10 trials at the price of a random number breaks the promise."""
    epsilon = 1.0
    total = TrialLaw(10.0, 0.0).guarantee(epsilon)
    fixed = np.zeros(11)
    fixed[10] = 1.0
    # The best of ten misses a likely outcome every time.
    rare = exact_best(np.array([0.2 * math.exp(epsilon), 1 - 0.2 * math.exp(epsilon)]), fixed)
    other = exact_best(np.array([0.2, 0.8]), fixed)
    assert rare[0] > math.exp(total) * other[0]


@pytest.mark.parametrize("shape", [0.0, 1.0])
def test_pure_trials_cost_two_or_three_times_one_whatever_their_number(shape):
    costs = [epsilon_of(RandomSearchDpEvent(0.4, m, shape, "zero-out"), 0.0) for m in (2, 10, 1000)]
    np.testing.assert_allclose(costs, (2 + shape) * 0.4, rtol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_number_of_trials_has_its_law(shape):
    law = TrialLaw(6.0, shape)
    masses = masses_of(law)
    k = np.arange(len(masses))
    known = {
        0.0: lambda: stats.logser.pmf(k, 1 - law.gamma),
        1.0: lambda: stats.geom.pmf(k, law.gamma),
        math.inf: lambda: stats.poisson.pmf(k, 6.0),
        0.5: lambda: np.where(
            k > 0, stats.nbinom.pmf(k, 0.5, law.gamma) / (1 - math.sqrt(law.gamma)), 0
        ),
    }[shape]()
    np.testing.assert_allclose(masses, known, atol=1e-12)
    assert (masses * k).sum() == pytest.approx(6.0, rel=1e-9)


def test_the_event_of_a_search_is_read_back_from_json():
    for shape in (0.0, "poisson"):
        event = RandomSearchDpEvent(0.3, 10.0, shape, "zero-out", 1e-9)
        written = json.loads(json.dumps(event_to_dict(event), allow_nan=False))
        assert event_from_dict(written) == event


LAWS = {"logarithmic": 0.0, "geometric": 1.0, "poisson": math.inf}


def offered(law, budget, model, grid=GRID, n=200):
    """What a search offers for n rows of three columns."""
    X, _ = table(n)
    classes = np.array([0, 1]) if hasattr(model, "classes") else None
    candidates = Candidates(model, list(ParameterGrid(grid)), classes, None)
    metadata = Metadata({}, {}, None, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return RandomTrials(law).offer(budget, candidates, StandIn.of(X, classes, n, metadata))


@pytest.mark.parametrize("trials", LAWS)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("noise", ["l2_laplace", "gaussian"])
def test_the_plan_keeps_the_budget_and_wastes_little_of_it(trials, delta, noise):
    law, budget = TrialLaw(10.0, LAWS[trials]), PrivacyBudget(1.0, delta)
    model = PrivateElasticNetClassifier(noise=noise)
    if delta == 0 and (trials == "poisson" or noise == "gaussian"):
        with pytest.raises(ValueError, match=r"no pure guarantee|delta"):
            offered(law, budget, model)
        return
    offer = offered(law, budget, model)
    assert 0.97 < epsilon_of(offer.event, delta or 1e-9) <= 1.0
    assert event_from_dict(event_to_dict(offer.event)) == offer.event


@pytest.mark.parametrize("trials", LAWS)
def test_gaussian_fits_are_priced_by_what_they_are(trials):
    """Their noise is less than by their epsilon and delta, and all that dp_accounting allows."""
    law, budget = TrialLaw(10.0, LAWS[trials]), PrivacyBudget(1.0, 1e-6)
    model = PrivateElasticNetClassifier(noise="gaussian")
    offer = offered(law, budget, model)
    mu = max(one.event.sensitivity / one.event.noise_std for one in offer.tried)
    by_budget = pure_budget(law, budget)
    assert mu > 1.2 * gaussian_mu(by_budget.epsilon, by_budget.delta)
    library = RdpAccountant(list(ORDERS))
    trial = dp_event.GaussianDpEvent(1 / mu)
    library.compose(dp_event.RepeatAndSelectDpEvent(trial, 10.0, LAWS[trials]))
    assert library.get_epsilon(1e-6) == pytest.approx(1.0, rel=0.03 if trials != "poisson" else 0.3)
    assert pure_renyi(offer.score, ORDERS).max() < 1.0


def test_a_search_among_sampled_fits_costs_what_dp_accounting_says():
    """sigma 1, q 0.01, 1,000 steps, delta 1e-5: one fit costs 1.828, of which 3.52 is not twice."""
    step = GaussianReleaseDpEvent(1.0, "l2", "zero-out", 1.0)
    fit = dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(0.01, step), 1000)
    plain = dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0))
    costs = {}
    for trials, shape in LAWS.items():
        law = "poisson" if math.isinf(shape) else shape
        event = RandomSearchDpEvent(0.1, 10.0, law, "zero-out", 0.0, (fit,))
        library = RdpAccountant()
        repeated = dp_event.SelfComposedDpEvent(plain, 1000)
        library.compose(dp_event.RepeatAndSelectDpEvent(repeated, 10.0, shape))
        costs[trials] = epsilon_of(event, 1e-5), library.get_epsilon(1e-5)
    assert costs["logarithmic"] == pytest.approx((3.523, 3.523), rel=2e-3)
    assert costs["geometric"] == pytest.approx((4.103, 4.103), rel=2e-3)
    ours, theirs = costs["poisson"]  # whose delta is that of the Renyi curve
    assert 3.4 < ours < theirs
    assert epsilon_of(fit, 1e-5) == pytest.approx(1.828, rel=1e-3)


def test_the_price_of_fits_is_that_of_the_costliest_or_of_a_score():
    def cost(score, *fits):
        return epsilon_of(RandomSearchDpEvent(score, 10.0, 0.0, "zero-out", 0.0, fits), 1e-5)

    small, large = (GaussianReleaseDpEvent(1.0, "l2", "zero-out", s) for s in (8.0, 2.0))
    assert cost(0.01, small, large) == cost(0.01, large) > cost(0.01, small)
    scores = RenyiCurve(TrialLaw(10.0, 0.0).renyi_of_pure(2.0)).epsilon_at(1e-5)
    assert scores <= cost(2.0, small) < 1.01 * scores
    with pytest.raises(UnsupportedEventError, match="relation"):
        cost(0.1, GaussianReleaseDpEvent(1.0, "l2", "replace-one", 1.0))
    with pytest.raises(UnsupportedEventError, match="one of several fits"):
        accountant_event(RandomSearchDpEvent(0.1, 10.0, 0.0, "zero-out", 0.0, (small,)))


@pytest.mark.parametrize("shape", SHAPES)
def test_no_exact_search_among_gaussian_fits_costs_more_than_what_is_stated(shape):
    """The best of K noisy numbers: its law is that of the noise raised to the powers K."""
    law, mu = TrialLaw(5.0, shape), 0.4
    masses = masses_of(law)
    fit = GaussianReleaseDpEvent(1.0, "l2", "zero-out", 1 / mu)
    edges = np.linspace(-9, 9, 4001)
    below = [np.polynomial.polynomial.polyval(stats.norm.cdf(edges, at), masses) for at in (0, mu)]
    laws = [np.diff(np.concatenate(([masses[0]], b, [1.0]))) for b in below]
    named = "poisson" if law.is_poisson else shape
    event = RandomSearchDpEvent(0.01, 5.0, named, "zero-out", 0.0, (fit,))
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        for p, q in (laws, laws[::-1]):
            assert np.maximum(p - math.exp(epsilon) * q, 0).sum() <= delta_of(event, epsilon)


def worst_delta(p, q, masses, epsilon):
    """The exact delta of the best of K, over all orders of preference, in both directions."""
    worst = 0.0
    for order in map(list, itertools.permutations(range(len(p)))):
        first, second = (np.append(exact_best(r[order], masses), masses[0]) for r in (p, q))
        for one, other in ((first, second), (second, first)):
            worst = max(worst, np.maximum(one - math.exp(epsilon) * other, 0).sum())
    return worst


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mean", [2.0, 10.0])
@pytest.mark.parametrize("d", [1e-6, 1e-2])
def test_what_trials_fail_with_adds_up_over_their_mean_number(shape, mean, d):
    """Leaky randomised response dominates every (e, d)-DP trial; half of d E[K] would be false."""
    law, e = TrialLaw(mean, shape), 0.5
    kept = (1 - d) / (1 + math.exp(e))
    leaky = np.array([d, kept * math.exp(e), kept, 0.0])
    total = 6 * e if law.is_poisson else law.guarantee(e)
    pure = RenyiCurve(law.renyi_of_pure(e)).delta_at(total) if law.is_poisson else 0.0
    worst = worst_delta(leaky, leaky[::-1], masses_of(law), total)
    assert 0.75 * d * mean < worst <= d * mean + pure


@pytest.mark.parametrize("shape", SHAPES)
def test_so_it_does_for_trials_of_any_law(shape):
    law, e, rng = TrialLaw(4.0, shape), 0.7, np.random.default_rng(1)
    total = 6 * e if law.is_poisson else law.guarantee(e)
    pure = RenyiCurve(law.renyi_of_pure(e)).delta_at(total) if law.is_poisson else 0.0
    for _ in range(20):
        p, q = rng.dirichlet(np.full(4, 0.4), size=2)
        q = 0.9 * p + 0.1 * q
        d = max(np.maximum(a - math.exp(e) * b, 0).sum() for a, b in ((p, q), (q, p)))
        assert worst_delta(p, q, masses_of(law), total) <= d * 4.0 + pure + 1e-12


def test_a_trial_of_which_nothing_is_known_has_its_share_of_delta():
    trial = pure_budget(TrialLaw(10.0, 0.0), PrivacyBudget(3.0, 1e-6))
    assert trial.delta == pytest.approx(1e-6 / 20, rel=1e-5)
    assert trial.epsilon == pytest.approx(1.5, rel=1e-5)
    with pytest.raises(ValueError, match="finite precision"):
        pure_budget(TrialLaw(10.0, 0.0), PrivacyBudget(3.0, 1e-30))


# What is run and what leaves ---------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["random", "exponential"])
def test_a_search_spends_once_and_shows_the_winner_only(strategy, capfd):
    X, y = table()
    ledger = InMemoryLedger(3.0, 1e-5)
    found = search(strategy=strategy, epsilon=2.0, ledger=ledger, verbose=3, n_jobs=2).fit(X, y)
    assert ledger.remaining().epsilon == 1.0
    assert len(ledger.history()) == 1
    assert all(len(column) == 1 for column in found.cv_results_.values())
    assert found.best_estimator_.privacy_ is found.privacy_
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def calls(monkeypatch):
    """Record what each fit of a real row and each Laplace release is given."""
    seen = {"fits": [], "scores": []}
    fit, release = PrivateElasticNetClassifier.fit, LaplaceMechanism.release

    def recorded_fit(self, X, y, **kwargs):
        if np.any(X):
            seen["fits"].append((self.epsilon, self.delta, self.ledger, np.array(X)))
        return fit(self, X, y, **kwargs)

    def recorded_release(self, value, rng):
        if self.size == 1:
            seen["scores"].append((self.budget.epsilon, self.sensitivity.value, self.noise_scale))
        return release(self, value, rng)

    monkeypatch.setattr(PrivateElasticNetClassifier, "fit", recorded_fit)
    monkeypatch.setattr(LaplaceMechanism, "release", recorded_release)
    return seen


def test_each_trial_fits_and_scores_at_half_the_price_on_rows_that_do_not_overlap(calls):
    X, y = table()
    quiet_fit(search(epsilon=2.0, random_state=3), X, y)
    assert len(calls["fits"]) == len(calls["scores"]) >= 1
    for epsilon, delta, ledger, rows in calls["fits"]:
        assert epsilon == pytest.approx(1.0, rel=1e-5)
        assert delta == 0
        assert ledger is None
        assert len(rows) == 160
        np.testing.assert_array_equal(rows, calls["fits"][0][3])
    for epsilon, sensitivity, scale in calls["scores"]:
        assert epsilon == pytest.approx(1.0, rel=1e-5)
        assert sensitivity == 1 / 40
        assert scale == pytest.approx(1 / 40, rel=1e-4)


def test_the_exponential_choice_fits_candidates_on_disjoint_rows(calls):
    X, y = table()
    quiet_fit(search(strategy="exponential", epsilon=2.0, random_state=3), X, y)
    parts = [{row.tobytes() for row in rows} for *_, rows in calls["fits"]]
    assert [len(part) for part in parts] == [53, 53, 53]
    assert len(set.union(*parts)) == 159


def test_scores_without_noise_would_be_noticed(monkeypatch):
    """The planted bug: the score is a multiple of 1 / n_held_out exactly."""
    X, y = table()

    def on_lattice():
        found = quiet_fit(search(epsilon=2.0, random_state=1), X, y)
        return abs(found.best_score_ * 40 - round(found.best_score_ * 40)) < 1e-9

    assert not on_lattice()
    monkeypatch.setattr(LaplaceMechanism, "release", lambda self, value, rng: np.array(value))
    assert on_lattice()


def test_no_trial_at_all_gives_a_model_of_no_data(monkeypatch):
    monkeypatch.setattr(strategies, "uniforms", lambda n, rng: np.ones(n))
    X, y = table()
    found = search(epsilon=1.0, delta=1e-5, trials="poisson").fit(X, y)
    assert found.best_score_ == 0
    assert found.best_params_ == {"alpha": 0.01}
    assert set(found.predict(X)) <= {0, 1}


def test_the_best_of_many_trials_is_better_than_one_of_them_on_average():
    X, y = table(2000)
    grid = {"alpha": [0.01, 1e6]}
    model = PrivateElasticNetClassifier(classes=[0, 1])
    found = [
        quiet_fit(
            PrivateGridSearchCV(model, grid, epsilon=12.0, n_trials=20, random_state=i), X, y
        ).best_params_["alpha"]
        for i in range(6)
    ]
    assert found.count(0.01) >= 4


# Refusals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["epsilon", "delta", "ledger", "random_state", "classes"])
def test_what_the_search_decides_cannot_be_searched(name):
    X, y = table()
    found = PrivateGridSearchCV(PrivateElasticNetClassifier(), {name: [1]})
    with pytest.raises(ValueError, match=f"'{name}' cannot be searched"):
        found.fit(X, y)


@pytest.mark.parametrize(
    ("estimator", "error"),
    [
        (LogisticRegression(), TypeError),
        (make_pipeline(StandardScaler(), PrivateElasticNetClassifier()), LeakyPipelineError),
        (search(), TypeError),
    ],
)
def test_what_is_not_private_is_refused(estimator, error):
    X, y = table()
    with pytest.raises(error):
        PrivateGridSearchCV(estimator, {}).fit(X, y)


def test_one_bad_candidate_is_refused_before_anything_is_spent():
    X, y = table()
    ledger = InMemoryLedger(3.0, 1e-5)
    found = PrivateGridSearchCV(
        PrivateElasticNetClassifier(), {"alpha": [0.1, -1.0]}, ledger=ledger
    )
    with pytest.raises(ValueError, match="alpha"):
        found.fit(X, y)
    assert ledger.history() == ()


@pytest.mark.parametrize("strategy", ["random", "exponential"])
@pytest.mark.parametrize("piped", [False, True])
def test_a_fit_that_needs_a_delta_is_refused_in_words_about_the_delta_of_the_search(
    strategy, piped
):
    X, y = table()
    model, grid, ledger = PrivateRidgeClassifier(), {"alpha": [1.0]}, InMemoryLedger(9.0, 1e-2)
    if piped:
        model = make_private_pipeline(Normalizer(), model)
        grid = {"privateridgeclassifier__alpha": [1.0]}
    found = PrivateGridSearchCV(model, grid, strategy=strategy, ledger=ledger)
    with pytest.raises(ValueError, match="set delta of the search above 0") as caught:
        found.fit(X, y)
    assert "parameter of PrivateRidgeClassifier" not in said(caught.value)
    assert ledger.history() == ()


def test_a_parameter_that_is_wrong_with_any_delta_is_named_as_it_is():
    X, y = table()
    with pytest.raises(ValueError, match="alpha"):
        PrivateGridSearchCV(PrivateRidgeClassifier(), {"alpha": [-1.0]}).fit(X, y)


def test_a_pipeline_is_searched_by_the_names_of_its_steps():
    X, y = table()
    pipeline = make_pipeline(Normalizer(), PrivateElasticNetClassifier())
    grid = {"privateelasticnetclassifier__alpha": [0.01, 0.1]}
    found = PrivateGridSearchCV(pipeline, grid, epsilon=4.0).fit(X, y)
    assert set(found.best_params_) == set(grid)
    assert found.predict(X).shape == y.shape


def test_the_uniform_that_draws_the_number_of_trials_is_fresh_each_time():
    law = TrialLaw(10.0, 1.0)
    rng = RandomSource.from_seed(5)
    u = strategies.uniforms(4000, rng)
    drawn = (law.survivals()[None] > u[:, None]).sum(axis=1)
    assert drawn.min() >= 1
    assert abs(drawn.mean() - 10) < 1.0
