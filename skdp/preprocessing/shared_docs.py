"""What the docstrings of several transformers have in common, written once."""

from collections.abc import Callable, Mapping
from typing import TypeVar

__all__ = ["PAID_DOCS", "QUANTILE_DOCS", "documented"]

T = TypeVar("T", bound=type)

PAID_DOCS = {
    "budget": """epsilon : float, default=1.0
        Privacy loss of all columns together, above 0.""",
    "relation": """neighbours : {"zero-out", "replace-one", "add-or-remove-one"} or Neighbours, \
default="zero-out"
        The relation of the guarantee; replace-one adds more noise.
    ledger : Ledger, path or None, default=None
        Where each fit spends before it looks at the values.
    random_state : None, int, RandomState or Generator, default=None
        None draws from a cryptographic generator. Anything else is for tests: it warns.""",
    "promise": """privacy_ : PrivacyStatement
        What this fit promised.""",
    "features": """n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if X had string column names.""",
}
QUANTILE_DOCS = PAID_DOCS | {
    "bounds": """bounds : pair or mapping, default=(-1e3, 1e3)
        Declared ranges, (low, high), each a number or one for each column, or a mapping of column
        names to pairs. An honest power of ten is enough: points are spaced geometrically.""",
    "pair": """quantiles : pair of floats, default=(0.1, 0.9)
        Levels of the two quantiles, public, increasing, in (0, 1).""",
    "delta": """delta : float, default=1e-6
        In [0, 1). With 0 each quantile costs epsilon divided by their number.
    n_points : int, default=49
        Points for each column, over six decades.""",
    "noise": """sensitivity_ : Sensitivity
        How far one record moves a rank.
    noise_scale_ : float
        Scale of the noise on ranks, in records. Far below n_samples, or the quantiles are noise.
    """.rstrip(),
    "guarantee": """*Guarantees.* (epsilon, delta)-differential privacy of all quantiles of all
    columns. With G(t) = sum_i (1[x_i <= t] - q), a record moves each G(t) by max(q, 1 - q) at most
    (replace-one: by 1); a pick with weights exp(-abs(G(t)) / beta) is of bounded range (Durfee and
    Rogers 2019), and the picks of all columns and quantiles compose exactly as such. Transformed
    private rows are private rows. Each further quantile costs accuracy of all: the noise grows with
    about the root of their number.""",
}


def documented(parts: Mapping[str, str]) -> Callable[[T], T]:
    """Return a decorator that fills the places %(name)s of a class's docstring."""

    def fill(cls: T) -> T:
        for name, text in parts.items():
            cls.__doc__ = (cls.__doc__ or "").replace(f"%({name})s", text)
        return cls

    return fill
