"""Documents of words that nobody else has, for models that learn from documents."""

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice, product
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from skdp.audit.facts import labels_of, reader, relation_of
from skdp.audit.pairs import NeighbouringPair
from skdp.audit.word_releases import CountsOfWords, SignedSum, StepsSeen, VectorsMoved
from skdp.privacy import Neighbours

__all__ = [
    "are_documents",
    "known_words",
    "of_documents",
    "reads_documents",
    "refuse_documents",
    "stop_words",
    "votes",
]

Words = tuple[str, ...]
Form = Callable[[list[str]], Any]
#: The more examples a document has, the longer its gradient, up to the norm it is clipped to.
_TIMES = 6
_LETTERS = 8
#: Documents of the fit that says for which neighbours it is private.
_MOST = 10_000


def reads_documents(estimator: Any) -> bool:
    """Whether scikit-learn's tags say that rows are texts and no table: its, or those of a step."""
    steps = getattr(estimator, "steps", None)
    if isinstance(steps, list | tuple):
        return any(reads_documents(step) for _, step in steps)
    try:
        tags = estimator.__sklearn_tags__().input_tags
    except AttributeError:
        return False
    return bool(tags.string) and not tags.two_d_array


def refuse_documents(estimator: Any) -> None:
    """Refuse what holds a reader of documents in such a place that nobody knows what rows are."""
    params = estimator.get_params(deep=True) if hasattr(estimator, "get_params") else {}
    for name, value in params.items():
        if not isinstance(value, type) and reads_documents(value):
            raise ValueError(
                f"Within {type(estimator).__name__}, {name}={type(value).__name__}(...) reads "
                "documents. No canaries are known for it: give audit_epsilon two data sets of your "
                "own."
            )


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
    has as many as may count, and all have the same, or those of the canary's place.
    """
    own, other, shared = _words(estimator)
    labels, form = labels_of(estimator), _form(estimator)
    if relation is None:
        relation = _relation(estimator, _text(shared), labels, n_rows)
    relation = Neighbours(relation)
    if votes(estimator):
        yield from _of_votes(relation, own, other, n_rows)
        return
    by_example, behind = reader(estimator)("unit") == "example", hasattr(estimator, "steps")
    changed = _changed(relation, by_example, own, other, behind)
    release: Any = StepsSeen((form(_text(own)), form(_text(other))))
    if hasattr(estimator, "init_scale"):
        release = VectorsMoved(own, other if changed.replaced else ())
    others = {"": _text(shared), ", alone": []} if shared != own else {"": _text(shared)}
    for among, text in others.items():
        rest = [text] * (n_rows - 1)
        yield NeighbouringPair(
            changed.name + among,
            _arguments(changed.first, rest, labels, 0, form),
            _arguments(changed.second, rest, labels, -1, form),
            "noise that is missing, or only where a document touches a word",
            changed.distance,
            release=release,
        )


def _of_votes(
    relation: Neighbours, own: Words, other: Words, n_rows: int
) -> Iterator[NeighbouringPair]:
    """A document that votes for as many words as it may, against none; against as many others."""
    removed = relation is Neighbours.ADD_OR_REMOVE_ONE
    canary, rest = [_text(own)], [_text(own)] * (n_rows - 1)
    yield NeighbouringPair(
        "document removed" if removed else "document emptied",
        (canary + rest,),
        (rest if removed else [[], *rest],),
        "noise that is missing, or is for fewer words than a document votes for",
        event=SignedSum((1.0,) * len(own)),
        release=CountsOfWords(own),
    )
    if relation is Neighbours.REPLACE_ONE and other:
        rest = [_text(words) for words in islice(cycle((own, other)), n_rows - 1)]
        yield NeighbouringPair(
            "document replaced",
            (canary + rest,),
            ([_text(other), *rest],),
            "noise for a document that goes, but not for the one that comes",
            event=SignedSum((1.0,) * len(own) + (-1.0,) * len(other)),
            release=CountsOfWords(own + other),
        )


def votes(estimator: Any) -> bool:
    """Whether each document has a vote for some words, and nothing else is learnt of it."""
    return hasattr(estimator, "max_contributions") and not hasattr(estimator, "init_scale")


def _relation(
    estimator: Any, document: list[str], labels: tuple[Any, ...], n_rows: int
) -> Neighbours:
    size = reader(estimator)("batch_size")
    n_documents = max(n_rows, min(size, _MOST)) if isinstance(size, int) else n_rows
    data = _arguments([], [document] * n_documents, labels, 0, _form(estimator))
    # Of one step of several, a parameter says nothing of the whole.
    by_parameter = not hasattr(estimator, "steps")
    return relation_of(estimator, data, otherwise=None, by_parameter=by_parameter)


class _Changed(NamedTuple):
    name: str
    first: list[list[str]]
    second: list[list[str]]
    distance: int = 1
    replaced: bool = False


def _changed(
    relation: Neighbours, by_example: bool, own: Words, other: Words, behind: bool
) -> _Changed:
    canary = [_text(own)]
    if by_example:  # of two words a document makes two examples, whose number is public
        if behind:
            raise ValueError(
                "unit='example' protects no document, which a row of what comes behind it is: no "
                "pair of neighbours is known."
            )
        if not other:
            raise ValueError("unit='example' needs a vocabulary of three words for a canary.")
        distance = 2 if relation is Neighbours.REPLACE_ONE else 4
        two, instead = ([list(words)] for words in (own, other))
        return _Changed("two examples replaced", two, instead, distance, replaced=True)
    if relation is Neighbours.ADD_OR_REMOVE_ONE:
        return _Changed("document removed", canary, [])
    # To whatever comes behind it, an empty document is a row like any other, and no null.
    distance = 2 if behind and relation is Neighbours.ZERO_OUT else 1
    if (distance == 1 and relation is Neighbours.ZERO_OUT) or not other:
        return _Changed("document emptied", canary, [[]], distance)
    return _Changed("document replaced", canary, [_text(other)], distance, replaced=True)


def _arguments(
    changed: list[list[str]],
    rest: list[list[str]],
    labels: tuple[Any, ...],
    own: int,
    form: Form,
) -> tuple[Any, ...]:
    """Return arguments of `fit`: with labels by turns, where there are any, and the canary's."""
    documents = [form(words) for words in changed + rest]
    if not labels:
        return (documents,)
    others = np.resize(np.array(labels), len(rest)).tolist()
    return documents, np.array([labels[own]] * len(changed) + others)


def _form(estimator: Any) -> Form:
    """Texts for vectorisers that can do nothing else, lists of words for all others."""
    return " ".join if isinstance(reader(estimator)("analyzer"), str) else list


def _text(words: Words) -> list[str]:
    """Return a document as words: what is made of a text, the estimator decides."""
    return list(words * _TIMES)


def _words(estimator: Any) -> tuple[Words, Words, Words]:
    """Return the words of the canary, of what replaces it, and of other documents.

    Of word vectors the rarest, which are no negative samples of others.
    """
    stopped = stop_words(estimator)
    known = tuple(word for word in known_words(estimator) if word not in stopped)
    if votes(estimator):
        known, most = known or _spelled(estimator), estimator.max_contributions
        return known[:most], known[most : 2 * most], known[:most]
    known = known or ("canary", "nobody", "another", "anybody", "common")
    other = known[2:4] if len(known) >= 4 else known[1:3] if len(known) == 3 else ()
    return known[:2], other, known[4:] or known[2:] or known


def stop_words(estimator: Any) -> frozenset[str]:
    """Return the words that a model leaves out."""
    given = reader(estimator)("stop_words") or ()
    return frozenset(ENGLISH_STOP_WORDS if given == "english" else given)


def known_words(estimator: Any) -> Words:
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
