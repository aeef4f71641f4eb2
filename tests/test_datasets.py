"""Adult: the rows are UCI's, the schema is written by hand, the encoding looks at no other row."""

import gzip
import os
import time
from collections import Counter
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.preprocessing import OneHotEncoder

from skdp.datasets import load_adult
from skdp.preprocessing import PublicRangeScaler


@pytest.fixture(scope="module")
def adult():
    return load_adult()


def test_the_parts_are_the_official_ones(adult):
    assert adult.frame.shape == (48842, 16)
    assert adult.X_train.shape == (32561, 14)
    assert adult.X_test.shape == (16281, 14)
    # Counts of adult.names and of the UCI page.
    assert (adult.y_train == ">50K").sum() == 7841
    assert (adult.y_test == ">50K").sum() == 3846
    assert adult.X_train.isna().any(axis=1).sum() == 32561 - 30162
    assert adult.X_test.isna().any(axis=1).sum() == 16281 - 15060
    # The first row of adult.data and of adult.test.
    assert adult.X_train.loc[0, ["age", "workclass", "fnlwgt"]].tolist() == [39, "State-gov", 77516]
    assert adult.X_test.loc[0, ["age", "workclass", "fnlwgt"]].tolist() == [25, "Private", 226802]


def test_the_rows_are_those_of_an_independent_copy():
    folder = os.environ.get("SKDP_DATA")
    if not folder or not Path(folder, "adult.csv.gz").is_file():
        pytest.skip("needs adult.csv.gz in the folder named by SKDP_DATA")
    rows = [
        Counter(map(tuple, pd.read_csv(path, dtype=str, keep_default_na=False).to_numpy()))
        for path in (Path(folder, "adult.csv.gz"), files("skdp.datasets") / "data/adult.csv.gz")
    ]
    assert rows[0] == rows[1]


def test_the_file_is_the_same_whenever_it_is_made():
    stored = (files("skdp.datasets") / "data/adult.csv.gz").read_bytes()
    assert int.from_bytes(stored[4:8], "little") == 0, "no time of writing"
    assert stored[3] & 8 == 0, "no name of a file"
    assert len(stored) < 700_000
    assert len(gzip.decompress(stored).splitlines()) == 48843


def test_loading_takes_less_than_a_second(adult):
    start = time.perf_counter()
    load_adult()
    assert time.perf_counter() - start < 1


def test_the_declared_domain_holds_every_row(adult):
    for name, (low, high) in adult.schema.ranges.items():
        assert adult.frame[name].between(low, high).all(), name
    for name, categories in adult.schema.categories.items():
        assert set(adult.frame[name].dropna()) <= set(categories), name
        assert len(set(categories)) == len(categories)
    assert set(adult.frame["income"]) == set(adult.schema.classes)
    assert sorted(adult.schema.classes) == list(adult.schema.classes)
    assert {*adult.schema.ranges, *adult.schema.categories} == set(adult.X_train.columns)


def test_education_num_repeats_education(adult):
    assert (adult.frame.groupby("education")["education-num"].nunique() == 1).all()


def test_every_encoded_row_has_norm_at_most_one(adult):
    for columns in (None, list(adult.X_train.columns)):
        encoded = adult.encode(adult.frame, columns)
        norms = np.linalg.norm(encoded, axis=1)
        assert encoded.dtype == np.float64
        assert encoded.shape == (48842, len(adult.schema.feature_names(columns)))
        assert 0.9 < norms.mean() < norms.max() <= 1


def test_a_row_outside_of_every_range_still_has_norm_at_most_one(adult):
    rows = adult.X_train.head(4).copy()
    for name in adult.schema.ranges:
        rows[name] = [-1e300, 1e300, 0.0, 1e6]
    assert np.linalg.norm(adult.encode(rows, list(rows.columns)), axis=1).max() <= 1


def test_the_encoding_looks_at_one_row_at_a_time(adult):
    rows = adult.X_train.head(50)
    together = adult.encode(rows)
    alone = np.vstack([adult.encode(rows.iloc[[i]]) for i in range(50)])
    np.testing.assert_array_equal(together, alone)


def test_the_encoding_agrees_with_scikit_learn_tools_given_the_same_schema(adult):
    schema, rows = adult.schema, adult.X_train.head(3000)
    plain = ["education-num", "hours-per-week"]
    scaled = PublicRangeScaler({c: schema.ranges[c] for c in plain}).fit_transform(rows[plain])
    kinds = [c for c in schema.categories if c in schema.encoded]
    indicators = OneHotEncoder(
        categories=[list(schema.categories[c]) for c in kinds],
        handle_unknown="ignore",
        sparse_output=False,
    ).fit_transform(rows[kinds])
    expected = dict(zip(plain, scaled.T, strict=True))
    names = [f"{c}={v}" for c in kinds for v in schema.categories[c]]
    expected |= dict(zip(names, indicators.T, strict=True))
    for amount in ("capital-gain", "capital-loss"):
        expected[amount] = np.log1p(rows[amount].to_numpy()) / np.log(1e5)
    expected["age"] = (rows["age"].to_numpy() - 53.5) / 36.5
    expected["age^2"] = 2 * expected["age"] ** 2 - 1
    features = np.stack([expected[name] for name in adult.feature_names], axis=1) / 2
    features /= np.maximum(1, np.linalg.norm(features, axis=1, keepdims=True))
    np.testing.assert_allclose(adult.encode(rows), features, atol=1e-9)


def test_missing_undeclared_and_reference_values_are_all_zeros(adult):
    rows = adult.X_train.head(3).copy()
    rows["workclass"] = ["Private", None, "Astronaut"]
    places = [i for i, n in enumerate(adult.feature_names) if n.startswith("workclass=")]
    assert len(places) == 7
    assert not adult.encode(rows)[:, places].any()


def test_a_polars_frame_is_encoded_alike(adult):
    rows = adult.X_train.head(20)
    assert rows["native-country"].isna().any()
    cells = rows.astype(object).where(rows.notna(), None)
    as_polars = pl.DataFrame({name: cells[name].tolist() for name in rows.columns})
    np.testing.assert_array_equal(adult.encode(as_polars), adult.encode(rows))


def test_encoded_returns_the_parts_in_the_order_of_train_test_split(adult):
    X_train, X_test, y_train, y_test = adult.encoded()
    np.testing.assert_array_equal(X_train[:9], adult.encode(adult.X_train.head(9)))
    np.testing.assert_array_equal(X_test[:9], adult.encode(adult.X_test.head(9)))
    assert y_train.tolist() == adult.y_train.tolist()
    assert y_test.tolist() == adult.y_test.tolist()


@pytest.mark.parametrize("cell", ["secretive", np.nan, np.inf, None])
def test_a_bad_number_is_refused_without_quoting_it(adult, cell):
    rows = adult.X_train.head(2).copy()
    rows["age"] = pd.Series([31, cell], dtype=object)
    with pytest.raises(ValueError, match="'age' must hold finite numbers") as refusal:
        adult.encode(rows)
    assert "secretive" not in f"{refusal.value!r} {refusal.value.__context__!r}"


def test_absent_and_unknown_columns_are_refused(adult):
    with pytest.raises(ValueError, match=r"lacks the columns \['age'\]"):
        adult.encode(adult.X_train.drop(columns="age"))
    with pytest.raises(ValueError, match="columns must be some of"):
        adult.encode(adult.X_train, ["age", "income"])
    with pytest.raises(ValueError, match="columns must be some of"):
        adult.encode(adult.X_train, [])
