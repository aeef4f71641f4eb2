"""A bundle belongs to the block that opened it, and to the workers that are given its handle."""

import asyncio
import contextvars
import multiprocessing
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from dp_accounting import dp_event
from joblib import Parallel, delayed, parallel_config
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from skdp.exceptions import PrivacyError, UnsupportedEventError
from skdp.linear_model import PrivateElasticNetClassifier
from skdp.privacy import PrivacyBudget, PrivacyLedger
from skdp.privacy.events import GaussianReleaseDpEvent
from tests.support.pure_statement import pure_statement

X, Y = np.eye(60, 3), np.arange(60) % 2
BACKENDS = ["threading", pytest.param("loky", marks=pytest.mark.slow)]
ONE = pure_statement(0.125)


@pytest.fixture
def ledger(tmp_path):
    return PrivacyLedger.create(tmp_path / "ledger.db", 100.0, 1e-5, filter="basic")


def take(ledger, purpose="fit"):
    ledger.spend(ONE, purpose=purpose)


def in_a_thread(action):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(action).result()


def statuses(ledger):
    return ledger.history()["status"].value_counts().to_dict()


def fits(ledger, count, rows=40):
    """Return a model that spends from a ledger, and what as many fits of it promise."""
    model = PrivateElasticNetClassifier(classes=[0, 1], delta=0.0, epsilon=0.5)
    statement = clone(model).fit(X[:rows], Y[:rows]).privacy_
    return model.set_params(ledger=ledger), [statement] * count


class TestOtherThreads:
    def test_they_are_neither_refused_nor_take_from_it(self, ledger):
        with ledger.bundle([ONE]):
            in_a_thread(lambda: take(ledger, "equal"))
            in_a_thread(lambda: ledger.spend(pure_statement(0.25), purpose="another"))
            in_a_thread(lambda: take(PrivacyLedger.open(ledger.path), "by path"))
            in_a_thread(lambda: take(clone(ledger), "clone"))
            assert not in_a_thread(lambda: ledger.in_bundle)
            take(ledger)
            with pytest.raises(PrivacyError, match="not among"):
                take(ledger)
        assert statuses(ledger) == {"reserved": 1, "spent": 5}
        assert 100 - ledger.remaining().epsilon == 0.125 + 3 * 0.125 + 0.25
        assert ledger.verify() == 6

    def test_two_bundles_of_two_threads_are_apart(self, ledger):
        both = threading.Barrier(2, timeout=30)

        def block(epsilon):
            with ledger.bundle([pure_statement(epsilon)]):
                both.wait()
                ledger.spend(pure_statement(epsilon), purpose="fit")
                with pytest.raises(PrivacyError, match="not among"):
                    ledger.spend(pure_statement(epsilon), purpose="fit")
                both.wait()

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(block, [0.25, 0.5]))
        assert statuses(ledger) == {"reserved": 2, "spent": 2}
        assert ledger.verify() == 4

    def test_threads_that_are_given_its_handle_share_it(self, ledger):
        def some(reserved):
            made = 0
            for _ in range(3):
                try:
                    take(reserved)
                    made += 1
                except PrivacyError:
                    continue
            return made

        with ledger.bundle([ONE] * 10) as reserved, ThreadPoolExecutor(5) as pool:
            made = list(pool.map(some, [reserved] * 5))
        assert sum(made) == 10
        assert ledger.verify() == 11

    def test_a_thread_that_runs_in_the_context_of_the_block_is_in_it(self, ledger):
        with ledger.bundle([ONE]):
            inside = contextvars.copy_context()
            in_a_thread(lambda: inside.run(take, ledger))
        in_a_thread(lambda: inside.run(take, ledger))  # after the block: paid for on its own
        assert statuses(ledger) == {"reserved": 1, "spent": 2}
        assert 100 - ledger.remaining().epsilon == 0.25

    def test_tasks_of_one_thread_have_their_own(self, ledger):
        async def block():
            with ledger.bundle([ONE]):
                await asyncio.sleep(0.01)
                take(ledger)
                await asyncio.sleep(0.01)
                assert not ledger.can_afford(ONE)

        async def beside():
            await asyncio.sleep(0.005)
            take(ledger, "beside")

        async def all_of_them():
            await asyncio.gather(block(), block(), beside())

        asyncio.run(all_of_them())
        assert statuses(ledger) == {"reserved": 2, "spent": 3}
        assert 100 - ledger.remaining().epsilon == 3 * 0.125


class TestWorkers:
    @pytest.mark.parametrize("backend", BACKENDS)
    def test_a_grid_search_takes_the_bundle_to_its_workers(self, ledger, backend):
        model, statements = fits(ledger, 6)
        grid = {"random_state": [1, 2]}
        with ledger.bundle(statements), parallel_config(backend=backend, n_jobs=2):
            search = GridSearchCV(model, grid, cv=3, refit=False, error_score="raise").fit(X, Y)
            assert len(search.cv_results_["params"]) == 2
            assert not ledger.can_afford(statements[0])
        assert statuses(ledger) == {"reserved": 1, "spent": 6}
        assert ledger.verify() == 7

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_so_does_whatever_is_given_the_handle_of_the_block(self, ledger, backend):
        model, statements = fits(ledger, 12, rows=55)
        with ledger.bundle(statements) as reserved, parallel_config(backend=backend, n_jobs=2):
            model.set_params(ledger=reserved)
            cross_val_score(model, X, Y, cv=12, error_score="raise")
            with pytest.raises(PrivacyError, match="not among"):
                model.fit(X[:55], Y[:55])
        assert statuses(ledger) == {"reserved": 1, "spent": 12}
        model.fit(X, Y)  # after the block it is the ledger again
        assert ledger.verify() == 14

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_without_it_they_pay_again_rather_than_not_at_all(self, ledger, backend):
        with ledger.bundle([ONE] * 6):
            Parallel(2, backend=backend)(delayed(take)(ledger) for _ in range(6))
        entries = ledger.history()
        free = entries["bundle"].notna() & (entries["status"] == "spent")
        assert (entries["status"] == "spent").sum() == 6
        assert 100 - ledger.remaining().epsilon == 0.125 * (6 + 6 - free.sum())
        assert ledger.verify() == 7

    def test_a_pickle_of_the_block_never_spends_outside_of_it(self, ledger):
        with ledger.bundle([ONE]):
            sent = pickle.dumps(ledger)
        take(pickle.loads(sent))
        with pytest.raises(PrivacyError, match="not among"):
            take(pickle.loads(sent))
        assert 100 - ledger.remaining().epsilon == 0.125

    def test_a_fork_within_the_block_is_in_it(self, ledger):
        with ledger.bundle([ONE]):
            child = multiprocessing.get_context("fork").Process(target=take, args=(ledger,))
            child.start()
            child.join(60)
            assert child.exitcode == 0
            assert not ledger.can_afford(ONE)

    def test_a_clone_of_the_block_is_the_ledger_afterwards(self, ledger):
        with ledger.bundle([ONE], purpose="plan"), ledger.experiment("trial"):
            model = clone(PrivateElasticNetClassifier(classes=[0, 1], ledger=ledger))
            assert clone(model).ledger is model.ledger
            take(model.ledger)
        assert ledger.history()["experiment"].eq("trial").tolist() == [False, True]
        assert not model.ledger.in_bundle
        take(model.ledger)
        assert 100 - ledger.remaining().epsilon == 0.25


class TestAsking:
    def test_in_a_bundle_the_answer_is_what_is_left_of_it(self, ledger):
        with ledger.bundle([ONE, ONE]) as reserved:
            for left in (2, 1):
                assert ledger.can_afford(ONE) is True, left
                assert ledger.can_afford(ONE.event) is True
                take(ledger)
            for handle in (ledger, reserved):
                assert not handle.can_afford(ONE)
                assert not handle.can_afford(pure_statement(0.25))
                assert not handle.can_afford(PrivacyBudget(0.125))
            assert ledger.remaining().epsilon == 99.75
        assert ledger.can_afford(pure_statement(0.25))
        assert not ledger.can_afford(PrivacyBudget(100.0))

    def test_bundles_do_not_nest(self, ledger):
        with ledger.bundle([ONE]) as reserved:
            for handle in (ledger, reserved, clone(ledger)):
                with pytest.raises(PrivacyError, match="nest"):
                    handle.reserve([ONE])
        with ledger.bundle([ONE]):
            take(ledger)
        assert ledger.verify() == 3


def subset(neighbours="replace-one"):
    noisy = GaussianReleaseDpEvent(1.0, "l2", neighbours, 40.0)
    return dp_event.SampledWithoutReplacementDpEvent(1000, 100, noisy)


@pytest.mark.parametrize("filter", ["renyi", "zcdp"])
def test_what_has_no_price_of_its_own_is_priced_by_a_slice_and_made_from_it(tmp_path, filter):
    ledger = PrivacyLedger.create(tmp_path / "l.db", 3.0, 1e-5, filter=filter)
    with pytest.raises(UnsupportedEventError, match=r"reserve\(\[event\], delta=\.\.\.\)"):
        ledger.spend_event(subset(), purpose="epoch")
    with ledger.bundle([subset()] * 2, delta=1e-7):
        for _ in range(2):
            ledger.spend_event(subset(), purpose="epoch")
        with pytest.raises(PrivacyError, match="not among"):
            ledger.spend_event(subset(), purpose="epoch")
    assert ledger.verify() == 3
