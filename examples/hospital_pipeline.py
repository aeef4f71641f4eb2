"""From a hospital's raw CSV to a private model: one pipeline, one budget, one ledger in a file.

The table is made up. What is declared below is from documentation and from what is possible at
all, never from the rows: types, ranges, wards, labels. Which diagnoses there are nobody can
declare: one is so rare that its name would give a patient away. An encoder pays to find those that
many patients share.
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
from skdp.pipeline import PrivatePipeline, make_private_pipeline
from skdp.preprocessing import PrivateOneHotEncoder, PrivateStandardScaler, RowNormClipper
from skdp.privacy import PrivacyLedger
from skdp.reporting import write_report

# A reader that infers types lets one cell decide them: one "n/a" turns a column of numbers to text.
TYPES = {
    "age": float, "creatinine": float, "crp": float, "ward": str, "diagnosis": str,
    "readmitted": int,
}  # fmt: skip
MEASURED = ["age", "creatinine", "crp"]
UPPER = np.array([100.0, 1000.0, 1000.0])  # years, umol/l, mg/l: an honest power of ten will do
WARDS = ["surgery", "medicine", "geriatrics", "obstetrics"]


def write_table(path: Path, n: int = 4000) -> None:
    """Write a synthetic table; the older, the worse the kidneys, the likelier a readmission."""
    rng = np.random.default_rng(0)
    age = rng.uniform(18, 95, n)
    creatinine = np.exp(rng.normal(4.4, 0.4, n))
    crp = np.exp(rng.normal(2.0, 1.0, n))
    diagnosis = rng.choice(["I10", "E11", "J44", "N18"], n, p=[0.4, 0.3, 0.2, 0.1])
    diagnosis[7] = "E75.2"  # of this patient alone
    risk = 0.08 * (age - 60) + 3 * (np.log(creatinine) - 4.4) + 0.8 * (np.log(crp) - 2)
    risk += 2 * (diagnosis == "J44")
    table = pd.DataFrame(
        {
            "age": age.round(),
            "creatinine": creatinine.round(1),
            "crp": np.where(rng.uniform(size=n) < 0.05, np.nan, crp.round(1)),
            "ward": rng.choice(WARDS, n),
            "diagnosis": diagnosis,
            "readmitted": (risk + rng.logistic(size=n) > 0).astype(int),
        }
    )
    table.to_csv(path, index=False)


def hospital_pipeline(ledger: Path) -> PrivatePipeline:
    """Return the unfitted pipeline; of its steps a scaler, an encoder and the classifier spend."""
    measured = make_pipeline(
        SimpleImputer(strategy="constant", fill_value=5.0, keep_empty_features=True),
        PrivateStandardScaler((0.0, UPPER), clip=1.0),
    )
    wards = OneHotEncoder(categories=[WARDS], handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer(
        (measured, MEASURED),
        (wards, ["ward"]),
        (PrivateOneHotEncoder(), ["diagnosis"]),
        sparse_threshold=0,
    )
    return make_private_pipeline(
        columns,
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
        # Whoever works on these patients, in any process, spends from this file.
        ledger = PrivacyLedger.create(
            Path(folder) / "admissions.db",
            epsilon=2.0,
            delta=1e-4,
            neighbours="zero-out",
            filter="basic",
            dataset="admissions",
        )
        model = hospital_pipeline(ledger.path)
        model.fit(patients.drop(columns="readmitted"), patients.readmitted)

        print(model.check_)
        print(ledger.history()[["purpose", "epsilon"]].to_string(index=False))
        print(f"diagnoses that show: {list(model[0].transformers_[2][1].categories_[0])}")
        accuracy = model.score(later.drop(columns="readmitted"), later.readmitted)
        print(f"accuracy on 1,000 later patients, who are not protected here: {accuracy:.2f}")
        print(f"left in the ledger: {ledger.remaining()}")
        report = Path(folder) / "report.html"
        write_report(model.privacy_, report, estimator=model, ledger=ledger)
        print(f"a report of {report.stat().st_size:,} bytes for who must approve of it")
        print(model.privacy_.explain())


if __name__ == "__main__":
    main()
