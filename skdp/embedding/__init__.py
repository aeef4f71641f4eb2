"""Private word embeddings."""

from skdp.embedding.cbow import PrivateCBOW
from skdp.embedding.corpora import LineCorpus, TaggedCorpus
from skdp.embedding.row_selection import WholeRows
from skdp.embedding.vocabulary import PrivateVocabulary
from skdp.embedding.words import Vocabulary

__all__ = [
    "LineCorpus",
    "PrivateCBOW",
    "PrivateVocabulary",
    "TaggedCorpus",
    "Vocabulary",
    "WholeRows",
]
