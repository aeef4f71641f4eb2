"""What tests of word vectors share: small corpora, records, and a null record."""

from contextlib import contextmanager

import numpy as np

from skdp.embedding.encoding import encoded
from skdp.embedding.gradients import CbowGradients
from skdp.embedding.negatives import NegativeLaw
from skdp.embedding.numpy_route import NumpyRoute
from skdp.embedding.records import CbowRecords
from skdp.embedding.words import Vocabulary

WORDS = tuple(f"w{i}" for i in range(12))
SIZE = 3


def corpus(lengths=(0, 1, 2, 3, 9, 30), seed=0, words=WORDS):
    """Documents of words drawn at random, with words of no vocabulary between them."""
    rng = np.random.default_rng(seed)
    return [[str(rng.choice([*words, "other"])) for _ in range(n)] for n in lengths]


def records_of(documents, *, by_document=True, window=2, negatives=3, most=20, words=WORDS):
    vocabulary = Vocabulary.of({word: float(i + 1) for i, word in enumerate(words)})
    return CbowRecords(
        encoded(documents, vocabulary.places),
        window,
        negatives,
        NegativeLaw.of(vocabulary, 0.75),
        by_document=by_document,
        most_examples=most,
    )


def gradients_of(records, *, route="compiled", size=SIZE, most_records=1000, key=7):
    made = CbowGradients(records, size, most_records=most_records, key=np.uint64(key))
    if route == "numpy":
        made._route = NumpyRoute(records, size)
    return made


@contextmanager
def null_record(row=0):
    """Replace a record by the null record of zero-out: it has no gradient and touches nothing."""
    names = ("clipped_sum", "contribution_map", "restricted_sum", "row_scores", "row_map")
    originals = {name: getattr(CbowGradients, name) for name in names}

    def without(name):
        place = 0 if name.endswith("_map") else 2

        def nulled(self, *args, **kwargs):
            given = list(args)
            given[place] = given[place][given[place] != row]
            return originals[name](self, *given, **kwargs)

        return nulled

    for name in names:
        setattr(CbowGradients, name, without(name))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(CbowGradients, name, original)
