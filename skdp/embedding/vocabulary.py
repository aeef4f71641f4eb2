"""A vocabulary that is chosen from private documents, and paid for."""

from numbers import Integral, Real

import numpy as np
from scipy.special import ndtri
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from skdp._admission import HasMethods, Interval, StrOptions, fit_context
from skdp._estimator import PrivateEstimator
from skdp._random import NumpyGenerator
from skdp.embedding.document_counts import DocumentCounts
from skdp.embedding.documents import Counted, token_lists
from skdp.embedding.units import UNITS
from skdp.embedding.word_domains import ListedWords, Spellings
from skdp.embedding.words import Vocabulary
from skdp.mechanisms import GaussianTopK
from skdp.mechanisms.additive import EPSILON_CAP
from skdp.privacy import Neighbours, PrivacyBudget, PrivacyStatement
from skdp.privacy.statement import SEEDED_NOISE, noise_source

#: Counts are whole numbers, which the grid of less noise than this divides.
_MOST_NOISE = 2.0**20
#: Spellings of no document that are expected to be among the words released.
_FALSE_WORDS = 0.001


class PrivateVocabulary(PrivateEstimator):
    r"""The words that occur in most documents, by a noisy top-k that is charged.

    Every document votes for at most `max_contributions` of its distinct words. Gaussian noise is
    added to the number of votes of *every possible word*, whether it occurs or not, and the largest
    noisy counts are released with their words:

    .. math:: \text{top}_k \Big( \sum_d [w \in V_d] + \mathcal N(0, \sigma^2) \Big)_{w \in W},
              \qquad |V_d| \le m.

    The set W of possible words is public: `candidates`, or all words that an alphabet can spell,
    of up to 13 letters for a to z. Of their counts only those that are not zero, and the largest
    noises of the others, are ever computed.

    Parameters
    ----------
    n_words : int, default=1000
        Most words to be chosen.
    candidates : list of str or None, default=None
        A public list, such as a dictionary: then exactly `n_words` are released, or all of a
        shorter list. None: all spellings; then only words whose noisy count no noise would reach.
    alphabet : str, default="abcdefghijklmnopqrstuvwxyz"
        The letters of all spellings.
    stop_words : "english", list of str or None, default=None
        Public words that have no vote; "english" is scikit-learn's list.
    max_contributions : int, default=100
        The m: most words that a document votes for. Of more, a choice by hashes, with a key that no
        data enters.
    epsilon : float, default=1.0
        Privacy loss of the choice and of the counts. More than 40 adds the noise of 40.
    delta : float, default=1e-6
        In (0, 1); well below 1 / number of documents, or it warns where that is public.
    neighbours : {"zero-out", "add-or-remove-one", "replace-one"}, default="zero-out"
        The relation.
    ledger : Ledger or None, default=None
        Where each fit spends before it counts.
    random_state : None, int, RandomState or Generator, default=None
        None draws from a cryptographic generator keyed by the operating system. Anything else is
        for tests: it warns, and the statement records it.

    Attributes
    ----------
    vocabulary_ : Vocabulary
        Words, the most frequent first, with their noisy counts, which :class:`PrivateCBOW` draws
        negatives by. It survives `sklearn.clone`, as this fitted estimator would not.
    privacy_ : PrivacyStatement
        What this fit promised, for each document.
    noise_std_ : float
        Standard deviation of the noise of a count.

    Raises
    ------
    ValueError, TypeError
        For inadmissible input or parameters; nothing is spent or released then.
    BudgetExceededError
        When the ledger cannot afford the fit; nothing is spent or released then.

    Notes
    -----
    *Guarantees.* (epsilon, delta)-differential privacy for one **document** under `neighbours`. A
    document moves the vector of counts by at most sqrt(m) in the L2 norm, replaced by another
    sqrt(2 m). Balle and Wang (2018), Theorem 8; the choice of the largest, the threshold and the
    order are post-processing. Public: parameters and, but for add-or-remove-one, the number of
    documents.

    References
    ----------
    Durfee and Rogers (2019), Practical differentially private top-k selection with
    pay-what-you-get composition, for bounded contributions and unknown domains.

    Examples
    --------
    >>> from skdp.embedding import PrivateVocabulary
    >>> documents = ["the cat sat", "the cat ran", "a rare word"] * 1000
    >>> chosen = PrivateVocabulary(5, max_contributions=3, epsilon=2.0).fit(documents)
    >>> sorted(chosen.vocabulary_.words[:2]), chosen.privacy_
    (['cat', 'the'], PrivacyStatement(epsilon=2, delta=1e-06, neighbours=zero-out, unit=document))
    """

    _parameter_constraints = {  # noqa: RUF012  (scikit-learn's convention)
        "n_words": [Interval(Integral, 2, None, closed="left")],
        "candidates": "no_validation",
        "alphabet": [str],
        "stop_words": [StrOptions({"english"}), list, tuple, set, frozenset, None],
        "max_contributions": [Interval(Integral, 1, None, closed="left")],
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "neighbours": [StrOptions({relation.value for relation in Neighbours})],
        "ledger": [HasMethods("spend"), None],
        "random_state": ["random_state", NumpyGenerator],
    }

    def __init__(
        self,
        n_words=1000,
        *,
        candidates=None,
        alphabet="abcdefghijklmnopqrstuvwxyz",
        stop_words=None,
        max_contributions=100,
        epsilon=1.0,
        delta=1e-6,
        neighbours="zero-out",
        ledger=None,
        random_state=None,
    ):
        self.n_words = n_words
        self.candidates = candidates
        self.alphabet = alphabet
        self.stop_words = stop_words
        self.max_contributions = max_contributions
        self.epsilon = epsilon
        self.delta = delta
        self.neighbours = neighbours
        self.ledger = ledger
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Spend the budget, count words, and release the most frequent ones.

        Parameters
        ----------
        X : iterable of documents
            Each a text or a list of words; read once, one at a time.
        y : None
            Ignored.

        Returns
        -------
        self
            With the released vocabulary.
        """
        counts = self._document_counts()
        mechanism = self._mechanism(counts)
        statement = self._statement(mechanism)
        rng = self._random_source(stacklevel=4)
        # Counting is the check of the documents, too: they are read once. It releases nothing.
        documents = Counted(token_lists(X))
        exact = counts.of(documents, rng.spawn().words(1)[0])
        self._check_number(documents.n_seen)
        self._spend(statement)
        chosen = mechanism.release(exact, rng.spawn())
        self.vocabulary_ = self._vocabulary(counts.domain, mechanism, chosen, statement)
        self.noise_std_ = mechanism.noise_std
        self.privacy_ = statement
        return self

    def _check_number(self, n_documents):
        """Where the number of documents is public, refuse 0 and warn of a delta of their share."""
        if Neighbours(self.neighbours) is Neighbours.ADD_OR_REMOVE_ONE:
            return
        if not n_documents:
            raise ValueError(
                "There is no document. An iterator that was read before has none left."
            )
        self._warn_of_large_delta(n_documents, stacklevel=5)

    def _document_counts(self):
        stop_words = self.stop_words
        stop_words = ENGLISH_STOP_WORDS if stop_words == "english" else set(stop_words or ())
        if not all(isinstance(word, str) for word in stop_words):
            raise TypeError("stop_words must hold words, that is, strings.")
        if self.candidates is None:
            domain = Spellings(self.alphabet)
        else:
            domain = ListedWords(Vocabulary.of(self.candidates).words)
        return DocumentCounts(domain, frozenset(stop_words), int(self.max_contributions))

    def _mechanism(self, counts):
        from skdp.privacy.calibration import calibrate

        if self.delta == 0:
            raise ValueError("Gaussian noise gives no guarantee with delta=0. Set it, to 1e-6 say.")
        budget = self._budget()
        budget = PrivacyBudget(min(budget.epsilon, EPSILON_CAP), budget.delta)
        sensitivity = counts.sensitivity(Neighbours(self.neighbours))
        k = min(int(self.n_words), counts.domain.size)

        def mechanism(noise):
            std = noise * sensitivity.value
            return GaussianTopK(sensitivity, counts.domain.size, k, noise_std=std)

        found = mechanism(calibrate(lambda noise: mechanism(noise).event, budget, (0.1, 1.0)))
        if found.noise_std > _MOST_NOISE:
            raise ValueError("So small a budget needs more noise than counts have room for.")
        return found

    def _statement(self, mechanism):
        from skdp.privacy.accounting import EventCurve

        relation = mechanism.sensitivity.neighbours
        return PrivacyStatement(
            curve=EventCurve(mechanism.event),
            budget=self._budget(),
            neighbours=relation,
            theorem=f"A document moves at most {self.max_contributions} counts by 1 in either "
            f"direction. {mechanism.theorem}",
            assumptions=(
                UNITS["document"].facts[relation],
                "The set of all words that may be chosen is public, and so are stop words.",
                f"Each document votes for at most {self.max_contributions} words, once for each.",
            ),
            noise=noise_source(seeded=self.random_state is not None),
            unit=UNITS["document"].name,
        )

    def _vocabulary(self, domain, mechanism, chosen, statement):
        """Return the released words in the order of their noisy counts. All post-processing.

        A count is compared as it is, not by absolute value as in the selection: a word of a large
        negative noise is nothing but noise.
        """
        order = np.argsort(-chosen.values, kind="stable")
        values = chosen.values[order]
        if self.candidates is None:
            order = order[: max(2, int(np.sum(values >= self._least(mechanism))))]
        words = tuple(domain.word(place) for place in chosen.indices[order])
        counts = tuple(float(count) for count in chosen.values[order])
        return Vocabulary(words, counts, _source(statement))

    def _least(self, mechanism):
        """Return the noisy count that so few spellings of no document are expected to reach."""
        return -ndtri(_FALSE_WORDS / mechanism.size) * mechanism.noise_std

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


def _source(statement):
    seeded = " Its noise was SEEDED: whoever knows the seed can subtract it."
    return (
        f"The vocabulary was chosen privately before, by PrivateVocabulary with epsilon="
        f"{statement.epsilon:g} and delta={statement.delta:g} for each document "
        f"({statement.neighbours.value}), which comes on top of what is stated here."
        f"{seeded if statement.noise == SEEDED_NOISE else ''}"
    )
