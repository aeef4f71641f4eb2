"""The data sets of the comparison of linear models, in encodings that are public.

Rows have norm at most 1; classes are 0, 1, ..., labels of a regression in [-1, 1]. Bounds, codes
and categories come from the documentation of a data set, never from its rows.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.model_selection import train_test_split

from benchmarks import data
from benchmarks.utility.ridge import diabetes, diamonds
from skdp.preprocessing import RowNormClipper

CENSUS_ROWS = 60_000
#: Of the numeric columns of Census-Income (KDD), rounded outwards; heavy ones on a log scale.
CENSUS_RANGES = {
    "age": 90, "wage_per_hour": 9999, "capital_gains": 99_999, "capital_losses": 4608,
    "dividends": 99_999, "num_persons_worked_for_employer": 6, "weeks_worked": 52,
}  # fmt: skip
CENSUS_LOGARITHMS = {"wage_per_hour", "capital_gains", "capital_losses", "dividends"}
CENSUS_CODES = {
    "own_business_or_self_employed": range(3), "veterans_benefits": range(3), "year": (94, 95),
}  # fmt: skip
CENSUS_CATEGORIES = (
    "class_of_worker", "education", "enrolled_in_edu_inst", "marital_status",
    "major_industry_code", "major_occupation_code", "race", "hispanic_origin", "sex",
    "member_of_labor_union", "reason_for_unemployment", "full_or_part_time", "tax_filer_status",
    "household_summary", "family_members_under_18", "citizenship",
)  # fmt: skip
ACS_NUMBERS = {"AGEP": 99, "NOC": 19, "NPF": 20}
ACS_CODES = (
    "SEX", "MSP", "HISP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "INDP_CAT", "EDU", "DVET", "DREM",
    "DPHY", "DEYE", "DEAR",
)  # fmt: skip
STUDENT_NUMBERS = {
    "age": (15, 22), "Medu": (0, 4), "Fedu": (0, 4), "traveltime": (1, 4), "studytime": (1, 4),
    "failures": (0, 4), "famrel": (1, 5), "freetime": (1, 5), "goout": (1, 5), "Dalc": (1, 5),
    "Walc": (1, 5), "health": (1, 5), "absences": (0, 93), "G1": (0, 20), "G2": (0, 20),
}  # fmt: skip
STUDENT_CODES = {
    "school": "GP MS", "sex": "F M", "address": "U R", "famsize": "LE3 GT3", "Pstatus": "T A",
    "Mjob": "teacher health services at_home other",
    "Fjob": "teacher health services at_home other",
    "reason": "home reputation course other", "guardian": "mother father other",
    "schoolsup": "yes no", "famsup": "yes no", "paid": "yes no", "activities": "yes no",
    "nursery": "yes no", "higher": "yes no", "internet": "yes no", "romantic": "yes no",
}  # fmt: skip


@dataclass(frozen=True)
class Task:
    """One data set; `n_classes` is 0 for a regression."""

    name: str
    X: Any
    y: np.ndarray
    n_classes: int

    def split(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return places of training and test rows: 70 % and 30 %, of a regression 80 % and 20 %."""
        places = np.arange(len(self.y))
        share, strata = (0.3, self.y) if self.n_classes else (0.2, None)
        train, test = train_test_split(places, test_size=share, stratify=strata, random_state=seed)
        return train, test


def tasks(only: str, diamonds_file: str | None = None) -> Iterator[Task]:
    """Yield the data sets that `only` names, by commas; all of them for an empty string."""
    folder = Path(os.environ.get("SKDP_DATA", ""))
    makers = {
        **{name: lambda name=name: _of(data.SHIPPED[name]()) for name in data.SHIPPED},
        **{
            name: lambda name=name: _of(data.FROM_FOLDER[name](folder)) for name in data.FROM_FOLDER
        },
        "a9a": lambda: a9a(folder),
        "fashion_mnist": lambda: fashion_mnist(folder),
        "census_income_kdd": lambda: census(folder),
        "nist_acs_national": lambda: acs(folder),
        "student_por": lambda: student(folder),
        "diabetes": lambda: _regression(diabetes()),
    }
    if diamonds_file:
        makers["diamonds"] = lambda: _regression(diamonds(Path(diamonds_file)))
    for name in only.split(",") if only else makers:
        yield makers[name]()


def a9a(folder: Path) -> Task:
    """48,842 people, 123 indicators of which each has 14 at most."""
    with np.load(folder / "a9a.npz") as stored:
        X = sparse.csr_matrix(
            (stored["data"], stored["indices"], stored["indptr"]), shape=stored["shape"]
        )
        y = stored["y"]
    return _task("a9a", X.astype(float) / np.sqrt(14), y > 0, 2)


def fashion_mnist(folder: Path) -> Task:
    """10,000 pictures of clothes, 28 x 28 pixels, ten kinds."""
    with np.load(folder / "fashion_mnist_t10k.npz") as stored:
        return _task("fashion_mnist", stored["X"] / 255.0, stored["y"], 10)


def census(folder: Path) -> Task:
    """The first 60,000 of 299,285 people; columns of more than 24 categories are left out."""
    frame = pd.read_parquet(folder / "census_income_kdd.parquet").iloc[:CENSUS_ROWS]
    parts = []
    for name, largest in CENSUS_RANGES.items():
        column = frame[name].to_numpy(dtype=float)
        if name in CENSUS_LOGARITHMS:
            column, largest = np.log1p(column), np.log1p(largest)
        parts.append(np.clip(column / largest, 0, 1))
    parts += [frame[name] == code for name, codes in CENSUS_CODES.items() for code in codes]
    for name in CENSUS_CATEGORIES:
        parts += [frame[name] == code for code in frame[name].cat.categories]
    X = np.column_stack(parts).astype(float) / np.sqrt(19 + len(CENSUS_RANGES))
    return _task("census_income_kdd", X, frame["income"].astype(str).str.startswith("50000"), 2)


def acs(folder: Path) -> Task:
    """People of 15 and more, and whether their income is in the upper half of their state's."""
    documented = json.loads((folder / "nist_acs_data_dictionary.json").read_text())
    frame = pd.read_csv(folder / "nist_acs_national2019.csv.gz", dtype=str, na_filter=False)
    frame = frame[frame["PINCP_DECILE"] != "N"]
    parts = []
    for name, largest in ACS_NUMBERS.items():
        parts.append(pd.to_numeric(frame[name].replace("N", "0")) / largest)
    density = pd.to_numeric(frame["DENSITY"])
    parts.append(np.log(density / 16.3) / np.log(52_864.7 / 16.3))
    for name in ACS_CODES:
        parts += [frame[name] == code for code in documented[name]["values"]]
    X = np.column_stack([np.asarray(part, dtype=float) for part in parts])
    return _task("nist_acs_national", X / np.sqrt(17), frame["PINCP_DECILE"].astype(int) >= 5, 2)


def student(folder: Path) -> Task:
    """649 pupils, their grades before, and the last one of 0 to 20."""
    frame = pd.read_csv(folder / "student_por.csv.gz")
    parts = [
        2 * (frame[name] - low) / (high - low) - 1 for name, (low, high) in STUDENT_NUMBERS.items()
    ]
    parts += [
        frame[name] == code for name, codes in STUDENT_CODES.items() for code in codes.split()
    ]
    X = np.column_stack([np.asarray(part, dtype=float) for part in parts])
    return _task("student_por", X, frame["G3"].to_numpy() / 10 - 1, 0)


def _of(problem: data.Problem) -> Task:
    return Task(problem.name, problem.X, problem.y, problem.n_classes)


def _regression(problem: Any) -> Task:
    return Task(problem.name, problem.X, problem.y, 0)


def _task(name: str, X: Any, y: Any, n_classes: int) -> Task:
    rows = RowNormClipper(row_norm=1.0).fit_transform(X)
    return Task(name, rows, np.asarray(y, dtype=int if n_classes else float), n_classes)
