"""The stream of random words: where its key comes from, and who never gets it."""

import copy
import pickle
import subprocess
import sys
import time

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from skdp._random import RandomSource

FORKING = """
import os
from skdp._random import RandomSource

def from_child(source):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, source.words(4).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    return os.read(read, 64)

system, seeded = RandomSource.from_system(), RandomSource.from_seed(1)
system.words(1)
first, second, parent = from_child(system), from_child(system), system.words(4).tobytes()
assert len(first) == 32 and len({first, second, parent}) == 3
assert from_child(seeded) == seeded.words(4).tobytes()
print("separate")
"""


def test_words_are_the_aes_counter_keystream():
    key = bytes(range(32))
    block_cipher = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    sizes = (1, 2, 0, 4, 8191, 8192, 8193, np.uint8(100), np.int16(5000), 100_000, 3)
    counters = b"".join(i.to_bytes(16, "big") for i in range(sum(map(int, sizes)) // 2))
    expected = np.frombuffer(block_cipher.update(counters), dtype="<u8")
    source = RandomSource(key)
    parts = [source.words(n) for n in sizes]  # kept: none is written over by the next
    np.testing.assert_array_equal(np.concatenate(parts), expected)


@pytest.mark.parametrize(("n", "error"), [(-1, ValueError), (-9, ValueError), (1.0, TypeError)])
def test_only_counts_are_numbers_of_words(n, error):
    with pytest.raises(error):
        RandomSource.from_system().words(n)


@pytest.mark.parametrize("seed", [0, 7, 2**40])
def test_an_integer_gives_the_same_stream_each_time_whatever_its_type(seed):
    expected = RandomSource.from_seed(seed).words(6)
    np.testing.assert_array_equal(RandomSource.from_seed(np.int64(seed)).words(6), expected)
    assert not np.array_equal(RandomSource.from_seed(seed + 1).words(6), expected)


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_a_generator_object_is_advanced_and_reproducible(make):
    state = make(3)
    first, second = RandomSource.from_seed(state), RandomSource.from_seed(state)
    again = RandomSource.from_seed(make(3))
    words = first.words(6)
    np.testing.assert_array_equal(again.words(6), words)
    assert not np.array_equal(second.words(6), words)


@pytest.mark.parametrize("wrong", [None, True, np.True_, 1.0, "1", b"key", [1], np.array([1])])
def test_other_seeds_are_refused(wrong):
    with pytest.raises(TypeError, match="random_state must be"):
        RandomSource.from_seed(wrong)


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError, match="at least 0"):
        RandomSource.from_seed(-1)


def test_no_state_means_the_system_and_a_state_is_recorded():
    assert not RandomSource.for_state(None).seeded
    assert RandomSource.for_state(0).seeded
    first, second = RandomSource.from_system(), RandomSource.from_system()
    assert not np.array_equal(first.words(4), second.words(4))


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda source: pickle.loads(pickle.dumps(source))]
)
def test_a_copy_of_a_system_source_has_another_key(duplicate):
    source = RandomSource.from_system()
    twin = duplicate(source)
    assert not twin.seeded
    assert not np.array_equal(twin.words(4), source.words(4))


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_seeded_source_refuses_to_be_copied_or_pickled(duplicate):
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        duplicate(RandomSource.from_seed(0))


def test_no_key_is_stored_or_shown():
    key = bytes(range(32))
    source = RandomSource(key)
    stored = [getattr(source, name) for name in RandomSource.__slots__]
    assert not any(isinstance(value, bytes) for value in stored)
    assert not hasattr(source, "__dict__")
    assert repr(source) == "<RandomSource with a seed>"
    assert repr(RandomSource.from_system()) == "<RandomSource of the system>"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_a_forked_child_draws_its_own_key_unless_seeded():
    ran = subprocess.run(
        [sys.executable, "-c", FORKING], capture_output=True, text=True, check=False
    )
    assert ran.stdout == "separate\n", ran.stderr


def test_a_generator_follows_from_the_stream():
    first, second = RandomSource.from_seed(5), RandomSource.from_seed(5)
    assert first.generator().integers(2**60) == second.generator().integers(2**60)
    assert first.generator().integers(2**60) != RandomSource.from_seed(5).generator().integers(
        2**60
    )


def test_the_words_cannot_be_overwritten():
    with pytest.raises(ValueError, match="read-only"):
        RandomSource.from_system().words(2)[0] = 0


def test_making_a_source_is_cheap():
    def seconds():
        start = time.perf_counter()
        for _ in range(100):
            RandomSource.from_system()
        return (time.perf_counter() - start) / 100

    assert min(seconds() for _ in range(10)) < 50e-6
