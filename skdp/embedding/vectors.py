"""What is done with released word vectors: neighbours, similarities, documents, files."""

from pathlib import Path

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from skdp._admission import check_is_fitted
from skdp.embedding.documents import token_lists


class WordVectorsMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Methods of an estimator with `vectors_` and `index_to_key_`. All of it is post-processing."""

    @property
    def key_to_index_(self):
        """The place of each word."""
        check_is_fitted(self)
        return {word: place for place, word in enumerate(self.index_to_key_)}

    @property
    def _n_features_out(self):
        return self.vectors_.shape[1]

    def transform(self, X):
        """Return the mean of the vectors of each document's words.

        It tells which words a document has: what is private is the vectors.

        Parameters
        ----------
        X : iterable of documents
            As for `fit`. Words outside of the vocabulary are left out.

        Returns
        -------
        ndarray of shape (n_documents, vector_size)
            Zeros for a document without a known word.
        """
        places = self.key_to_index_
        documents = token_lists(X)
        return self._means_of_each(
            [places[word] for word in words if word in places] for words in documents
        )

    def _means_of_each(self, documents):
        """Return the mean vector of each document, given as places of words."""
        means = [
            self.vectors_[known].mean(axis=0) if len(known) else np.zeros(self._n_features_out)
            for known in documents
        ]
        return np.array(means).reshape(len(means), self._n_features_out)

    def similarity(self, first, second):
        """Return the cosine of the vectors of two words.

        Parameters
        ----------
        first, second : str
            Words of the vocabulary.

        Returns
        -------
        float
            From -1 to 1; 0 for a vector of zeros.
        """
        return float(self._unit(first) @ self._unit(second))

    def most_similar(self, positive=(), negative=(), topn=10):
        """Return the words nearest to a sum of words less others, by cosine.

        Parameters
        ----------
        positive, negative : str or list of str
            Words of the vocabulary whose unit vectors are added, or subtracted; they are not among
            the result.
        topn : int, default=10
            How many, at least 0.

        Returns
        -------
        list of (str, float)
            Words and cosines, the nearest first.
        """
        positive, negative = map(_listed, (positive, negative))
        if not positive and not negative:
            raise ValueError("Name at least one word, positive or negative.")
        if topn < 0:
            raise ValueError(f"topn must be at least 0, got {topn}.")
        sought = sum(map(self._unit, positive)) - sum(map(self._unit, negative))
        cosines = _units(self.vectors_) @ _units(np.atleast_2d(sought))[0]
        given = {*positive, *negative}
        order = (self.index_to_key_[i] for i in np.argsort(-cosines, kind="stable"))
        places = self.key_to_index_
        nearest = [word for word in order if word not in given][:topn]
        return [(word, float(cosines[places[word]])) for word in nearest]

    def save_word2vec_format(self, path, binary=False):
        """Write the vectors in the format of word2vec, which gensim and others read.

        Parameters
        ----------
        path : path-like
            The file.
        binary : bool, default=False
            Vectors as float32 numbers, or as text that gives them back exactly.

        Raises
        ------
        ValueError
            If a word has a blank in it, or is no text that UTF-8 can tell; no file is written then.
        """
        check_is_fitted(self)
        if not all(map(_is_writable, self.index_to_key_)):
            raise ValueError(
                "The word2vec format has no place for empty words, blanks in words, or half a "
                "surrogate pair."
            )
        n_words, size = self.vectors_.shape
        with open(Path(path), "wb") as file:
            file.write(f"{n_words} {size}\n".encode())
            for word, vector in zip(self.index_to_key_, self.vectors_, strict=True):
                file.write(f"{word} ".encode())
                file.write(_binary(vector) if binary else _text(vector))

    def _unit(self, word):
        try:
            place = self.key_to_index_[word]
        except (KeyError, TypeError):
            raise KeyError(f"{word!r} is not in the vocabulary.") from None
        return _units(self.vectors_[place : place + 1])[0]


def _is_writable(word):
    halves = any("\ud800" <= letter <= "\udfff" for letter in word)
    return word.split() == [word] and not halves


def _listed(words):
    return [words] if isinstance(words, str) else list(words)


def _units(vectors):
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1.0)


def _text(vector):
    return (" ".join(repr(float(number)) for number in vector) + "\n").encode()


def _binary(vector):
    return vector.astype("<f4").tobytes()
