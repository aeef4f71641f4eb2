"""A private classifier on a table of one's own, from raw columns to a budget that is spent.

Measurements and a category of patients stand for your table. Everything that the guarantee
rests on is written down here, from what is known about the columns, before the data is looked at:
ranges, categories, classes, the budget.
"""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skdp.linear_model import PrivateElasticNetClassifier
from skdp.preprocessing import PublicRangeScaler
from skdp.privacy import InMemoryLedger

# Declared from the description of the measurements; values outside are clipped.
RANGES = {
    "worst radius": (5, 40),
    "worst texture": (10, 50),
    "worst smoothness": (0.05, 0.25),
    "worst concave points": (0, 0.3),
}
# A category that is not listed becomes all zeros.
CLINICS = ["north", "south"]


def patients() -> tuple[pd.DataFrame, np.ndarray]:
    """Real tumours (UCI, Wolberg et al. 1995) with a made-up clinic."""
    data = load_breast_cancer(as_frame=True)
    frame = data.data[list(RANGES)].assign(clinic=np.resize(CLINICS, len(data.data)))
    return frame, data.target.to_numpy()


def main() -> None:
    """Fit within a budget, say what it means, and export the model."""
    frame, benign = patients()
    train, test, y_train, y_test = train_test_split(frame, benign, random_state=0)
    clinics = OneHotEncoder(categories=[CLINICS], handle_unknown="ignore", sparse_output=False)
    encode = make_column_transformer(
        (PublicRangeScaler(bounds=RANGES), list(RANGES)),
        (clinics, ["clinic"]),
    )
    ledger = InMemoryLedger(epsilon=4.0, delta=1e-5)
    model = PrivateElasticNetClassifier(
        epsilon=3.0, delta=1e-6, l1_ratio=0.0, row_norm=1.5, classes=[0, 1], ledger=ledger
    )
    pipeline = make_pipeline(encode, model).fit(train, y_train)
    print(f"accuracy on {len(test)} held-out rows: {pipeline.score(test, y_test):.2f}")
    print(f"left in the ledger: {ledger.remaining()}")
    print(model.privacy_.explain())
    plain = model.to_sklearn()  # no skdp is needed to read its weights
    print(f"exported: {plain[-1]}")


if __name__ == "__main__":
    main()
