"""Documents of words that nobody else has, for models that learn from documents."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from skdp.audit.facts import reader, relation_of
from skdp.audit.fits import call_fit, fresh
from skdp.audit.pairs import NeighbouringPair
from skdp.privacy import Neighbours

__all__ = ["CountsOfWords", "VectorsMoved", "are_documents", "of_documents", "reads_documents"]

Array = NDArray[np.float64]
Words = tuple[str, ...]
#: What training starts from is seen to as many digits.
_STILL = 1e-12
#: Rows that were not released move by rounding alone.
_MOVED = 1e-4
#: The more examples a document has, the longer its gradient, up to the norm it is clipped to.
_TIMES = 6
_LETTERS = 8
#: Documents of the fit that says for which neighbours it is private.
_MOST = 10_000


def reads_documents(estimator: Any) -> bool:
    """Whether scikit-learn's tags say that rows are texts and no table."""
    try:
        tags = estimator.__sklearn_tags__().input_tags
    except AttributeError:
        return False
    return bool(tags.string) and not tags.two_d_array


def are_documents(X: Any) -> bool:
    """Whether X is a sequence of texts, or of lists of words."""
    if isinstance(X, str | bytes) or not (isinstance(X, Sequence) or getattr(X, "ndim", 0) == 1):
        return False
    return len(X) > 0 and all(map(_is_document, X)) and any(len(document) for document in X)


def _is_document(value: Any) -> bool:
    if isinstance(value, str):
        return True
    return isinstance(value, list | tuple) and all(isinstance(word, str) for word in value)


def of_documents(estimator: Any, relation: Any, n_rows: int) -> Iterator[NeighbouringPair]:
    """Yield pairs in which one document has words of its own, among others that share theirs.

    Then among empty ones. A vocabulary is chosen by how many documents have a word: there each
    has as many as may count, and all have the same.
    """
    own, other, shared = _words(estimator)
    if relation is None:
        relation = _relation(estimator, _text(shared), n_rows)
    changed = _changed(Neighbours(relation), reader(estimator)("unit") == "example", own, other)
    release = _release(estimator, own, other if changed.replaced else ())
    others = {"": _text(shared), ", alone": []} if shared != own else {"": _text(shared)}
    for among, text in others.items():
        rest = [text] * (n_rows - 1)
        yield NeighbouringPair(
            changed.name + among,
            (changed.first + rest,),
            (changed.second + rest,),
            "noise that is missing, or only where a document touches a word",
            changed.distance,
            release=release,
        )


def _relation(estimator: Any, document: list[str], n_rows: int) -> Neighbours:
    size = reader(estimator)("batch_size")
    n_documents = max(n_rows, min(size, _MOST)) if isinstance(size, int) else n_rows
    return relation_of(estimator, ([document] * n_documents,), otherwise=None)


class _Changed(NamedTuple):
    name: str
    first: list[list[str]]
    second: list[list[str]]
    distance: int = 1
    replaced: bool = False


def _changed(relation: Neighbours, by_example: bool, own: Words, other: Words) -> _Changed:
    canary = [_text(own)]
    if by_example:  # of two words a document makes two examples, whose number is public
        if not other:
            raise ValueError("unit='example' needs a vocabulary of three words for a canary.")
        distance = 2 if relation is Neighbours.REPLACE_ONE else 4
        two, instead = ([list(words)] for words in (own, other))
        return _Changed("two examples replaced", two, instead, distance, replaced=True)
    if relation is Neighbours.ADD_OR_REMOVE_ONE:
        return _Changed("document removed", canary, [])
    if relation is Neighbours.ZERO_OUT or not other:
        return _Changed("document emptied", canary, [[]])
    return _Changed("document replaced", canary, [_text(other)], replaced=True)


def _text(words: Words) -> list[str]:
    """Return a document as words: what is made of a text, the estimator decides."""
    return list(words * _TIMES)


def _words(estimator: Any) -> tuple[Words, Words, Words]:
    """Return the words of the canary, of what replaces it, and of other documents.

    Of word vectors the rarest, which are no negative samples of others.
    """
    stopped = getattr(estimator, "stop_words", None) or ()
    stopped = ENGLISH_STOP_WORDS if stopped == "english" else set(stopped)
    known = tuple(word for word in _known(estimator) if word not in stopped)
    if hasattr(estimator, "max_contributions") and not hasattr(estimator, "init_scale"):
        own = (known or _spelled(estimator))[: estimator.max_contributions]
        return own, (), own
    known = known or ("canary", "nobody", "another", "anybody", "common")
    other = known[2:4] if len(known) >= 4 else known[1:3] if len(known) == 3 else ()
    return known[:2], other, known[4:] or known[2:] or known


def _known(estimator: Any) -> Words:
    """Return the words that a model was told of, the rarest first."""
    from skdp.embedding import Vocabulary

    read = reader(estimator)
    given = next((v for v in map(read, ("vocabulary", "candidates")) if v is not None), None)
    if given is None:
        return ()
    known = Vocabulary.of(given)
    counts = np.zeros(len(known)) if known.counts is None else np.asarray(known.counts)
    return tuple(known.words[place] for place in np.argsort(counts, kind="stable"))


def _spelled(estimator: Any) -> Words:
    letters = str(reader(estimator)("alphabet") or "abcdefgh")[:_LETTERS]
    return tuple("".join(word) for word in product(letters, repeat=4))


def _release(estimator: Any, own: Words, other: Words) -> Any:
    if hasattr(estimator, "init_scale"):
        return VectorsMoved(own, other)
    return CountsOfWords(own) if hasattr(estimator, "max_contributions") else "auto"


@final
@dataclass(frozen=True)
class CountsOfWords:
    """The noisy counts of some words in `vocabulary_`, 0 for one that was not chosen.

    Attributes
    ----------
    words : tuple of str
        Which.
    """

    words: tuple[str, ...]

    def __call__(self, model: Any) -> Array:
        """Return the counts, shape (n_words,)."""
        chosen = model.vocabulary_
        found = dict(zip(chosen.words, chosen.counts, strict=True))
        return np.array([found.get(word, 0.0) for word in self.words])


@final
@dataclass(frozen=True)
class VectorsMoved:
    r"""How far word vectors went from where they began, along the gradient of a canary there.

    What training begins with is drawn before any document is read, and no guarantee rests on it:
    it is that of a fit from the same seed with a vanishing learning rate. The
    gradient of a document is that of :class:`~skdp.embedding.PrivateCBOW`'s loss, with the expected
    negatives; where vectors hardly move, it is the same in every step, so that what is seen is the
    sum of all released gradients, in the direction in which a canary moves it most.

    .. math:: \ell = -\log s(e_t \cdot e_c) - \textstyle\sum_i \log s(-e_i \cdot e_c)

    Without a seed, the beginning is unknown, and so the vectors themselves are seen.

    Attributes
    ----------
    words : tuple of two str
        Of the canary.
    instead : tuple of two str, or empty
        Of the document in its place in the other data set.
    """

    words: Words
    instead: tuple[str, ...] = ()

    def __call__(self, model: Any) -> Array:
        """Return the way along the gradient, what each word has of it, and whether it moved."""
        if model.random_state is None:
            return np.asarray(model.vectors_, dtype=float).ravel()
        still = fresh(model, model.random_state).set_params(learning_rate=_STILL)
        documents = [list(self.words)] * max(2, math.ceil(model.batch_size_))
        start = call_fit(still, (documents,)).vectors_
        moved = (model.vectors_ - start) / model.learning_rate_
        along = self.direction(start, model)
        places = [model.key_to_index_[word] for word in (*self.words, *self.instead)]
        by_word = (moved * along).sum(axis=1)
        far = np.linalg.norm(moved, axis=1)
        return np.concatenate([[by_word.sum()], by_word[places], far[places] > _MOVED * far.max()])

    def direction(self, start: Array, model: Any) -> Array:
        """Return the unit direction in which the canary and what stands in its place differ."""
        down = -self._gradient(start, model, self.words)
        if self.instead:
            down = _unit(down) + _unit(self._gradient(start, model, self.instead))
        return _unit(down)

    def _gradient(self, start: Array, model: Any, words: tuple[str, ...]) -> Array:
        """Sum over ordered pairs of the two words; negatives as expected."""
        from skdp.embedding import Vocabulary
        from skdp.embedding.negatives import NegativeLaw

        shares = NegativeLaw.of(
            Vocabulary.of(model.vocabulary), float(model.ns_exponent)
        ).probabilities
        found = np.zeros_like(start)
        for target, context in permutations([model.key_to_index_[word] for word in words], 2):
            pull = expit(-start[target] @ start[context])
            found[target] -= pull * start[context]
            found[context] -= pull * start[target]
            push = model.negative * shares * expit(start @ start[context])
            found += push[:, None] * start[context]
            found[context] += push @ start
        return found


def _unit(vectors: Array) -> Array:
    size = float(np.linalg.norm(vectors))
    return vectors / size if size > 0 else vectors
