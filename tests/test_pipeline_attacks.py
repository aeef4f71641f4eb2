"""Attacks on pipelines: what may not pass, tell in an error, or cost before it is refused.

Further ones on single steps are in test_pipeline_steps.
"""

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
    TargetEncoder,
)

from skdp.decomposition import PrivatePCA
from skdp.exceptions import BudgetExceededError, LeakyPipelineError
from skdp.feature_selection import PrivateSelectKBest
from skdp.linear_model import PrivateElasticNetClassifier, PrivateRidgeClassifier
from skdp.pipeline import (
    RowByRow,
    check_private_pipeline,
    make_private_pipeline,
    pipeline_statement,
    splitting,
)
from skdp.pipeline.rehearsal import made_up_rows
from skdp.preprocessing import (
    PrivateMinMaxScaler,
    PrivateOneHotEncoder,
    PrivateStandardScaler,
    RowNormClipper,
)
from skdp.privacy import InMemoryLedger
from tests.support.refusals import SECRET_DIGITS, SECRET_TEXT, said
from tests.test_pipeline_steps import STEPS

N = 200
X = np.random.default_rng(0).uniform(size=(N, 3))
y = (X[:, 0] > 0.5).astype(int)
CATEGORIES = [["a", "b"]]


def ridge(**given):
    return PrivateRidgeClassifier(classes=[0, 1], neighbours="zero-out", **given)


def ledger(relation="zero-out"):
    return InMemoryLedger(50.0, 1e-2, relation)


# --------------------------------------------------------------------------- what a step may keep


@pytest.mark.parametrize(("step", "rows", "others"), STEPS, ids=map(str, range(len(STEPS))))
def test_nothing_that_a_step_of_the_list_keeps_depends_on_the_rows(step, rows, others):
    once, again = (clone(step).fit(given) for given in (rows, others))
    parameters = step.get_params(deep=False)
    kept = [{k: v for k, v in vars(s).items() if k not in parameters} for s in (once, again)]
    assert kept[0].keys() == kept[1].keys()
    assert all(shown(kept[0][name]) == shown(kept[1][name]) for name in kept[0])


def shown(value):
    """A fitted attribute in a form that compares; objects by what they hold."""
    if sparse.issparse(value):
        value = value.toarray()
    if isinstance(value, np.ndarray | list | tuple):
        return [shown(part) for part in value] if np.ndim(value) or value else list(value)
    if hasattr(value, "__dict__") and not isinstance(value, type | np.generic):
        return {name: shown(part) for name, part in vars(value).items()}
    return repr(value)


def remembering():
    """A function that gives back what it was given before: the rows of others."""
    seen = []

    def function(value):
        seen.append(value)
        return seen[0]

    return function


def shadowed():
    step = Normalizer()
    step.transform = lambda rows: rows - rows.min(axis=0)
    return step


LEAKY = {
    "a function made a ufunc": FunctionTransformer(np.frompyfunc(remembering(), 1, 1)),
    "a callable for accents": HashingVectorizer(strip_accents=remembering()),
    "a callable analyzer": HashingVectorizer(analyzer=remembering()),
    "a method that was replaced": shadowed(),
    "a replaced method of a container": Pipeline([("a", shadowed())]),
    "bins": KBinsDiscretizer(),
    "knots": SplineTransformer(knots="uniform"),
    "an error outside of knots": SplineTransformer(knots=np.eye(2), extrapolation="error"),
    "targets": TargetEncoder(),
    "a target that is scaled": TransformedTargetRegressor(Ridge()),
    "a forest": RandomForestClassifier(),
    "one against the rest": OneVsRestClassifier(PrivateElasticNetClassifier()),
    "an indicator": SimpleImputer(
        strategy="constant", fill_value=0.0, keep_empty_features=True, add_indicator=True
    ),
    "warnings of categories": OneHotEncoder(categories=CATEGORIES, handle_unknown="warn"),
    "infrequent categories": OneHotEncoder(
        categories=CATEGORIES, handle_unknown="infrequent_if_exist", min_frequency=3
    ),
    "most frequent categories": OneHotEncoder(
        categories=CATEGORIES, handle_unknown="ignore", max_categories=3
    ),
    "an inverse that is checked": FunctionTransformer(np.log1p, inverse_func=np.expm1),
    "a function with arguments": FunctionTransformer(np.log1p, kw_args={"where": True}),
    "a choice of columns": ColumnTransformer(
        [("a", Normalizer(), lambda rows: [0])], sparse_threshold=0
    ),
    "a sparse remainder": ColumnTransformer(
        [("a", OneHotEncoder(categories=CATEGORIES, handle_unknown="ignore"), [0])],
        remainder="passthrough",
    ),
}


@pytest.mark.parametrize("step", LEAKY.values(), ids=LEAKY.keys())
@pytest.mark.parametrize("within", ["pipeline", "columns", "union"])
def test_what_leaks_is_refused_wherever_it_stands(step, within):
    whole = {
        "pipeline": make_pipeline(step),
        "columns": ColumnTransformer([("inner", step, [0])], sparse_threshold=0),
        "union": FeatureUnion([("inner", step)]),
    }[within]
    with pytest.raises(LeakyPipelineError):
        check_private_pipeline(Pipeline([("outer", whole), ("model", ridge())]))


def test_a_subclass_of_each_accepted_class_is_refused():
    for step, _, _ in STEPS:
        other = copy.copy(step)
        other.__class__ = type("Mine", (type(step),), {})
        with pytest.raises(LeakyPipelineError):
            check_private_pipeline(other)


FRAME = pd.DataFrame(
    {"n": X[:, 0], "m": X[:, 1], "c": ["a", "b"] * (N // 2), "d": ["x"] * N}
).astype({"c": object, "d": object})
OTHER_FRAME = FRAME.assign(n=np.nan, m=0.0, c="unheard of", d=None)
OTHER_FRAME.loc[0] = FRAME.loc[0]
_CODED = OneHotEncoder(categories=CATEGORIES, handle_unknown="ignore")
_FILLED = SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True)
HARMLESS = {
    "a remainder that passes": ColumnTransformer(
        [("c", _CODED, ["c"])], remainder="passthrough", sparse_threshold=0
    ),
    "columns by type": ColumnTransformer(
        [
            ("n", _FILLED, make_column_selector(dtype_include=np.number)),
            ("c", _CODED, make_column_selector(pattern="^c$")),
        ],
        sparse_threshold=0,
    ),
    "a union with weights": ColumnTransformer(
        [
            (
                "n",
                make_pipeline(
                    _FILLED,
                    FeatureUnion(
                        [("a", PolynomialFeatures(2)), ("b", Normalizer())],
                        transformer_weights={"a": 0.5},
                    ),
                ),
                ["n", "m"],
            )
        ],
        sparse_threshold=0,
    ),
    "frames": ColumnTransformer(
        [("c", clone(_CODED).set_params(sparse_output=False), ["c"]), ("n", _FILLED, ["m", "n"])],
        verbose_feature_names_out=False,
        sparse_threshold=0,
    ).set_output(transform="pandas"),
}


@pytest.mark.parametrize("step", HARMLESS.values(), ids=HARMLESS.keys())
def test_what_passes_treats_a_row_in_the_same_way_whatever_the_others_hold(step):
    assert check_private_pipeline(step).steps
    with warnings.catch_warnings(action="error"):
        first, second = (clone(step).fit_transform(f) for f in (FRAME, OTHER_FRAME))
    assert type(first) is type(second)
    assert first.shape == second.shape
    one, other = (pd.DataFrame(part) for part in (first, second))
    assert list(one.columns) == list(other.columns)
    assert list(one.dtypes) == list(other.dtypes)
    pd.testing.assert_series_equal(one.iloc[0], other.iloc[0])


# ------------------------------------------------------------------------ what an error may tell


class Unreadable:
    """A function that says what it was given when it fails."""

    def __call__(self, rows):
        raise KeyError(str(np.asarray(rows).ravel()[0]))


@pytest.mark.parametrize(
    ("first", "cell"),
    [
        (Normalizer(), SECRET_TEXT),
        (PolynomialFeatures(2), SECRET_TEXT),
        (FunctionTransformer(np.log1p, validate=True), SECRET_TEXT),
        (FunctionTransformer(RowByRow(Unreadable())), SECRET_TEXT),
    ],
)
@pytest.mark.parametrize("within", [False, True])
def test_a_step_that_cannot_take_a_cell_does_not_quote_it(first, cell, within):
    rows = X.astype(object)
    rows[0, 0] = cell
    step = clone(first)
    if within:
        step = ColumnTransformer([("inner", step, [0, 1])], sparse_threshold=0)
    private = make_private_pipeline(step, ridge())
    with pytest.raises((ValueError, TypeError), match="could not take the rows") as caught:
        private.fit(rows, y)
    assert SECRET_DIGITS not in said(caught.value)
    assert type(first).__name__ in str(caught.value)


def test_errors_about_parameters_and_budgets_are_told_as_they_are():
    with pytest.raises(ValueError, match="The 'norm' parameter of Normalizer must be"):
        make_private_pipeline(Normalizer(norm="l9"), ridge()).fit(X, y)
    small = InMemoryLedger(0.1, 1e-2, "zero-out")
    with pytest.raises(BudgetExceededError):
        make_private_pipeline(Normalizer(), ridge(), ledger=small).fit(X, y)


def test_arithmetic_of_one_row_warns_of_nothing():
    rows = X.copy()
    rows[0] = -2.0
    step = make_pipeline(
        FunctionTransformer(np.log1p), FunctionTransformer(RowByRow(np.nan_to_num))
    )
    with warnings.catch_warnings(action="error"):
        make_private_pipeline(step, ridge()).fit(rows, y)


# --------------------------------------------------------------- what is refused before it costs


def test_a_frozen_step_of_another_relation_is_refused_before_anything_is_spent():
    frozen, spent = FrozenEstimator(PrivatePCA(2).fit(X)), ledger("replace-one")
    private = make_private_pipeline(
        frozen, ridge().set_params(neighbours="replace-one"), ledger=spent
    )
    with pytest.raises(ValueError, match="do not add up"):
        private.fit(X, y)
    assert spent.history() == ()


def test_each_private_class_without_a_relation_to_set_is_known_by_it():
    spent = ledger()
    private = make_private_pipeline(PrivatePCA(2), PrivateSelectKBest(k=1), ridge(), ledger=spent)
    with pytest.raises(ValueError, match="do not add up"):
        private.fit(X, y)
    assert spent.history() == ()


def test_a_private_pipeline_within_another_spends_for_each_of_its_steps():
    spent = ledger()
    inner = make_private_pipeline(
        PrivateStandardScaler((0, 1)), RowNormClipper(), PrivatePCA(2), shares=None
    )
    private = make_private_pipeline(inner, ridge(), epsilon=2.0, delta=1e-5, ledger=spent)
    private.fit(X, y)
    assert len(spent.history()) == 3
    assert spent.spent() == pytest.approx((2.0, 1e-5))
    assert private.privacy_.epsilon == 2.0
    assert pipeline_statement(private).delta_at(2.0) <= 1e-5
    inner.steps[0][1].set_params(neighbours="replace-one")
    with pytest.raises(ValueError, match="do not add up"):
        private.fit(X, y)
    assert len(spent.history()) == 3


def test_one_object_in_two_places_is_refused_before_anything_is_spent():
    spent, scaler = ledger(), PrivateStandardScaler((0, 1))
    union = FeatureUnion([("a", scaler), ("b", scaler)])
    with pytest.raises(ValueError, match="same object"):
        make_private_pipeline(union, ridge(), ledger=spent).fit(X, y)
    assert spent.history() == ()


@pytest.mark.parametrize("none", [[], (), np.array([], dtype=int), [False] * 3, np.zeros(3, bool)])
def test_a_branch_without_columns_is_not_expected_to_spend(none):
    branches = [("none", PrivateStandardScaler((0, 1)), none), ("some", "passthrough", [0, 1])]
    columns = ColumnTransformer(branches, sparse_threshold=0)
    assert make_private_pipeline(columns, ridge()).fit(X, y).check_.private == (
        "privateridgeclassifier",
    )


class TestAStepThatReleasesItsWidth:
    """Noise of later steps depends on the number of columns, which was not fixed beforehand."""

    def whole(self, **given):
        encoder = ColumnTransformer([("c", PrivateOneHotEncoder(), [0])], sparse_threshold=0)
        steps = (encoder, PrivateStandardScaler((0, 1)), ridge())
        return make_private_pipeline(*steps, epsilon=10.0, delta=1e-3, **given)

    def fitted(self, n_categories):
        rows = np.array([f"c{i % n_categories}" for i in range(N)], dtype=object)[:, None]
        return self.whole().fit(rows, y)

    def test_the_statement_of_the_whole_is_the_same_whatever_the_width(self):
        few, many = self.fitted(1), self.fitted(4)
        assert few[-1].n_features_in_ != many[-1].n_features_in_
        assert few[1].privacy_.to_dict() != many[1].privacy_.to_dict()
        assert few.privacy_.to_dict() == many.privacy_.to_dict()
        assert few.privacy_.epsilon == 10.0
        plain = [pipeline_statement(model).to_dict() for model in (few, many)]
        assert plain[0] == plain[1]

    def test_a_split_by_mu_is_refused_before_anything_is_spent(self):
        spent = ledger()
        with pytest.raises(ValueError, match="how many columns leave it"):
            self.whole(split="gaussian", ledger=spent).fit(X, y)
        assert spent.history() == ()


class TestASplitByMu:
    """`split="gaussian"` is planned on made-up rows before the first step spends."""

    def test_what_would_break_the_budget_is_refused_before_anything_is_spent(self, monkeypatch):
        monkeypatch.setattr(splitting, "_MARGINS", (0.01,) * 2)
        spent = ledger("replace-one")
        last = PrivateElasticNetClassifier(classes=[0, 1], noise="l2_laplace")
        private = make_private_pipeline(
            PrivatePCA(2, neighbours="replace-one"),
            last,
            split="gaussian",
            epsilon=1.0,
            ledger=spent,
        )
        with pytest.raises(BudgetExceededError, match="Nothing was spent"):
            private.fit(X, y)
        assert spent.history() == ()

    def test_steps_that_are_less_than_gaussian_get_smaller_shares(self):
        spent = ledger()
        private = make_private_pipeline(
            PrivatePCA(2), PrivateMinMaxScaler(), ridge(), split="gaussian", ledger=spent
        )
        private.fit(X, y)
        assert 2e-7 < private.privacy_.delta_at(1.0) <= 1e-6
        assert len(spent.history()) == 3
        assert sum(step.epsilon for _, step in private.steps) > 1.0

    def test_a_step_that_takes_no_made_up_rows_is_told(self):
        class NoZeros:
            def __call__(self, rows):
                if np.asarray(rows).std() == 0:
                    raise ValueError("the same everywhere")
                return rows

        step = FunctionTransformer(RowByRow(NoZeros()))
        private = make_private_pipeline(step, PrivatePCA(2), ridge(), split="gaussian")
        with pytest.raises(ValueError, match=r"the same everywhere.*split='sums'"):
            private.fit(X, y)
        private.set_params(split="sums").fit(X, y)

    @pytest.mark.parametrize("kind", ["frame", "polars"])
    def test_frames_of_several_types_are_made_up(self, kind):
        frame = FRAME.assign(c=FRAME.c.astype("category"), k=pd.array([1, None] * (N // 2)))
        if kind == "polars":
            frame = pytest.importorskip("polars").from_pandas(FRAME)
        chosen = ["n", "m"]
        columns = ColumnTransformer(
            [
                ("n", PrivateStandardScaler((0, 1)), chosen),
                ("c", OneHotEncoder(categories=CATEGORIES, handle_unknown="ignore"), ["c"]),
            ],
            sparse_threshold=0,
        )
        private = make_private_pipeline(columns, RowNormClipper(), ridge(), split="gaussian")
        assert private.fit(frame, y).privacy_.epsilon == 1.0


@pytest.mark.parametrize(
    "rows",
    [
        X,
        X.astype(np.float32),
        sparse.csr_array(X),
        FRAME,
        FRAME.astype({"c": "category", "d": "string"}),
        FRAME.to_numpy(),
        ["he is ill", "so"],
        [[1.0, 2.0], [3.0, 4.0]],
    ],
    ids=["doubles", "floats", "CSR", "frame", "extensions", "objects", "texts", "lists"],
)
def test_made_up_rows_tell_nothing_but_the_columns_and_their_types(rows):
    made = made_up_rows(rows, 0)
    assert len(made) == len(rows) if not sparse.issparse(rows) else made.shape == rows.shape
    if isinstance(rows, pd.DataFrame):
        assert list(made.dtypes) == list(rows.dtypes)
        assert list(made.columns) == list(rows.columns)
        other = rows.copy()
        other.iloc[:] = np.nan if "n" not in rows else other.iloc[::-1].to_numpy()
        assert made.equals(made_up_rows(other, 0))
    elif hasattr(rows, "dtype"):
        assert made.dtype == rows.dtype


BAD_TARGETS = {
    "another label": (np.array([0, 1, 2] * 20), "outside of the declared classes"),
    "missing": (np.array([0.0, np.nan, 1.0] * 20), "NaN"),
    "too few": (np.array([0, 1]), "inconsistent numbers of samples"),
    "none": (None, "requires y"),
}


@pytest.mark.parametrize(("y", "told"), BAD_TARGETS.values(), ids=BAD_TARGETS)
def test_targets_that_the_last_step_refuses_are_refused_before_the_first_spends(y, told):
    X, ledger = np.ones((60, 2)), InMemoryLedger(9.0, 1e-3)
    scaler = PrivateStandardScaler((0.1, 10.0), neighbours="replace-one")
    model = PrivateElasticNetClassifier(classes=[0, 1])
    pipeline = make_private_pipeline(scaler, model, ledger=ledger)
    with pytest.raises(ValueError, match=told):
        pipeline.fit(X, y)
    assert ledger.history() == ()


def test_a_fit_that_fails_leaves_the_pipeline_as_it_was(monkeypatch):
    scaler = PrivateStandardScaler((0.1, 10.0), neighbours="replace-one")
    model = PrivateElasticNetClassifier(classes=[0, 1])
    pipeline = make_private_pipeline(scaler, model).fit(X, y)
    before, mean = pipeline.privacy_, pipeline[0].mean_
    epsilons = pipeline[0].epsilon, pipeline[-1].epsilon

    def broken(*_, **__):
        raise MemoryError

    monkeypatch.setattr(PrivateElasticNetClassifier, "fit", broken)
    with pytest.raises(MemoryError):
        pipeline.fit(X, y)
    assert pipeline.privacy_ is before
    assert pipeline[0].mean_ is mean
    assert (pipeline[0].epsilon, pipeline[-1].epsilon) == epsilons


PARTIAL = [FunctionTransformer(np.exp), PolynomialFeatures(9)]


@pytest.mark.parametrize("step", PARTIAL, ids=["function", "polynomial"])
def test_a_step_that_may_overflow_is_refused_behind_and_beside_a_private_one(step):
    """Nothing had to be wrong with a row for the last step to refuse it when others had spent."""
    scaler = PrivateStandardScaler((0.1, 10.0), neighbours="replace-one", clip=None)
    model = PrivateElasticNetClassifier(classes=[0, 1])
    both = ColumnTransformer([("a", scaler, [0]), ("b", step, [1])], sparse_threshold=0)
    ledger = InMemoryLedger(9.0, 1e-3)
    for steps in ((scaler, step, model), (both, model)):
        with pytest.raises(ValueError, match="before the first private step"):
            make_private_pipeline(*steps, ledger=ledger).fit(X, y)
    assert ledger.history() == ()
    make_private_pipeline(step, scaler, model, ledger=ledger).fit(X, y)
    with pytest.raises(ValueError, match="infinity"):
        make_private_pipeline(step, scaler, model, ledger=ledger).fit(1e300 * X, y)
    assert len(ledger.history()) == 2
