"""Processes that race for a ledger's last epsilon, some of them killed, never overspend."""

import multiprocessing
import os
import signal
import threading
import time

import numpy as np
import pytest

from skdp.exceptions import BudgetExceededError
from skdp.linear_model import PrivateElasticNetClassifier
from skdp.privacy import PrivacyBudget, PrivacyLedger

EACH, CAP = 0.01, 1.0


def race(path, start, admitted):
    start.wait()
    ledger = PrivacyLedger.open(path)
    while True:
        try:
            ledger.spend_budget(
                PrivacyBudget(EACH), purpose=f"{os.getpid()}", neighbours="replace-one"
            )
        except BudgetExceededError:
            return
        admitted.put(os.getpid())


def test_sixteen_processes_of_which_some_are_killed_never_overspend(tmp_path):
    path = tmp_path / "ledger.db"
    ledger = PrivacyLedger.create(path, CAP, filter="basic")
    context = multiprocessing.get_context("fork")
    start, admitted = context.Event(), context.SimpleQueue()
    # A writer that is killed may hold the lock of a shared queue, so the victims have their own.
    own = [context.SimpleQueue() for _ in range(4)]
    queues = [own[n] if n < 4 else admitted for n in range(16)]
    runners = [context.Process(target=race, args=(path, start, queue)) for queue in queues]
    for runner in runners:
        runner.start()
    start.set()
    deadline = time.monotonic() + 30
    while ledger.share < 0.1 and time.monotonic() < deadline:
        time.sleep(0.002)
    for victim in runners[:4]:
        os.kill(victim.pid, signal.SIGKILL)
    for runner in runners:
        runner.join(60)
    assert [runner.exitcode for runner in runners[4:]] == [0] * 12
    assert all(runner.exitcode in (0, -signal.SIGKILL) for runner in runners[:4])
    assert ledger.verify() == 100
    assert ledger.remaining().epsilon == 0
    survivors = 0
    while not admitted.empty():
        admitted.get()
        survivors += 1
    entries = ledger.history()["purpose"].astype(int)
    assert survivors == entries.isin([runner.pid for runner in runners[4:]]).sum()


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
