# SPDX-License-Identifier: Apache-2.0
"""Topics, runs and judgements of Python as plain lists."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any

from . import _quern
from ._quern import UsageError

_private: Any = _quern  # the stubs leave out names that begin with _

_topic_names = ("topic", "query_id", "qid", "query-id", "topic_id", "q_id", "id", "_id")
_query_names = ("query", "text", "title", "topic_text")
_document_names = ("document", "doc_id", "docid", "docno", "doc", "corpus-id", "id")
_score_names = ("score", "sim")
_grade_names = ("relevance", "grade", "rel", "score", "label")
_rank_names = ("rank",)


def _is_frame(given: Any) -> bool:
    if isinstance(given, Mapping) and all(isinstance(name, str) for name in given):
        return False
    return hasattr(given, "columns") or hasattr(given, "column_names") or hasattr(given, "__arrow_c_stream__")


def _is_column(given: Any) -> bool:
    is_frame = hasattr(given, "columns") or hasattr(given, "column_names")
    return not is_frame and (hasattr(given, "to_list") or hasattr(given, "to_pylist"))


def _frame(given: Any) -> Any:
    """One that is indexed by names of columns; streams and DuckDB's relations are read."""
    has_columns = hasattr(given, "columns") or hasattr(given, "column_names")  # a Run has rows of topics
    if has_columns and hasattr(given, "__getitem__") and not type(given).__module__.split(".")[0].endswith("duckdb"):
        return given
    import pyarrow

    return pyarrow.table(given)


def _names(frame: Any) -> list[str]:
    # pyarrow's `columns` are the columns themselves.
    names: Any = frame.column_names if hasattr(frame, "column_names") else frame.columns
    return [str(name) for name in names]


def _values(column: Any) -> list[Any]:
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, name):
            return list(getattr(column, name)())
    return list(column)


def _columns(frame: Any, wanted: Iterable[tuple[str, tuple[str, ...], bool]]) -> list[list[Any] | None]:
    """The columns by their usual names, in the order of `wanted`: what, names, whether it is required."""
    frame = _frame(frame)
    names = _names(frame)
    found: list[list[Any] | None] = []
    used: set[str] = set()
    for what, usual, required in wanted:
        name = next((name for name in usual if name in names and name not in used), None)
        if name is None and required:
            raise UsageError(
                f"no column has a usual name for the {what} (expected {', '.join(usual)}; there are "
                f"{', '.join(names) or 'none'})"
            )
        if name is not None:
            used.add(name)
        found.append(None if name is None else _values(frame[name]))
    return found


def _text(what: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        raise TypeError(f"{what} must be a str, not {type(value).__name__}")
    try:
        return str(operator.index(value))  # ids are often whole numbers
    except TypeError:
        raise TypeError(f"{what} must be a str, not {type(value).__name__}") from None


def weights_text(weights: Mapping[Any, Any]) -> str:
    """Words with weights as a query of a store of weights: `word^weight`, a tab after each."""
    parts: list[str] = []
    if not hasattr(weights, "items"):
        raise TypeError(f"weights: expected a dict of words and weights, got {type(weights).__name__}")
    for word, weight in weights.items():
        text = _text("a word of the weights", word)
        if not text or any(c in "\t\n\r" for c in text):
            raise UsageError(f"the word {text!r} is empty, or has a tab or line end")
        try:
            number = float(weight)
        except (TypeError, ValueError):
            raise TypeError(f"the weight of {text!r} must be a number, not {type(weight).__name__}") from None
        if not 0 <= number < float("inf"):
            raise UsageError(f"the weight of {text!r} is {number} (expected a number of at least 0)")
        parts.append(f"{text}^{number!r}\t")
    return "".join(parts)


def topics_of(given: Any) -> list[tuple[str, str]]:
    """Pairs of id and query."""
    pairs: list[tuple[str, str]] = []
    rows: Iterable[Any]
    if _is_column(given):  # the index of a pandas Series has the ids, as the keys of a dict
        rows = given.items() if hasattr(given, "items") else _values(given)
    elif _is_frame(given):
        given = _frame(given)
        names = [name for name in _names(given) if name in (*_topic_names, *_query_names)]
        if len(_names(given)) == 2 and len(names) < 2:  # any names: the first column is the id
            ids, queries = (_values(given[name]) for name in _names(given))
        else:
            columns = _columns(given, [("id of a topic", _topic_names, True), ("query", _query_names, True)])
            ids, queries = columns[0] or [], columns[1] or []
        rows = zip(ids, queries)
    elif isinstance(given, Mapping):
        rows = given.items()
    elif isinstance(given, (bytes, bytearray)) or not isinstance(given, Iterable):
        raise TypeError(f"topics must be a dict, a list, a frame or a path, not {type(given).__name__}")
    else:
        rows = given
    for number, row in enumerate(rows):
        if isinstance(row, str):
            pairs.append((str(number), row))
            continue
        try:
            topic, query = row[0], row[1]
        except (TypeError, IndexError, KeyError):
            raise UsageError(f"topic {number}: {row!r} is not a query or a pair of id and query") from None
        if isinstance(query, Mapping):
            query = weights_text(query)
        if not isinstance(query, str):
            raise TypeError(f"the query of topic {topic!r} must be a str, not {type(query).__name__}")
        pairs.append((_text("the id of a topic", topic), query))
    seen: set[str] = set()
    for topic, _ in pairs:
        if not topic or any(c.isspace() for c in topic):
            raise UsageError(f"the id of a topic is {topic!r} (expected a text without white space)")
        if topic in seen:
            raise UsageError(f"the topic {topic!r} occurs twice")
        seen.add(topic)
    return pairs


def _rows(given: Any, what: str, values: tuple[str, ...]) -> tuple[list[Any], list[Any], list[Any], list[Any] | None]:
    """Topics, documents, values and, if there are any, ranks: a row each."""
    if type(given).__module__ == "quern._quern" and type(given).__name__ == "Run":
        given = given.table
    if _is_frame(given):
        columns = _columns(
            given,
            [
                ("topic", _topic_names, True),
                ("document", _document_names, True),
                (what, values, True),
                ("rank", _rank_names, False),
            ],
        )
        return columns[0] or [], columns[1] or [], columns[2] or [], columns[3]
    topics: list[Any] = []
    documents: list[Any] = []
    numbers: list[Any] = []
    if isinstance(given, Mapping):
        for topic, of_topic in given.items():
            if not isinstance(of_topic, Mapping):
                raise TypeError(
                    f"topic {topic!r}: expected a dict of documents and their {what}, not {type(of_topic).__name__}"
                )
            topics += [topic] * len(of_topic)
            documents += of_topic.keys()
            numbers += of_topic.values()
        return topics, documents, numbers, None
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise TypeError(
            f"expected a dict of dicts, a frame, rows of topic, document and {what}, or a path, not "
            f"{type(given).__name__}"
        )
    for row in given:
        if len(row) < 3:
            raise UsageError(f"{row!r} is not a row of topic, document and {what}")
        topics.append(row[0])
        documents.append(row[1])
        numbers.append(row[2])
    return topics, documents, numbers, None


def _number(topic: Any, document: Any, value: Any) -> float:
    if isinstance(value, (str, bytes, bool)) or value is None:
        raise TypeError(
            f"topic {topic!r}, document {document!r}: the score must be a number, not {type(value).__name__}"
        )
    return float(value)


def _grade(topic: Any, document: Any, value: Any) -> int:
    if not isinstance(value, (str, bytes, bool)) and value is not None:
        try:
            return operator.index(value)
        except TypeError:
            if float(value).is_integer():
                return int(value)
    raise TypeError(f"topic {topic!r}, document {document!r}: the grade must be a whole number, not {value!r}")


def _rank(topic: Any, document: Any, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(
            f"topic {topic!r}, document {document!r}: the rank must be a whole number, not {value!r}"
        ) from None


def run_of(given: Any) -> Any:
    """A Run of anything but a path."""
    topics, documents, scores, ranks = _rows(given, "score", _score_names)
    of_topic: dict[str, list[tuple[float, str, int]]] = {}
    for at, topic in enumerate(topics):
        rows = of_topic.setdefault(_text("a topic", topic), [])
        rank = 0 if ranks is None else _rank(topic, documents[at], ranks[at])
        rows.append((_number(topic, documents[at], scores[at]), _text("a document", documents[at]), rank))
    for rows in of_topic.values():
        if ranks is None:
            rows.sort(key=lambda row: -row[0])  # stable: equal scores keep their order
            rows[:] = [(row[0], row[1], rank) for rank, row in enumerate(rows, 1)]
    all_rows = [row for rows in of_topic.values() for row in rows]
    return run_of_lists(
        list(of_topic),
        [len(rows) for rows in of_topic.values()],
        [row[1] for row in all_rows],
        [row[2] for row in all_rows],
        [row[0] for row in all_rows],
    )


def run_of_lists(topics: list[str], sizes: list[int], documents: list[str], ranks: Any, scores: Any) -> Any:
    """A Run of rows, topic by topic."""
    return _private.Run._of_lists(topics, sizes, documents, ranks, scores)


def judgements_of(given: Any) -> tuple[list[str], list[str], list[int]]:
    """Topics, documents and grades: a row each."""
    topics, documents, grades, _ = _rows(given, "grade", _grade_names)
    return (
        [_text("a topic", topic) for topic in topics],
        [_text("a document", document) for document in documents],
        [_grade(*row) for row in zip(topics, documents, grades)],
    )
