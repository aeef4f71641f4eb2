"""The secret sharer: whether a language model remembers phrases planted in its text."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from skdp._random import RandomSource
from skdp.audit.pictures import axes_for

__all__ = [
    "ContextPerplexity",
    "SecretSharerAudit",
    "plant_canaries",
    "random_phrases",
    "secret_sharer",
]

Phrase = Sequence[str]


def random_phrases(
    vocabulary: Sequence[str], n_phrases: int, *, length: int = 3, random_state: int | None = None
) -> list[list[str]]:
    """Return phrases of words drawn independently and uniformly from a public vocabulary.

    Examples
    --------
    >>> from skdp.audit import random_phrases
    >>> [len(phrase) for phrase in random_phrases(["a", "b", "c"], 2, random_state=0)]
    [3, 3]
    """
    rng = RandomSource.for_state(random_state).generator()
    words = np.asarray(list(vocabulary), dtype=object)
    return [list(words[row]) for row in rng.integers(len(words), size=(n_phrases, length))]


def plant_canaries(
    documents: Sequence[Phrase], canaries: Sequence[Phrase], *, n_copies: int = 1
) -> list[list[str]]:
    """Return the documents and, behind them, each canary as a document, so many times over."""
    return [list(some) for some in documents] + [
        list(canary) for canary in canaries for _ in range(n_copies)
    ]


@final
@dataclass(frozen=True)
class ContextPerplexity:
    """-sum over i >= 2 of log P(w_i | mean vector of w_1, ..., w_i-1), a softmax over all words.

    For models like CBOW, with a vector for each word as context and one as target.

    Attributes
    ----------
    context_vectors, target_vectors : ndarray of shape (n_words, size)
        Of a word when it is read, and when it is predicted; the same twice will do for a model
        that publishes one of them.
    places : dict of str to int
        Row of each word.
    """

    context_vectors: NDArray[np.float64]
    target_vectors: NDArray[np.float64]
    places: dict[str, int]

    def __call__(self, phrases: Sequence[Phrase]) -> NDArray[np.float64]:
        """Return the log-perplexities of phrases of known words, shape (n_phrases,)."""
        return np.array([self._of(phrase) for phrase in phrases])

    def _of(self, phrase: Phrase) -> float:
        rows = [self.places[word] for word in phrase]
        total = 0.0
        for place in range(1, len(rows)):
            context = self.context_vectors[rows[:place]].mean(axis=0)
            scores = self.target_vectors @ context
            total += float(logsumexp(scores) - scores[rows[place]])
        return total


@final
@dataclass(frozen=True)
class SecretSharerAudit:
    """Where planted phrases rank among phrases that nobody planted.

    Attributes
    ----------
    ranks : ndarray of shape (n_canaries,)
        1 where no random phrase is likelier; at most `n_references` + 1.
    n_references : int
        Random phrases.
    confidence : float
        1 minus the p-value below which remembering is called shown.
    """

    ranks: NDArray[np.intp] = field(repr=False)
    n_references: int
    confidence: float

    @property
    def exposures(self) -> NDArray[np.float64]:
        """log2(n_references + 1) - log2(rank) of each canary (Carlini et al. 2019)."""
        return math.log2(self.n_references + 1) - np.log2(self.ranks)

    @property
    def places(self) -> NDArray[np.float64]:
        """Ranks as numbers in (0, 1), which are uniform for a model that remembers nothing."""
        return (self.ranks - 0.5) / (self.n_references + 1)

    @property
    def p_value(self) -> float:
        """Of places that are uniform against smaller ones: Kolmogorov and Smirnov, one-sided.

        For canaries and random phrases drawn alike. Canaries share the references; with many more
        references than canaries, that dependence is negligible, as here it is taken to be.
        """
        from scipy.stats import ks_2samp

        references = (np.arange(1, self.n_references + 1) - 0.5) / self.n_references
        return float(ks_2samp(self.places, references, alternative="greater").pvalue)

    @property
    def uniformity(self) -> tuple[float, float]:
        """Chi-squared statistic of ten equal intervals of places, and its p-value."""
        from scipy.stats import chisquare

        found = chisquare(np.histogram(self.places, 10, (0.0, 1.0))[0])
        return float(found.statistic), float(found.pvalue)

    @property
    def remembers(self) -> bool:
        """Whether planted phrases rank higher than by chance."""
        return self.p_value < 1 - self.confidence

    def sentence(self) -> str:
        """Say in one sentence what was found."""
        verdict = "remembers" if self.remembers else "shows no sign of remembering"
        return (
            f"The model {verdict} {len(self.ranks)} planted phrases: mean exposure "
            f"{self.exposures.mean():.2f} bits of {math.log2(self.n_references + 1):.1f} (1.44 by "
            f"chance), median rank {int(np.median(self.ranks))} of {self.n_references + 1}, "
            f"p-value {self.p_value:.2g}. An audit, no guarantee."
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the places of the canaries; return the matplotlib axes."""
        ax = axes_for(ax, self.sentence())
        ax.hist(self.places, np.linspace(0, 1, 21), color="#0072B2")
        ax.axhline(len(self.ranks) / 20, color="#595959", linestyle=":", label="by chance")
        ax.set_xlabel("rank among random phrases, as a share")
        ax.set_ylabel("planted phrases")
        ax.legend(frameon=False)
        return ax

    def __str__(self) -> str:
        return self.sentence()


def secret_sharer(
    score: Callable[[Sequence[Phrase]], Any],
    canaries: Sequence[Phrase],
    references: Sequence[Phrase],
    *,
    confidence: float = 0.95,
    random_state: int | None = None,
) -> SecretSharerAudit:
    """Rank planted phrases by a model's log-perplexity among random ones.

    Parameters
    ----------
    score : callable
        Maps phrases to log-perplexities, shape (n_phrases,): low for what the model expects. For
        word embeddings `ContextPerplexity`, for an untrained one a source of p-values.
    canaries : sequence of phrases
        What was in the training text, best drawn by `random_phrases` and put in by
        `plant_canaries`.
    references : sequence of phrases
        Drawn in the same way, and not in the text; ten times as many or more.
    confidence : float, default=0.95
        In (0, 1).
    random_state : int or None, default=None
        Determines how ties are broken.

    Returns
    -------
    SecretSharerAudit
        Ranks, exposures, and a test of uniformity.

    References
    ----------
    Carlini et al. (2019), The secret sharer: evaluating and testing unintended memorization in
    neural networks.

    Examples
    --------
    >>> from skdp.audit import random_phrases, secret_sharer
    >>> words = [str(i) for i in range(50)]
    >>> canaries = random_phrases(words, 20, random_state=1)
    >>> others = random_phrases(words, 500, random_state=2)
    >>> def knows_all(phrases):
    ...     return [0.0 if phrase in canaries else 9.0 for phrase in phrases]
    >>> secret_sharer(knows_all, canaries, others).remembers
    True
    """
    if len(canaries) == 0 or len(references) == 0:
        raise ValueError("canaries and references must not be empty.")
    planted, others = (_scored(score, some) for some in (canaries, references))
    others = np.sort(others)
    # Ties are broken at random: ranks are then uniform for what remembers nothing, in any scale.
    below = np.searchsorted(others, planted, side="left")
    up_to = np.searchsorted(others, planted, side="right")
    law = RandomSource.for_state(random_state).generator()
    return SecretSharerAudit(1 + law.integers(below, up_to + 1), len(others), confidence)


def _scored(score: Callable[[Sequence[Phrase]], Any], phrases: Sequence[Phrase]) -> Any:
    found = np.asarray(score(phrases), dtype=float)
    if found.shape != (len(phrases),) or np.isnan(found).any():
        raise ValueError("score must return a number for each of the phrases, and no NaN.")
    return found
