# SPDX-License-Identifier: Apache-2.0
"""Near-duplicates as an estimator with the conventions of scikit-learn."""

from __future__ import annotations

from typing import Any

from ._quern import DedupResult, dedup


class Deduplicator:
    """Removes near-duplicates; parameters are those of `quern.dedup`.

    With `store`, each `fit` also compares with all documents before, and adds the new ones.

    >>> import quern
    >>> remove = quern.Deduplicator(threshold=0.1)
    >>> remove.fit_filter(["Salt comes from the sea.", "Salt comes from the seas.", "Grain is ground."])
    ['Salt comes from the sea.', 'Grain is ground.']
    >>> remove.result_.dropped
    1
    """

    result_: DedupResult

    def __init__(self, **parameters: Any) -> None:
        self._parameters = parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters that were given."""
        return dict(self._parameters)

    def set_params(self, **parameters: Any) -> Deduplicator:
        """Replaces some parameters."""
        self._parameters = {**self._parameters, **parameters}
        return self

    def fit(self, documents: Any, y: object = None) -> Deduplicator:
        """Finds the near-duplicates; `result_` has them."""
        self.result_ = dedup(documents, **self._parameters)
        return self

    def fit_predict(self, documents: Any, y: object = None) -> Any:
        """A bool for each document: whether it stays."""
        return self.fit(documents).result_.keep

    def fit_filter(self, documents: Any) -> Any:
        """The documents that stay, in the type that was given: a list, or a frame or table that has them."""
        keep = self.fit_predict(documents)
        if hasattr(documents, "select") and hasattr(documents, "flatten_indices"):  # a Dataset of Hugging Face
            return documents.select(keep.nonzero()[0])
        if type(documents).__module__.split(".")[0] == "pandas":
            return documents[keep]
        if type(documents).__module__.split(".")[0] == "pyarrow":
            import pyarrow

            return documents.filter(pyarrow.array(keep))
        if hasattr(documents, "filter"):
            return documents.filter(keep)
        if isinstance(documents, (list, tuple)):
            return type(documents)(one for one, stays in zip(documents, keep) if stays)
        raise TypeError(
            f"fit_filter cannot filter {type(documents).__name__} (expected a list, a tuple, or a table of pandas, polars, "
            "pyarrow or datasets); use fit_predict, or dedup(..., output=FILE)"
        )

    def __repr__(self) -> str:
        return f"Deduplicator({', '.join(f'{name}={value!r}' for name, value in self._parameters.items())})"
