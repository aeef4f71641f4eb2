"""What is seen of a model that learnt from documents: counts of words, and how far vectors went."""

import math
from dataclasses import dataclass
from itertools import permutations
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from skdp.audit.fits import call_fit, fresh
from skdp.audit.observation import Everything

__all__ = ["CountsOfWords", "SignedSum", "StepsSeen", "VectorsMoved"]

Array = NDArray[np.float64]
#: What training starts from is seen to as many digits.
_STILL = 1e-12
#: Rows that were not released move by rounding alone.
_MOVED = 1e-4


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
class SignedSum:
    """A score of outputs: the sum of their numbers, each with a sign.

    Attributes
    ----------
    signs : tuple of float
        One for each number that a release shows.
    """

    signs: tuple[float, ...]

    def __call__(self, outputs: Array) -> Array:
        """Return the score of each fit; two columns go before the numbers."""
        score: Array = outputs[:, 2 : 2 + len(self.signs)] @ np.array(self.signs)
        return score


@final
@dataclass(frozen=True)
class StepsSeen:
    """All numbers of a model, and of the steps of a pipeline, and the answers to some documents.

    Attributes
    ----------
    documents : tuple of lists of str, or of str
        What the model is asked about.
    """

    documents: tuple[Any, ...]

    def __call__(self, model: Any) -> Array:
        """Return the numbers, shape (n_numbers,)."""
        shown = [Everything(list(self.documents))(model)]
        shown += [Everything()(step) for _, step in getattr(model, "steps", ())]
        return np.concatenate(shown)


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

    words: tuple[str, ...]
    instead: tuple[str, ...] = ()

    def __call__(self, model: Any) -> Array:
        """Return the way along the gradient, what each word has of it, and whether it moved."""
        if model.random_state is None:
            return np.asarray(model.vectors_, dtype=float).ravel()
        start = self.start(model)
        moved = (model.vectors_ - start) / model.learning_rate_
        along = self.direction(start, model)
        places = [model.key_to_index_[word] for word in (*self.words, *self.instead)]
        by_word = (moved * along).sum(axis=1)
        far = np.linalg.norm(moved, axis=1)
        return np.concatenate([[by_word.sum()], by_word[places], far[places] > _MOVED * far.max()])

    def start(self, model: Any) -> Array:
        """Return the vectors that a fitted model with a seed began with."""
        still = fresh(model, model.random_state).set_params(learning_rate=_STILL)
        documents = [list(self.words)] * max(2, math.ceil(model.batch_size_))
        start: Array = call_fit(still, (documents,)).vectors_
        return start

    def direction(self, start: Array, model: Any) -> Array:
        """Return the unit direction in which the canary and what stands in its place differ."""
        return _unit(self.difference(start, model))

    def difference(self, start: Array, model: Any) -> Array:
        """Return how far the canary's pull is from that of what stands in its place.

        Examples are clipped one by one where they are the unit; a document is so long that it is
        clipped, and pulls by the clipping norm.
        """
        pull = self._pull(start, model, self.words)
        return pull - self._pull(start, model, self.instead) if self.instead else pull

    def _pull(self, start: Array, model: Any, words: tuple[str, ...]) -> Array:
        norm = float(model.max_grad_norm)
        pulls = self.examples(start, model, words)
        if model.unit == "example":
            pulls = np.array([_unit(one) * min(norm, _size(one)) for one in pulls])
        whole: Array = pulls.sum(axis=0)
        return whole if model.unit == "example" else norm * _unit(whole)

    def examples(self, start: Array, model: Any, words: tuple[str, ...]) -> Array:
        """Return how far each of the two examples of two words pulls, as long as it is."""
        pairs = permutations([model.key_to_index_[word] for word in words], 2)
        return np.array([-self._gradient(start, model, *pair) for pair in pairs])

    def _gradient(self, start: Array, model: Any, target: int, context: int) -> Array:
        """Of one example; negatives as expected."""
        from skdp.embedding import Vocabulary
        from skdp.embedding.negatives import NegativeLaw

        law = NegativeLaw.of(Vocabulary.of(model.vocabulary), float(model.ns_exponent))
        pull = expit(-start[target] @ start[context])
        push = model.negative * law.probabilities * expit(start @ start[context])
        found: Array = push[:, None] * start[context]
        found[target] -= pull * start[context]
        found[context] += push @ start - pull * start[target]
        return found


def _unit(vectors: Array) -> Array:
    return vectors / _size(vectors) if _size(vectors) > 0 else vectors


def _size(vectors: Array) -> float:
    return float(np.linalg.norm(vectors))
