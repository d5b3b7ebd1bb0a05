# SPDX-License-Identifier: Apache-2.0
"""What kind of documents a user passed."""

from __future__ import annotations

import glob
import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import Any

from ._quern import UsageError


def _is_pattern(path: str) -> bool:
    return glob.has_magic(path) and not os.path.exists(path)


def _files(path: str) -> list[str]:
    if not _is_pattern(path):
        if path != "-" and not os.path.exists(path):
            raise UsageError(f"{path}: no such file or folder (a str is a path; pass texts in a list)")
        return [path]
    found = sorted(glob.glob(path, recursive=True))
    if not found:
        raise UsageError(f"no file matches {path}")
    return found


def _rows(columns: Mapping[str, Iterable[Any]]) -> Iterator[dict[str, Any]]:
    names = list(columns)
    sizes = {name: len(values) for name, values in columns.items() if isinstance(values, Sized)}
    if len(set(sizes.values())) > 1:
        shown = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise UsageError(f"documents: the columns have different numbers of values: {shown}")
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(names, values))


def _is_of_pandas(given: Any) -> bool:
    return type(given).__module__.split(".")[0] == "pandas"


def _is_hugging_face(given: Any) -> bool:
    return type(given).__module__.startswith("datasets.") and hasattr(given, "data")


def _warn_of_names(texts: list[Any] | tuple[Any, ...]) -> None:
    """A list of the names of files is most probably meant as files."""
    if 0 < len(texts) <= 100 and all(isinstance(text, str) and len(text) < 256 and os.path.isfile(text) for text in texts):
        logging.getLogger("quern").warning(
            "the texts are names of files, and are taken as texts; for files pass path objects, such as pathlib.Path(%r)",
            texts[0],
        )


def recognise(given: Any) -> tuple[str, Any]:
    """The kind ("files", "arrow_stream", "arrow_array", "iterable") and the value to read."""
    if isinstance(given, (str, os.PathLike)):
        return "files", _files(os.fspath(given))
    if isinstance(given, (list, tuple)) and given and all(isinstance(one, os.PathLike) for one in given):
        return "files", [path for one in given for path in _files(os.fspath(one))]
    if _is_hugging_face(given):
        table = given.data.table
        indices = getattr(given, "_indices", None)
        return "arrow_stream", table if indices is None else table.take(indices.column(0))
    # pandas needs pyarrow for its Arrow stream.
    if hasattr(given, "__arrow_c_stream__"):
        if not _is_of_pandas(given) or _has_pyarrow():
            return "arrow_stream", given
    if hasattr(given, "__arrow_c_array__"):
        return "arrow_array", given
    if _is_of_pandas(given) and hasattr(given, "itertuples"):
        return "iterable", _rows({str(name): given[name] for name in given.columns})
    if isinstance(given, (bytes, bytearray)):
        raise TypeError("documents: expected text, not bytes; decode it")
    if isinstance(given, Mapping):
        return "iterable", _rows(given)
    if isinstance(given, (list, tuple)):
        _warn_of_names(given)
    if isinstance(given, Iterable):
        return "iterable", given
    raise TypeError(
        f"documents: {type(given).__name__} is not supported (expected a path, a list of path objects, an iterable of "
        "texts, pairs or mappings, or a table of pyarrow, polars, pandas, DuckDB or datasets)"
    )


def _has_pyarrow() -> bool:
    import importlib.util

    return importlib.util.find_spec("pyarrow") is not None
