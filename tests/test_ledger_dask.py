"""Workers of dask reach the ledger that they were sent."""

import numpy as np
import pytest

from skdp.exceptions import BudgetExceededError
from skdp.linear_model import PrivateElasticNetClassifier
from skdp.privacy import PrivacyLedger

distributed = pytest.importorskip("distributed", reason="dask's distributed is not installed")


@pytest.mark.filterwarnings("default")
def test_workers_of_dask_reach_the_same_file(tmp_path):
    ledger = PrivacyLedger.create(tmp_path / "ledger.db", 1.0, filter="basic")
    X, y = np.eye(20, 3), np.arange(20) % 2

    def fit(given, epsilon):
        return PrivateElasticNetClassifier(
            epsilon=epsilon, delta=0.0, classes=[0, 1], ledger=given
        ).fit(X, y)

    cluster = distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        by_handle = client.submit(fit, ledger, 0.25)
        by_path = client.submit(fit, str(tmp_path / "ledger.db"), 0.125)
        assert by_handle.result().ledger.path == ledger.path
        by_path.result()
        # dask runs equal calls once, so these differ a little.
        asked = [client.submit(fit, ledger, 0.25 + 1e-9 * n) for n in range(1, 9)]
        distributed.wait(asked)
        refused = [future.exception() for future in asked if future.status == "error"]
    assert ledger.verify() == 4
    assert [type(error) for error in refused] == [BudgetExceededError] * 6
    assert ledger.remaining().epsilon == pytest.approx(0.125, abs=1e-6)
