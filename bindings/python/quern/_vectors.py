# SPDX-License-Identifier: Apache-2.0
"""Results of VectorSet, its pickles, and an estimator with the conventions of scikit-learn."""

from __future__ import annotations

import contextlib
import html
import inspect
import os
from collections.abc import Iterator
from typing import Any

from . import _quern

_module: Any = _quern  # its names with an underscore are in no stub


class Neighbors(tuple[Any, Any]):
    """The nearest vectors of each query: a pair of arrays, (distances, ids)."""

    _whole: bool

    def __new__(cls, distances: Any, ids: Any, whole: bool = False) -> Neighbors:
        made = super().__new__(cls, (distances, ids))
        made._whole = whole
        return made

    def __getnewargs__(self) -> tuple[Any, Any, bool]:
        return (self[0], self[1], self._whole)

    @property
    def distances(self) -> Any:
        """Of shape (queries, k), best first; inf (ip: -inf) where there are fewer than k."""
        return self[0]

    @property
    def ids(self) -> Any:
        """Rows of the vectors, int64, in the shape of the distances; -1 where there are fewer than k."""
        return self[1]

    @property
    def fingerprint(self) -> str:
        """XXH3-64 of the rows query, rank, id, distance that `quern nearest --format tsv` writes."""
        import numpy

        distances, ids = numpy.atleast_2d(_on_host(self[0])), numpy.atleast_2d(_on_host(self[1]))
        lims = numpy.arange(ids.shape[0] + 1, dtype="int64") * ids.shape[1]
        return str(_module._fingerprint_of_rankings(lims, distances.reshape(-1), ids.reshape(-1), self._whole))


class RangeNeighbors(tuple[Any, Any, Any]):
    """The vectors within a radius of each query: three arrays, (lims, distances, ids)."""

    _whole: bool

    def __new__(cls, lims: Any, distances: Any, ids: Any, whole: bool = False) -> RangeNeighbors:
        made = super().__new__(cls, (lims, distances, ids))
        made._whole = whole
        return made

    def __getnewargs__(self) -> tuple[Any, Any, Any, bool]:
        return (self[0], self[1], self[2], self._whole)

    @property
    def lims(self) -> Any:
        """int64: the neighbours of query q are at lims[q] up to lims[q + 1]."""
        return self[0]

    @property
    def distances(self) -> Any:
        """Best first for each query."""
        return self[1]

    @property
    def ids(self) -> Any:
        """Rows of the vectors, int64."""
        return self[2]

    @property
    def fingerprint(self) -> str:
        """XXH3-64 of the rows query, rank, id, distance that `quern nearest --radius R --format tsv` writes."""
        return str(_module._fingerprint_of_rankings(*map(_on_host, self), self._whole))


# ---- Pickles ----


def _is_sparse(x: Any) -> bool:
    return all(hasattr(x, name) for name in ("indptr", "indices", "data", "shape"))


def _on_host(array: Any) -> Any:
    """The array, or its copy if it lies in the memory of a GPU."""
    if not hasattr(array, "__cuda_array_interface__"):
        return array
    return array.get() if hasattr(array, "get") else array.cpu()


def _plain(array: Any) -> tuple[Any, str]:
    """A NumPy array of the same bytes, and the dtype if NumPy has none."""
    import numpy

    array = _on_host(array)
    if isinstance(array, numpy.ndarray):
        made = array
    elif hasattr(array, "__array__") or hasattr(array, "__array_interface__"):
        made = numpy.asarray(array)
    else:
        try:
            made = numpy.asarray(memoryview(array))
        except TypeError:
            made = numpy.from_dlpack(array)
    if made.dtype.name == "bfloat16":
        return made.view("uint16"), "bfloat16"
    # A subclass such as memmap would be restored as what its reduction says: the numbers are enough.
    return numpy.asarray(made), ""


class _Rows:
    """Sparse rows without scipy."""

    def __init__(self, shape: tuple[int, int], indptr: Any, indices: Any, data: Any) -> None:
        self.shape, self.indptr, self.indices, self.data = shape, indptr, indices, data


class _Numbers:
    """An array of a type that NumPy lacks."""

    def __init__(self, array: Any, dtype: str) -> None:
        self.array, self.dtype = array, dtype

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {**self.array.__array_interface__, "typestr": "<V2"}


def reduce(vectors: Any) -> tuple[Any, ...]:
    """What pickle stores: an array's numbers (out of band with protocol 5), or a file's path and its checksum."""
    source, options = vectors._source, vectors._options
    if isinstance(source, str) or hasattr(source, "__fspath__"):
        return _reopened, (os.path.abspath(os.fspath(source)), vectors.content, options)
    if _is_sparse(source):
        parts = [_plain(part)[0] for part in (source.indptr, source.indices, source.data)]
        return _of_rows, (tuple(int(n) for n in source.shape), *parts, options)
    array, dtype = _plain(source)
    return _of_array, (array, dtype, options)


def _reopened(path: str, content: str, options: dict[str, Any]) -> Any:
    vectors = _quern.VectorSet(path, **options)
    if vectors.content != content:
        raise _quern.InvalidInput(f"{path}: the vectors have changed since the set was pickled")
    return vectors


def _of_rows(shape: tuple[int, int], indptr: Any, indices: Any, data: Any, options: dict[str, Any]) -> Any:
    return _quern.VectorSet(_Rows(shape, indptr, indices, data), **options)


def _of_array(array: Any, dtype: str, options: dict[str, Any]) -> Any:
    return _quern.VectorSet(_Numbers(array, dtype) if dtype else array, **options)


def text_of(vectors: Any) -> str:
    rows, dimensions = vectors.shape
    kind = "sparse " if _is_sparse(vectors._source) else ""
    return f"VectorSet({rows:,} {kind}vectors of {dimensions:,} {vectors.dtype}, metric='{vectors.metric}')"


def html_of(vectors: Any) -> str:
    return f"<code>{html.escape(text_of(vectors))}</code>"


# ---- scikit-learn ----

_metric_names = {
    "euclidean": "l2",
    "l2": "l2",
    "minkowski": "l2",
    "sqeuclidean": "sql2",
    "sql2": "sql2",
    "manhattan": "l1",
    "cityblock": "l1",
    "l1": "l1",
    "chebyshev": "linf",
    "infinity": "linf",
    "linf": "linf",
    "cosine": "cosine",
    "ip": "ip",
    "hamming": "hamming",
}


class NearestNeighbors:
    """Nearest neighbours with the conventions of scikit-learn's class of this name, exact and without an index.

    Parameters are n_neighbors, radius, metric (scikit-learn's names or those of VectorSet), method and n_jobs
    (threads; None and -1: all). `metric="hamming"` counts differing bits of packed bytes, as VectorSet does. Neighbours
    are in the order of distance, ties by ascending index. As an estimator without labels it works in pipelines and with
    `sklearn.clone`; scikit-learn is not imported. Lists and integers become float64, other types stay as they are;
    queries become the type of the fitted vectors.

    >>> import numpy, quern
    >>> points = numpy.array([[0.0], [1.0], [3.0]])
    >>> neighbors = quern.NearestNeighbors(n_neighbors=1).fit(points)
    >>> distances, indices = neighbors.kneighbors([[2.6]])
    >>> indices.tolist(), distances.round(3).tolist()
    ([[2]], [[0.4]])
    """

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        radius: float = 1.0,
        metric: str = "euclidean",
        method: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.metric = metric
        self.method = method
        self.n_jobs = n_jobs

    # What sklearn.base.BaseEstimator gives.

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""
        names = [name for name in inspect.signature(type(self).__init__).parameters if name != "self"]
        return {name: getattr(self, name) for name in names}

    def set_params(self, **params: Any) -> NearestNeighbors:
        """Sets parameters; ValueError for another name."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"invalid parameter {name!r} for NearestNeighbors (expected {', '.join(known)})")
            setattr(self, name, value)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "vectors_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags  # type: ignore[import-not-found, unused-ignore]

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(sparse=True),
        )

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name].default]
        return f"NearestNeighbors({', '.join(changed)})"

    @classmethod
    def _of(cls, vectors: Any) -> NearestNeighbors:
        options = vectors._options
        made = cls(metric=options["metric"], method=options["method"], n_jobs=options.get("threads"))
        made._take(vectors)
        return made

    def _take(self, vectors: Any) -> None:
        self.vectors_ = vectors
        self.n_samples_fit_, self.n_features_in_ = vectors.shape
        self.effective_metric_ = vectors.metric

    def fit(self, X: Any, y: Any = None) -> NearestNeighbors:
        """Keeps the vectors: an array, sparse rows, a list of rows, or a VectorSet. `y` is ignored."""
        if isinstance(X, _quern.VectorSet):
            self._take(X)
            return self
        if self.metric not in _metric_names:
            raise ValueError(f"invalid metric {self.metric!r} (expected {', '.join(_metric_names)})")
        threads = 0 if self.n_jobs in (None, -1) else int(self.n_jobs or 0)
        metric: Any = _metric_names[self.metric]
        method: Any = self.method
        if hasattr(X, "columns") and hasattr(X, "to_numpy"):
            self.feature_names_in_ = _array([str(name) for name in X.columns], "object")
        vectors = _numbers(X, None)
        with _finite():
            self._take(_module.VectorSet(vectors, metric=metric, method=method, threads=threads))
        return self

    def _fitted(self) -> Any:
        if not hasattr(self, "vectors_"):
            message = "this NearestNeighbors is not fitted yet: call fit first"
            try:
                from sklearn.exceptions import NotFittedError  # type: ignore[import-not-found, unused-ignore]
            except ImportError:
                raise ValueError(message) from None
            raise NotFittedError(message)
        return self.vectors_

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """(distances, indices) of the nearest neighbours; without `X` of the fitted vectors, none of itself.

        Arrays of shape (queries, n_neighbors). ValueError if there are fewer vectors than that.
        """
        vectors = self._fitted()
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        if not isinstance(k, _integer_types()) or isinstance(k, bool):
            raise TypeError(f"n_neighbors: expected an integer, got {k!r}")
        if k < 1:
            raise ValueError(f"n_neighbors: invalid value {k} (expected at least 1)")
        itself = X is None
        if k + itself > len(vectors):
            raise ValueError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {k}, n_samples_fit = {len(vectors)}"
            )
        if itself:
            distances, ids = _without_itself(*map(_on_host, vectors.search(vectors._source, k + 1)))
        else:
            queries = _numbers(X, vectors)
            with _finite():
                distances, ids = map(_on_host, vectors.search(queries, k))
        return (distances, ids) if return_distance else ids

    def radius_neighbors(
        self, X: Any = None, radius: float | None = None, return_distance: bool = True, sort_results: bool = True
    ) -> Any:
        """(distances, indices): arrays of arrays with the vectors within the radius, sorted by distance."""
        import numpy

        vectors = self._fitted()
        within = self.radius if radius is None else radius
        itself = X is None
        queries = vectors._source if itself else _numbers(X, vectors)
        with _finite():
            lims, distances, ids = map(_on_host, vectors.range_search(queries, within))
        found_distances, found_ids = (numpy.empty(len(lims) - 1, dtype=object) for _ in range(2))
        for query, (begin, end) in enumerate(zip(lims[:-1], lims[1:])):
            one_distances, one_ids = distances[begin:end], ids[begin:end]
            if itself:
                others = one_ids != query
                one_distances, one_ids = one_distances[others], one_ids[others]
            found_distances[query], found_ids[query] = one_distances, one_ids
        return (found_distances, found_ids) if return_distance else found_ids

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Any:
        """A scipy CSR matrix of shape (queries, vectors): 1, or with mode="distance" the distance, for neighbours."""
        import numpy

        _check_mode(mode)
        distances, ids = self.kneighbors(X, n_neighbors)
        indptr = numpy.arange(ids.shape[0] + 1) * ids.shape[1]
        return self._graph(indptr, distances.reshape(-1), ids.reshape(-1), mode)

    def radius_neighbors_graph(
        self, X: Any = None, radius: float | None = None, mode: str = "connectivity", sort_results: bool = True
    ) -> Any:
        """The same for all vectors within the radius."""
        import numpy

        _check_mode(mode)
        distances, ids = self.radius_neighbors(X, radius)
        indptr = numpy.concatenate([[0], numpy.cumsum([len(one) for one in ids])]).astype("int64")
        if len(ids) == 0:
            return self._graph(indptr, numpy.empty(0), numpy.empty(0, dtype="int64"), mode)
        return self._graph(indptr, numpy.concatenate(list(distances)), numpy.concatenate(list(ids)), mode)

    def _graph(self, indptr: Any, distances: Any, ids: Any, mode: str) -> Any:
        import numpy
        from scipy.sparse import csr_matrix  # type: ignore[import-untyped, unused-ignore]

        values = numpy.ones(len(ids)) if mode == "connectivity" else distances
        return csr_matrix((values, ids, indptr), shape=(len(indptr) - 1, len(self._fitted())))


@contextlib.contextmanager
def _finite() -> Iterator[None]:
    """Words that callers of scikit-learn look for."""
    try:
        yield
    except _quern.InvalidInput as refused:
        if "not finite" not in str(refused):
            raise
        raise _quern.InvalidInput(f"Input X contains NaN or infinity: {refused}") from None


def _check_mode(mode: str) -> None:
    if mode not in ("connectivity", "distance"):
        raise ValueError(f"mode: invalid value {mode!r} (expected 'connectivity' or 'distance')")


def _integer_types() -> tuple[type, ...]:
    import numpy

    return (int, numpy.integer)


def _array(values: Any, dtype: str) -> Any:
    import numpy

    return numpy.asarray(values, dtype=dtype)


def _numbers(X: Any, vectors: Any) -> Any:
    """Vectors that VectorSet reads; queries in the type of the fitted vectors."""
    import numpy

    if _is_sparse(X) or hasattr(X, "tocsr"):
        rows = X.tocsr() if hasattr(X, "tocsr") else X
        rows = rows if rows.data.dtype == numpy.float32 else rows.astype(numpy.float32)
        if hasattr(rows, "sum_duplicates") and not getattr(rows, "has_canonical_format", True):
            rows = rows.copy()
            rows.sum_duplicates()
        return rows
    if not hasattr(X, "__dlpack__") or isinstance(X, numpy.ndarray):
        X = numpy.asarray(X)
        if X.dtype.kind == "c":
            raise ValueError(f"Complex data not supported: {X.dtype.name}")
        if X.dtype.kind == "O":
            X = X.astype(numpy.float64)
        if X.ndim == 1:
            raise ValueError(
                f"Expected 2D array, got 1D array instead: {X.shape}. Reshape your data using X.reshape(1, -1) for one "
                "vector or X.reshape(-1, 1) for one dimension"
            )
        for extent, what in zip(X.shape, ("sample", "feature")):
            if extent == 0:
                raise ValueError(f"Found array with 0 {what}(s) (shape={X.shape}) while a minimum of 1 is required.")
        if vectors is not None:
            wanted = {"bits": "uint8"}.get(vectors.dtype, vectors.dtype)
            if X.dtype.name != wanted and wanted != "bfloat16":
                converted = X.astype(wanted)
                if converted.dtype.kind in "iu" and not numpy.array_equal(converted, X):
                    raise ValueError(f"queries: values that {wanted}, the type of the fitted vectors, does not hold")
                return converted
        elif X.dtype.kind in "iub" and X.dtype.name not in ("int8", "uint8", "int16"):
            return X.astype(numpy.float64)
    return X


def _without_itself(distances: Any, ids: Any) -> tuple[Any, Any]:
    """Drops from each row its own id, or the last if others at distance 0 come before it."""
    import numpy

    rows, k = ids.shape
    others = ids != numpy.arange(rows)[:, None]
    others[others.all(axis=1), -1] = False
    return distances[others].reshape(rows, k - 1), ids[others].reshape(rows, k - 1)
