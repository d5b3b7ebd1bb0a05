# SPDX-License-Identifier: Apache-2.0
"""What kind of documents a user passed."""

from __future__ import annotations

import decimal
import json
import logging
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import Any

from ._quern import UsageError


def _files(path: str) -> list[str]:
    """The library expands patterns."""
    if path != "-" and not any(mark in path for mark in "*?[") and not os.path.exists(path):
        raise UsageError(f"{path}: no such file or folder (a str is a path; pass texts in a list)")
    return [path]


def _rows(columns: Mapping[str, Iterable[Any]]) -> Iterator[dict[str, Any]]:
    names = list(columns)
    for name, values in columns.items():
        if isinstance(values, (str, bytes)):
            raise UsageError(
                f"documents: the column {name} is a single text (expected one value for each document; "
                "a list with one mapping is a single document)"
            )
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
    if isinstance(given, (bytes, bytearray, memoryview)):
        raise TypeError("documents: expected text, not bytes; decode it")
    if isinstance(given, Mapping):
        return "iterable", _rows(given)
    if isinstance(given, (list, tuple)):
        _warn_of_names(given)
    if isinstance(given, Iterable):
        return "iterable", given
    if callable(getattr(given, "collect", None)):  # a lazy frame of polars
        raise TypeError(f"documents: {type(given).__name__} has no rows yet; give x.collect()")
    kind = "None" if given is None else type(given).__name__
    raise TypeError(
        f"documents: {kind} is not supported (expected a path, a list of path objects, an iterable of "
        "texts, pairs or mappings, or a table of pyarrow, polars, pandas, DuckDB or datasets)"
    )


def _has_pyarrow() -> bool:
    import importlib.util

    return importlib.util.find_spec("pyarrow") is not None


def rows_of_arrow(given: Any) -> Iterator[dict[str, Any]]:
    """The rows of Arrow data as mappings."""
    if not _has_pyarrow():
        raise UsageError("keep_fields: Arrow data need pyarrow for this (pip install pyarrow); mappings do not")
    import pyarrow

    if hasattr(given, "__arrow_c_stream__"):
        for batch in pyarrow.RecordBatchReader.from_stream(given):
            yield from batch.to_pylist()
    else:
        yield from pyarrow.record_batch(given).to_pylist()


def _plain(value: Any) -> Any:
    """A value that JSON has no type for, as one that it has."""
    if isinstance(value, decimal.Decimal):  # Python's writer of JSON has no numbers of more digits than a float
        return int(value) if value == value.to_integral_value() and value.adjusted() < 40 else float(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(type(value).__name__)
    if hasattr(value, "tolist"):  # numpy
        return value.tolist()
    if isinstance(value, (set, frozenset)):  # their order differs from process to process
        return sorted(value, key=lambda one: json.dumps(one, default=_plain))
    # The text of an object without __str__ is its address.
    has_text = any("__str__" in vars(kind) for kind in type(value).__mro__ if kind is not object)
    if not has_text:
        raise TypeError(type(value).__name__)
    return str(value)


def _is_nothing(value: Any) -> bool:
    return not value.is_finite() if isinstance(value, decimal.Decimal) else isinstance(value, float) and not math.isfinite(value)


def _json_of(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain)


class FieldsJson:
    """Makes the kept fields of a mapping, as the JSON object that a reader of files makes."""

    def __init__(self, kept: list[str]) -> None:
        self._kept = kept

    def __call__(self, document: Mapping[str, Any], used: list[str]) -> str:
        if self._kept == ["*"]:
            fields = {name: document[name] for name in document if name not in used}
        else:
            fields = {}
            for name in self._kept:  # the library follows a dotted name
                parts = name.split(".")
                starts = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
                fields.update({start: document[start] for start in starts if start in document})
        if not fields:
            return ""
        try:
            text = _json_of(fields)
        except (TypeError, ValueError, ArithmeticError):  # not-a-number, infinity: no value
            fields = {name: None if _is_nothing(value) else value for name, value in fields.items()}
            for name, value in fields.items():
                try:
                    _json_of({name: value})
                except (TypeError, ValueError, ArithmeticError) as why:
                    raise UsageError(f"keep_fields: a value of {name} has no form in JSON: {why}") from None
            text = _json_of(fields)
        return text if _is_utf8(text) else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _is_utf8(text: str) -> bool:
    """Without lone surrogates, which become U+FFFD, as in texts and in JSON lines."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
