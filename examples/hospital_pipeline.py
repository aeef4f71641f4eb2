"""From a hospital's raw table to a private model: one pipeline, one budget, one ledger.

The table is made up. What is declared below is from documentation and from what is possible at
all, never from the rows: types, ranges, categories, labels.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skdp.linear_model import SparseDPSGDClassifier
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import PrivateStandardScaler, RowNormClipper
from skdp.privacy import InMemoryLedger, Neighbours

# A reader that infers types lets one cell decide them: one "n/a" turns a column of numbers to text.
TYPES = {"age": float, "creatinine": float, "crp": float, "ward": str, "readmitted": int}
MEASURED = ["age", "creatinine", "crp"]
UPPER = np.array([100.0, 1000.0, 1000.0])  # years, umol/l, mg/l: an honest power of ten will do
WARDS = ["surgery", "medicine", "geriatrics", "obstetrics"]


def write_table(path: Path, n: int = 4000) -> None:
    """Write a synthetic table; the older, the worse the kidneys, the likelier a readmission."""
    rng = np.random.default_rng(0)
    age = rng.uniform(18, 95, n)
    creatinine = np.exp(rng.normal(4.4, 0.4, n))
    crp = np.exp(rng.normal(2.0, 1.0, n))
    risk = 0.08 * (age - 60) + 3 * (np.log(creatinine) - 4.4) + 0.8 * (np.log(crp) - 2)
    table = pd.DataFrame(
        {
            "age": age.round(),
            "creatinine": creatinine.round(1),
            "crp": np.where(rng.uniform(size=n) < 0.05, np.nan, crp.round(1)),
            "ward": rng.choice(WARDS, n),
            "readmitted": (risk + rng.logistic(size=n) > 0).astype(int),
        }
    )
    table.to_csv(path, index=False)


def hospital_pipeline(ledger: InMemoryLedger):
    """Return the unfitted pipeline; of its steps the scaler and the classifier spend."""
    measured = make_pipeline(
        SimpleImputer(strategy="constant", fill_value=5.0, keep_empty_features=True),
        PrivateStandardScaler((0.0, UPPER), clip=1.0),
    )
    wards = OneHotEncoder(categories=[WARDS], handle_unknown="ignore", sparse_output=False)
    return make_private_pipeline(
        make_column_transformer((measured, MEASURED), (wards, ["ward"]), sparse_threshold=0),
        RowNormClipper(2.0),
        SparseDPSGDClassifier(classes=[0, 1]),
        epsilon=1.0,
        delta=1e-5,
        ledger=ledger,
    )


def main() -> None:
    """Read, fit, and say what was spent and promised."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "admissions.csv"
        write_table(path)
        table = pd.read_csv(path, dtype=TYPES)
    patients, later = table[:3000], table[3000:]
    ledger = InMemoryLedger(2.0, 1e-4, Neighbours.ZERO_OUT)

    model = hospital_pipeline(ledger).fit(patients.drop(columns="readmitted"), patients.readmitted)
    print(model.check_)
    for entry in ledger.history:
        print(f"{entry.purpose}: epsilon {entry.statement.epsilon:g}")
    accuracy = model.score(later.drop(columns="readmitted"), later.readmitted)
    print(f"accuracy on 1,000 later patients, who are not protected here: {accuracy:.2f}")
    print(f"left in the ledger: {ledger.remaining}")
    print(model.privacy_.explain())


if __name__ == "__main__":
    main()
