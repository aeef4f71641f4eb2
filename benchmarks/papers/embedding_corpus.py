"""The corpora of zhang_embedding.py: MASC is private, the film reviews are public.

The vocabulary is the 1,000 words, less scikit-learn's stop words, that occur in most of the public
reviews; the paper took it, uncharged, from the private text. Documents of MASC, in a fixed random
order, are cut into 200,000 training, 100,000 validation and 200,000 test examples.
"""

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from skdp.embedding import TaggedCorpus, Vocabulary
from skdp.embedding.documents import token_lists
from skdp.embedding.encoding import n_examples

WINDOW, N_WORDS = 4, 1000
PARTS = {"train": 200_000, "validation": 100_000, "test": 200_000}

Documents = list[list[str]]


@dataclass(frozen=True)
class Corpus:
    """Words of a vocabulary, in documents, by part; and labelled public documents."""

    vocabulary: Vocabulary
    parts: dict[str, Documents]
    reviews: list[str]
    labels: np.ndarray


def corpus(brown: str | None = None) -> Corpus:
    """Read MASC from the folder SKDP_DATA, or Brown from a path in NLTK's format."""
    folder = Path(os.environ["SKDP_DATA"])
    table = pd.read_parquet(folder / "movie_reviews.parquet")
    reviews = table["text"].tolist()
    vocabulary = public_vocabulary(reviews)
    private = TaggedCorpus.brown(brown) if brown else TaggedCorpus.masc(folder / "masc_tagged.zip")
    labels = np.unique(table["label"], return_inverse=True)[1]
    return Corpus(vocabulary, cut(list(private), vocabulary), reviews, labels)


def public_vocabulary(documents: list[str]) -> Vocabulary:
    """Return the words of most public documents, with their public counts."""
    counts: Counter[str] = Counter()
    for words in token_lists(documents):
        # In an order of their own: that of a set is another one in each process.
        counts.update(sorted(set(words) - ENGLISH_STOP_WORDS))
    return Vocabulary.of(dict(counts.most_common(N_WORDS)))


def cut(documents: Documents, vocabulary: Vocabulary) -> dict[str, Documents]:
    """Return the parts: documents until each has its number of examples, the last one cut."""
    known = vocabulary.places
    order = np.random.default_rng(0).permutation(len(documents))
    left = [[word for word in documents[i] if word in known] for i in order]
    found: dict[str, Documents] = {}
    for name, wanted in PARTS.items():
        part: Documents = []
        missing = wanted
        while missing > 2 * WINDOW and left:
            words = left.pop(0)[: missing // (2 * WINDOW) + WINDOW]
            missing -= int(n_examples(np.array([len(words)]), WINDOW)[0])
            part.append(words)
        found[name] = part
    return found
