"""The loss of examples, for whoever may see the documents."""

import numpy as np
import numpy.typing as npt

from skdp.embedding.records import CbowRecords, Examples

__all__ = ["mean_loss"]

Array = npt.NDArray[np.float64]
_EXAMPLES_AT_A_TIME = 2048


def mean_loss(table: Array, records: CbowRecords, key: np.uint64) -> float:
    r"""Mean of ``-log s(e_t e_c) - sum_i log s(-e_i e_c)`` over all examples of all records.

    Not private: it is computed from the documents themselves.

    Parameters
    ----------
    table : ndarray of shape (n_words, vector_size)
    records : CbowRecords
    key : uint64
        Which negatives there are.

    Returns
    -------
    float
        NaN where there is no example.
    """
    total, n = 0.0, 0
    for record in range(records.n_records):
        examples = records.examples(record, key)
        for start in range(0, len(examples.targets), _EXAMPLES_AT_A_TIME):
            part = slice(start, start + _EXAMPLES_AT_A_TIME)
            losses = _losses(table, Examples(*(array[part] for array in examples)))
            total, n = total + float(losses.sum()), n + len(losses)
    return total / n if n else float("nan")


def _losses(table: Array, examples: Examples) -> Array:
    outputs = np.column_stack([examples.targets, examples.negatives])
    contexts = table[examples.contexts]
    scores = np.matmul(table[outputs], contexts[:, :, None])[:, :, 0]
    scores[:, 0] *= -1
    losses: Array = np.logaddexp(0.0, scores).sum(axis=1)
    return losses
