"""Processes that race for a ledger's last epsilon, some of them killed, never overspend."""

import multiprocessing
import os
import signal
import threading

import numpy as np
import pytest

from skdp.linear_model import PrivateElasticNetClassifier
from skdp.privacy import PrivacyBudget, PrivacyLedger
from tests.support.ledger_race import EACH, refute_overspending

CAP = 1.0


def test_sixteen_processes_of_which_some_are_killed_never_overspend(tmp_path):
    refute_overspending(tmp_path / "ledger.db", CAP)


def test_threads_and_a_fork_share_one_file(tmp_path):
    ledger = PrivacyLedger.create(tmp_path / "ledger.db", CAP, filter="basic")

    def spend():
        for _ in range(5):
            ledger.spend_budget(PrivacyBudget(EACH), purpose="x", neighbours="replace-one")

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    forked = multiprocessing.get_context("fork").Process(target=spend)
    forked.start()
    forked.join(60)
    assert ledger.remaining().epsilon == 0.75
    assert ledger.verify() == 25


def fit_and_die(path):
    X, y = np.eye(20, 3), np.arange(20) % 2

    model = PrivateElasticNetClassifier(epsilon=0.25, delta=0.0, classes=[0, 1], ledger=path)
    original = PrivacyLedger.spend

    def spend_then_die(self, *args, **kwargs):
        original(self, *args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)

    PrivacyLedger.spend = spend_then_die
    model.fit(X, y)


def test_a_crash_between_the_spending_and_the_release_costs_budget(tmp_path):
    path = str(tmp_path / "ledger.db")
    ledger = PrivacyLedger.create(path, CAP, filter="basic")
    process = multiprocessing.get_context("fork").Process(target=fit_and_die, args=(path,))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert ledger.remaining().epsilon == 0.75
    assert ledger.verify() == 1


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_workers_of_joblib_reach_the_same_file(tmp_path, backend):
    from joblib import Parallel, delayed

    ledger = PrivacyLedger.create(tmp_path / "ledger.db", CAP, filter="basic")
    spend = delayed(ledger.spend_budget)
    Parallel(2, backend=backend)(
        spend(PrivacyBudget(0.125), purpose="x", neighbours="replace-one") for _ in range(4)
    )
    assert ledger.remaining().epsilon == 0.5
