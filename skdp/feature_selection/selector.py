"""What private feature selectors share as transformers."""

from sklearn.feature_selection import SelectorMixin

from skdp._admission import admit_new_rows, check_is_fitted, quote_free, refuse_non_numbers


class ReleasedSelectorMixin(SelectorMixin):
    """Transformer that keeps the columns of the released mask `support_`."""

    def get_support(self, indices=False):
        """Return which features are kept.

        Parameters
        ----------
        indices : bool, default=False
            Return the places of the features instead of a mask.

        Returns
        -------
        ndarray of shape (n_features,) of bool, or of int
            A function of what was released, so asking costs nothing.
        """
        return super().get_support(indices=indices)

    def transform(self, X):
        """Keep the selected columns.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows; they are not clipped.

        Returns
        -------
        {ndarray, CSR matrix} of shape (n_samples, n_selected_features)
            Private where X is: pass it on to a private estimator and to nobody else.
        """
        return admit_new_rows(self, X)[:, self.get_support(indices=True)]

    def inverse_transform(self, X):
        """Put columns of zeros where `transform` removed some.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_selected_features)
            Rows of selected columns.

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_samples, n_features)
            Rows with all columns.
        """
        check_is_fitted(self)
        refuse_non_numbers(X)
        return quote_free(lambda: super(ReleasedSelectorMixin, self).inverse_transform(X), "X")

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
