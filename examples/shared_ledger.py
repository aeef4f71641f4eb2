"""A team shares one budget: colleagues in processes of their own spend from the same ledger.

Each of two colleagues fits a model of the same patients, at the same time and without knowing
of the other. The ledger is a file here; for people on several machines it is the address of a
PostgreSQL server, "postgresql://team@host/database?ledger=patients". A third is refused.

Usage: python examples/shared_ledger.py
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from sklearn.datasets import load_breast_cancer

from skdp.exceptions import BudgetExceededError
from skdp.linear_model import PrivateElasticNetClassifier
from skdp.preprocessing import PublicRangeScaler
from skdp.privacy import PrivacyLedger

# Declared from the description of the measurements; values outside are clipped.
RANGES = {
    "mean radius": (5, 30),
    "mean concave points": (0, 0.25),
    "worst radius": (5, 40),
    "worst concave points": (0, 0.3),
}


def fitted(name, ledger):
    """Return a colleague's model; what it costs is entered before a patient is looked at."""
    data = load_breast_cancer(as_frame=True)
    rows = PublicRangeScaler(bounds=RANGES).fit_transform(data.data[list(RANGES)])
    model = PrivateElasticNetClassifier(epsilon=2.0, delta=0.0, classes=[0, 1], ledger=ledger)
    with ledger.experiment(name):
        return model.fit(rows, data.target.to_numpy())


def main() -> None:
    """Let colleagues spend, show what they spent, and refuse what is too much."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "patients.db"
        ledger = PrivacyLedger.create(
            path, epsilon=5.0, delta=1e-6, filter="basic", dataset="patients of 1995"
        )
        colleagues = [
            subprocess.Popen([sys.executable, __file__, name, str(path)]) for name in ("Ada", "Ben")
        ]
        assert [colleague.wait(120) for colleague in colleagues] == [0, 0]
        history = ledger.history()[["experiment", "estimator", "epsilon", "share"]]
        print(history.sort_values("experiment").drop(columns="share").to_string(index=False))
        print(f"left in the ledger: {ledger.remaining()}")
        try:
            fitted("Cho", ledger)
        except BudgetExceededError as refused:
            print(f"Cho is refused: {refused}")
        print(f"{ledger.verify()} entries, all of them as they were written")
        print(f"guaranteed whatever they did: {ledger.spent().guarantee}")
        last = PrivateElasticNetClassifier(epsilon=1.0, delta=0.0, classes=[0, 1], ledger=path)
        data = load_breast_cancer()
        last.fit(data.data[:, :4] / 2000, data.target)
        print(last.privacy_.explain())


if __name__ == "__main__":
    if len(sys.argv) == 3:
        fitted(sys.argv[1], PrivacyLedger.open(sys.argv[2]))
    else:
        main()
