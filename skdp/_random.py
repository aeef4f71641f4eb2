"""The only maker of randomness."""

import hashlib
import operator
import os
import random
from typing import Any, NoReturn, Self, final

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CTR

__all__ = ["NumpyGenerator", "RandomSource", "renewed"]

NumpyGenerator = np.random.Generator
Seed = int | np.integer[Any] | np.random.RandomState | np.random.Generator | None

_KEY_BYTES = 32
#: What is encrypted at a time, and words that the cipher wants room for beyond its result.
_ZEROS, _SPARE = memoryview(bytes(2**16)), 2
_SEED_DOMAIN = b"skdp random source, seeded: "
_SPAWN_DOMAIN = b"skdp random source, spawned: "


class _Process:
    """Counts forks, so that a child knows that its parent holds the same key."""

    generation = 0

    @classmethod
    def forked(cls) -> None:
        cls.generation += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Process.forked)


@final
class RandomSource:
    """A stream of random words: the AES-256 counter-mode keystream of a secret key.

    Made by one of the three class methods. The keystream is indistinguishable from uniform bits
    for whoever cannot break AES, so every guarantee that rests on it is a computational one.

    A source of the system draws its key from the operating system and draws another one in a
    forked child, in a copy and in an unpickled source: no key is ever stored, copied or shared.
    A source with a seed repeats itself, so it is for tests: whoever has the seed can subtract
    the noise. It refuses to be copied or pickled.

    One source is not to be used by two threads at the same time.

    Attributes
    ----------
    seeded : bool
        Whether the stream can be repeated by whoever knows the seed.

    Examples
    --------
    >>> from skdp._random import RandomSource
    >>> RandomSource.from_system().words(3).dtype
    dtype('uint64')
    >>> first, second = RandomSource.from_seed(0), RandomSource.from_seed(0)
    >>> bool((first.words(5) == second.words(5)).all())
    True
    """

    __slots__ = ("_generation", "_stream", "seeded")

    def __init__(self, key: bytes | None) -> None:
        self.seeded = key is not None
        self._start(os.urandom(_KEY_BYTES) if key is None else key)

    @classmethod
    def from_system(cls) -> Self:
        """Return a source with a fresh key of the operating system."""
        return cls(None)

    @classmethod
    def from_seed(cls, random_state: Seed) -> Self:
        """Return a source that a seed determines, for tests.

        Parameters
        ----------
        random_state : int, numpy RandomState or numpy Generator
            An integer of at least 0 gives the same stream each time. A generator object is
            asked for 32 bytes, which advances it.

        Raises
        ------
        TypeError
            If it is anything else, None and booleans included.
        ValueError
            If the integer is negative.
        """
        return cls(hashlib.sha256(_SEED_DOMAIN + _seed_material(random_state)).digest())

    @classmethod
    def for_state(cls, random_state: Seed) -> Self:
        """Return the source that scikit-learn's `random_state` asks for; None is the system."""
        return cls.from_system() if random_state is None else cls.from_seed(random_state)

    def words(self, n: int) -> npt.NDArray[np.uint64]:
        """Return the next `n` words, uniform on 0, ..., 2^64 - 1, as a read-only array."""
        if self._generation != _Process.generation and not self.seeded:
            self._start(os.urandom(_KEY_BYTES))
        size = 8 * operator.index(n)
        if size < 0:
            raise ValueError(f"n must be at least 0, got {n}.")
        drawn = np.empty(size // 8 + _SPARE, dtype="<u8")
        room = drawn.data.cast("B")
        for start in range(0, size, len(_ZEROS)):
            self._stream.update_into(_ZEROS[: size - start], room[start:])
        drawn.flags.writeable = False
        return drawn[: size // 8].astype(np.uint64, copy=False)

    def spawn(self) -> Self:
        """Return another source: of the system, or, from a seeded one, determined by it.

        What one of the two draws has no influence on the other.
        """
        if not self.seeded:
            return type(self).from_system()
        return type(self)(hashlib.sha256(_SPAWN_DOMAIN + self.words(4).tobytes()).digest())

    def generator(self) -> np.random.Generator:
        """Return a numpy generator seeded with 256 bits of the stream.

        Its own algorithm is not cryptographic: for shuffling and tests, never for noise.
        """
        entropy = int.from_bytes(self.words(4).tobytes(), "little")
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy, pool_size=8)))

    def _start(self, key: bytes) -> None:
        self._generation = _Process.generation
        self._stream: CipherContext = Cipher(AES256(key), CTR(bytes(16))).encryptor()

    def __reduce__(self) -> tuple[Any, ...]:
        if self.seeded:
            self._refuse()
        return RandomSource.from_system, ()

    def _refuse(self) -> NoReturn:
        raise TypeError(
            "A seeded RandomSource cannot be copied or pickled: its seed undoes the noise."
        )

    def __repr__(self) -> str:
        return f"<RandomSource {'with a seed' if self.seeded else 'of the system'}>"


def _seed_material(random_state: Seed) -> bytes:
    if isinstance(random_state, np.random.RandomState | np.random.Generator):
        return random_state.bytes(_KEY_BYTES)
    if isinstance(random_state, bool | np.bool_) or not isinstance(random_state, int | np.integer):
        raise TypeError(
            "random_state must be an integer, a numpy RandomState or a numpy Generator, "
            f"got {type(random_state).__name__}."
        )
    seed = operator.index(random_state)
    if seed < 0:
        raise ValueError("random_state must be at least 0.")
    return b"integer %d" % seed


def renewed(value: Any, seed: int | None) -> Any:
    """Return a new generator of the kind of `value`; None if that is no generator.

    Examples
    --------
    >>> renewed(np.random.default_rng(0), 3).integers(100) == np.random.default_rng(3).integers(100)
    np.True_
    >>> renewed("a word", 3) is None
    True
    """
    if isinstance(value, np.random.Generator):
        return np.random.default_rng(seed)
    if isinstance(value, np.random.RandomState):
        return np.random.RandomState(None if seed is None else seed % 2**32)
    if isinstance(value, random.Random) and not isinstance(value, random.SystemRandom):
        return random.Random(seed)
    return None
