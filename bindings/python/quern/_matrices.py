# SPDX-License-Identifier: Apache-2.0
"""Sparse matrices for scipy and pickle."""

from __future__ import annotations

from typing import Any

from . import _quern


class _Rows:
    """Sparse rows without scipy."""

    def __init__(self, shape: tuple[int, int], indptr: Any, indices: Any, data: Any) -> None:
        self.shape, self.indptr, self.indices, self.data = shape, indptr, indices, data


def of_torch(tensor: Any) -> Any:
    """Rows of a tensor of PyTorch in the layout sparse_csr."""
    if len(tensor.shape) != 2:
        raise TypeError(f"matrix: expected a tensor of two dimensions, got one of shape {tuple(tensor.shape)}")
    return _Rows(tuple(tensor.shape), tensor.crow_indices(), tensor.col_indices(), tensor.values())


def reduce(matrix: Any) -> tuple[Any, ...]:
    """Arrays, which protocol 5 passes out of band; also of a matrix from a file."""
    return _of_rows, (matrix.shape, matrix.indptr, matrix.indices, matrix.data)


def _of_rows(shape: tuple[int, int], indptr: Any, indices: Any, data: Any) -> Any:
    return _quern.SparseMatrix(_Rows(shape, indptr, indices, data))


def to_scipy(matrix: Any) -> Any:
    """As SparseMatrix.to_scipy."""
    from scipy import sparse  # type: ignore[import-untyped, unused-ignore]

    rows, columns = matrix.shape
    wide = max(columns, matrix.nnz) >= 2**31
    indices = matrix.indices.astype("int64") if wide else matrix.indices.view("int32")
    indptr = matrix.indptr.view("int64") if wide else matrix.indptr.astype("int32")
    return sparse.csr_array((matrix.data, indices, indptr), shape=(rows, columns))


def text_of(matrix: Any) -> str:
    rows, columns = matrix.shape
    return f"SparseMatrix({rows:,} x {columns:,}, {matrix.nnz:,} entries of {matrix.dtype})"
