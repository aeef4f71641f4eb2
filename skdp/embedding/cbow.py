"""Word vectors trained privately."""

from numbers import Integral, Real

import numpy as np

from skdp._admission import HasMethods, Interval, StrOptions, check_is_fitted, fit_context
from skdp._estimator import PrivateEstimator
from skdp._random import NumpyGenerator
from skdp._sgd.settings import OPTIMIZERS, SELECTORS
from skdp.embedding.documents import token_lists
from skdp.embedding.encoding import encoded
from skdp.embedding.loss import mean_loss
from skdp.embedding.negatives import NegativeLaw
from skdp.embedding.records import CbowRecords
from skdp.embedding.settings import SELECTIONS, cbow_run
from skdp.embedding.units import UNITS
from skdp.embedding.vectors import WordVectorsMixin
from skdp.embedding.words import Vocabulary
from skdp.privacy import Neighbours, PrivacyStatement
from skdp.privacy.statement import noise_source
from skdp.training import CoordinateSelector, NoiseSchedule, Sampler
from skdp.training.progress import progress_bar

_NO_VOCABULARY = (
    "vocabulary=None: words must not be taken from the private documents as they are. Declare a "
    "public list of words, or choose them privately: PrivateVocabulary(...).fit(documents), and "
    "pass its vocabulary_."
)


class PrivateCBOW(WordVectorsMixin, PrivateEstimator):
    r"""Word vectors by negative sampling, trained by differentially private gradient descent.

    An example is a target word t, one word c within `window` places of it, and `negative` words U
    that are drawn without looking at the documents; its loss, in one table of vectors e, is

    .. math:: \ell = -\log s(e_t \cdot e_c) - \sum_{i \in U} \log s(-e_i \cdot e_c),
              \qquad s(z) = 1 / (1 + e^{-z}).

    So its gradient has at most ``negative + 2`` rows. Each step draws some records, clips the
    gradient of each as a whole, adds the sum, selects coordinates or rows of it privately where a
    `selector` is given, and releases these with Gaussian noise. With a selector the cost of a step
    does not depend on the size of the vocabulary.

    Words outside of the vocabulary are taken out before windows are laid, as word2vec does.

    Parameters
    ----------
    vector_size : int, default=100
        Length of a vector.
    window : int, default=4
        Largest distance of a target and a word of its context.
    negative : int, default=8
        Number of negative samples of an example.
    vocabulary : list of str, mapping, Vocabulary or fitted PrivateVocabulary
        The words that get vectors: a public list; a mapping of words to *public* counts; or
        what :class:`PrivateVocabulary` has paid for. None is refused: the words of private
        documents, and how often they occur, are private. Words of texts have two letters or more
        and are in lower case.
    epsilon : float, default=1.0
        Privacy loss of everything that `fit` releases.
    delta : float, default=1e-6
        In (0, 1); well below 1 / number of records, or it warns.
    unit : {"document", "example"}, default="document"
        What one record is. "document": everything that one document contributes, which is what a
        user means. "example": a single example, as in the paper; a document of a thousand words
        has thousands of these, so this says little about a document.
    max_contributions : int, default=256
        For unit="document": most examples of a document that a step looks at. Of a longer one, one
        of each of so many stretches is drawn anew in each step. Their gradients are added and
        clipped together, so the number has no influence on the noise.
    selector : str, CoordinateSelector or None, default=None
        What chooses where the gradient is released, at a cost that does not depend on the size of
        the vocabulary: "gaussian", "exponential", "noisy_max", "sparse_vector" or "adafest". None:
        noise on all of it, which was ahead in loss at a thousand words, where a selected row is
        moved in few of the steps only.
    selection : {"rows", "coordinates"}, default="rows"
        Whether whole vectors are selected or single coordinates, as in the paper.
    n_selected : int or "auto", default="auto"
        How many; "auto" is a fiftieth of all. For "adafest", how many survive by noise alone.
    max_grad_norm : float, default=15.0
        The norm to which the gradient of a record is clipped. Noise is proportional to it. The
        gradient of one example has a norm of about 2 where vectors start at ``init_scale=0.1``, and
        of 30 where they start at 1: with unit="example" a norm of 1, or of 15, suits these.
    selected_grad_norm : float or None, default=None
        The norm to which it is clipped once more on what was selected; None for `max_grad_norm`.
    batch_size : int or "auto", default="auto"
        Expected number of records in a step.
    n_epochs : float or "auto", default="auto"
        Expected number of times that a record takes part.
    sampling : {"poisson", "shuffled", "fixed_size", "full"} or Sampler, default="poisson"
        How records are drawn, and with it the relation that is promised. A
        :class:`~skdp.training.PoissonSampler` for add-or-remove-one keeps their number private.
    optimizer : {"adam", "sgd"}, default="adam"
        What is done with released gradients. Moments of what was not selected stand still.
    learning_rate : float or "auto", default="auto"
        Step size. "sgd" needs one.
    init_scale : float, default=0.1
        Standard deviation of the coordinates that training starts from.
    ns_exponent : float, default=0.75
        Negatives are drawn in proportion to counts to this power; all words alike where the
        vocabulary has no counts.
    noise_schedule : NoiseSchedule or None, default=None
        Fixed beforehand; None is constant.
    ledger : Ledger or None, default=None
        Where each fit spends before it computes.
    random_state : None, int, RandomState or Generator, default=None
        None draws from a cryptographic generator keyed by the operating system. Anything else is
        for tests: it warns, and the statement records it.
    verbose : int, default=0
        Whether a bar of public facts shows how far it is.

    Attributes
    ----------
    vectors_ : ndarray of shape (n_words, vector_size)
        The vectors.
    index_to_key_ : list of str
        The word of each.
    key_to_index_ : dict
        The place of each word.
    privacy_ : PrivacyStatement
        What this fit promised, for which unit.
    noise_multiplier_ : float
        Standard deviation of the noise, per clipping norm; of a selection and the release after it
        together.
    n_steps_, batch_size_, learning_rate_ : int, float, float
        What was run.

    Raises
    ------
    ValueError, TypeError
        For inadmissible input or parameters; nothing is spent or released then.
    BudgetExceededError
        When the ledger cannot afford the fit; nothing is spent or released then.

    Notes
    -----
    *Guarantees.* (epsilon, delta)-differential privacy of the vectors, for one `unit`, under the
    relation of the sampler. Poisson, zero-out (the default): a neighbour has one document without
    a word in place of any other, or, with unit="example", one example less whose place is kept.
    Public: the vocabulary, every parameter, and the number of documents, or of examples with
    unit="example"; with unit="document" the number of examples is private, and nothing depends on
    it but the clipped sums.

    *Sensitivity.* Each record's gradient, restricted to norm `max_grad_norm` and truncated to the
    grid of the noise, is a function of that record, of what has been released, and of negatives
    that no document enters. Sums are exact. Norms of rows move by no more than the gradient does
    (triangle inequality); rounding is counted.

    *Accounting.* Selection and noise of a step see the same records, so they are composed first,
    amplified by sampling once, and composed over steps (Zhu, Dong and Wang, 2022); to amplify each
    of the two apart, as in the paper, promises too little.

    What a private vocabulary cost is in the statement of :class:`PrivateVocabulary`; a ledger adds
    both.

    References
    ----------
    Zhang, Mironov and Hejazinia (2021), Wide network learning with differential privacy. Mikolov
    et al. (2013), Distributed representations of words and phrases and their compositionality.
    Ghazi et al. (2023), Sparsity-preserving differentially private training of large embedding
    models.

    Examples
    --------
    >>> from skdp.embedding import PrivateCBOW
    >>> documents = ["cats chase mice and mice fear cats", "dogs chase cats"] * 500
    >>> words = ["cats", "dogs", "mice", "chase", "fear"]
    >>> model = PrivateCBOW(8, vocabulary=words, epsilon=3.0, n_epochs=5, batch_size=200)
    >>> model.fit(documents).transform(["mice fear dogs"]).shape
    (1, 8)
    >>> model.privacy_
    PrivacyStatement(epsilon=3, delta=1e-06, neighbours=zero-out, unit=document)
    """

    _parameter_constraints = {  # noqa: RUF012  (scikit-learn's convention)
        "vector_size": [Interval(Integral, 1, 2**31, closed="left")],
        "window": [Interval(Integral, 1, 2**31, closed="left")],
        "negative": [Interval(Integral, 1, 2**31, closed="left")],
        "vocabulary": "no_validation",
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "unit": [StrOptions(set(UNITS))],
        "max_contributions": [Interval(Integral, 1, 2**31, closed="left")],
        "selector": [StrOptions(set(SELECTORS)), CoordinateSelector, None],
        "selection": [StrOptions(set(SELECTIONS))],
        "n_selected": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_grad_norm": [Interval(Real, 1e-12, 1e12, closed="both")],
        "selected_grad_norm": [Interval(Real, 1e-12, 1e12, closed="both"), None],
        "batch_size": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "n_epochs": [StrOptions({"auto"}), Interval(Real, 0, 1e9, closed="neither")],
        "sampling": [StrOptions({"poisson", "shuffled", "fixed_size", "full"}), Sampler],
        "optimizer": [StrOptions(set(OPTIMIZERS))],
        "learning_rate": [StrOptions({"auto"}), Interval(Real, 1e-12, 1e12, closed="both")],
        "init_scale": [Interval(Real, 0, 1e6, closed="both")],
        "ns_exponent": [Interval(Real, -10, 10, closed="both")],
        "noise_schedule": [NoiseSchedule, None],
        "ledger": [HasMethods("spend"), None],
        "random_state": ["random_state", NumpyGenerator],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        vector_size=100,
        window=4,
        negative=8,
        *,
        vocabulary=None,
        epsilon=1.0,
        delta=1e-6,
        unit="document",
        max_contributions=256,
        selector=None,
        selection="rows",
        n_selected="auto",
        max_grad_norm=15.0,
        selected_grad_norm=None,
        batch_size="auto",
        n_epochs="auto",
        sampling="poisson",
        optimizer="adam",
        learning_rate="auto",
        init_scale=0.1,
        ns_exponent=0.75,
        noise_schedule=None,
        ledger=None,
        random_state=None,
        verbose=0,
    ):
        self.vector_size = vector_size
        self.window = window
        self.negative = negative
        self.vocabulary = vocabulary
        self.epsilon = epsilon
        self.delta = delta
        self.unit = unit
        self.max_contributions = max_contributions
        self.selector = selector
        self.selection = selection
        self.n_selected = n_selected
        self.max_grad_norm = max_grad_norm
        self.selected_grad_norm = selected_grad_norm
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.sampling = sampling
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.init_scale = init_scale
        self.ns_exponent = ns_exponent
        self.noise_schedule = noise_schedule
        self.ledger = ledger
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Spend the budget, train, and release the vectors.

        Parameters
        ----------
        X : iterable of documents
            Each a text, which is split into words of two or more letters or digits in lower case,
            or a list of words, in their order. Read once, one document at a time:
            :class:`LineCorpus` and :class:`TaggedCorpus` may be larger than memory.
        y : None
            Ignored.

        Returns
        -------
        self
            With the released vectors.
        """
        self._fit_records(X, stacklevel=5)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X, y=None):
        """Fit, and return the mean of the vectors of each document's words.

        The documents are read once, so that a generator gives a row for each of them.

        Parameters
        ----------
        X : iterable of documents
            As for `fit`.
        y : None
            Ignored.

        Returns
        -------
        ndarray of shape (n_documents, vector_size)
            As of `transform`: a row tells about its document; what is private is the vectors.
        """
        return self._means_of_each(self._fit_records(X, stacklevel=6).documents.each())

    def _fit_records(self, X, stacklevel):
        """Fit, and return the records; warnings are of `stacklevel` frames above."""
        vocabulary = self._admitted_vocabulary()
        records = self._records(X, vocabulary, UNITS[self.unit].by_document)
        run = cbow_run(self, self._admitted_size(records), len(vocabulary))
        run.refuse_large_size()
        statement = self._statement(run, vocabulary)
        self._warn_of_large_delta(run.plan.sampler.public_size, stacklevel=stacklevel)
        rng = self._random_source(stacklevel=stacklevel)
        self._spend(statement)
        with progress_bar(run.plan, self._number("delta"), self.verbose) as progress:
            vectors = run.train(records, rng, progress)
        self.vectors_ = vectors
        self.index_to_key_ = list(vocabulary.words)
        self.privacy_ = statement
        self.noise_multiplier_ = run.plan.noise.level
        self.n_steps_ = run.plan.n_steps
        self.batch_size_ = run.plan.sampler.divisor
        self.learning_rate_ = run.learning_rate
        return records

    def score(self, X, y=None):
        """Return minus the mean loss of the examples of some documents.

        Not private: it is computed from these documents, so use it on public ones, or for tests.

        Parameters
        ----------
        X : iterable of documents
            As for `fit`.
        y : None
            Ignored.

        Returns
        -------
        float
            0 at best. NaN where there is no example.
        """
        check_is_fitted(self)
        vocabulary = self._admitted_vocabulary()
        if list(vocabulary.words) != self.index_to_key_:
            raise ValueError("vocabulary was changed since the fit: these vectors are of others.")
        records = self._records(X, vocabulary, by_document=True, every=True)
        return -mean_loss(self.vectors_, records, np.uint64(0))

    def _admitted_vocabulary(self):
        if self.vocabulary is None:
            raise ValueError(_NO_VOCABULARY)
        return Vocabulary.of(self.vocabulary)

    def _records(self, X, vocabulary, by_document, every=False):
        return CbowRecords(
            encoded(token_lists(X), vocabulary.places),
            int(self.window),
            int(self.negative),
            NegativeLaw.of(vocabulary, self._number("ns_exponent")),
            by_document=by_document,
            most_examples=2**31 if every else int(self.max_contributions),
        )

    def _admitted_size(self, records):
        """Return the number of records; where it is public, refuse a number of 0."""
        private = getattr(self.sampling, "neighbours", None) is Neighbours.ADD_OR_REMOVE_ONE
        if private and not records.by_document:
            raise ValueError(
                "An example that comes or goes would change the numbers of others, by which their "
                "negatives are drawn: no add-or-remove-one for unit='example'. Use zero-out, or "
                "unit='document'."
            )
        if not records.n_records and not private:
            raise ValueError(
                f"There is no {UNITS[self.unit].name} to learn from. An iterator that was read "
                "before has no document left."
            )
        return max(1, records.n_records)

    def _statement(self, run, vocabulary):
        from skdp.privacy.accounting import EventCurve

        unit, relation = UNITS[self.unit], run.plan.sampler.neighbours
        return PrivacyStatement(
            curve=EventCurve(run.plan.event),
            budget=self._budget(),
            neighbours=relation,
            theorem=run.plan.theorem,
            assumptions=(
                unit.facts[relation],
                vocabulary.source,
                f"The gradient of each {unit.name} is clipped as a whole to Euclidean norm "
                f"{run.plan.max_grad_norm}, a declared bound.",
                "No parameter of the model was chosen by looking at these documents.",
            ),
            noise=noise_source(seeded=self.random_state is not None),
            unit=unit.name,
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags
