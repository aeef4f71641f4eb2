"""Processes that race for the last epsilon of a ledger, some of them killed."""

import multiprocessing
import os
import signal
import time

from skdp.exceptions import BudgetExceededError
from skdp.privacy import PrivacyBudget, PrivacyLedger

EACH = 0.01


def spend_until_refused(path, start, admitted):
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


def refute_overspending(path, cap):
    """Let 16 processes spend a cap of 1 in hundredths; 4 of them are killed in the middle."""
    ledger = PrivacyLedger.create(path, cap, filter="basic")
    context = multiprocessing.get_context("fork")
    start, admitted = context.Event(), context.SimpleQueue()
    # A writer that is killed may hold the lock of a shared queue, so the victims have their own.
    own = [context.SimpleQueue() for _ in range(4)]
    queues = [own[n] if n < 4 else admitted for n in range(16)]
    runners = [
        context.Process(target=spend_until_refused, args=(path, start, queue)) for queue in queues
    ]
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
    assert ledger.verify() == round(cap / EACH)
    assert ledger.remaining().epsilon == 0
    survivors = 0
    while not admitted.empty():
        admitted.get()
        survivors += 1
    entries = ledger.history()["purpose"].astype(int)
    assert survivors == entries.isin([runner.pid for runner in runners[4:]]).sum()
