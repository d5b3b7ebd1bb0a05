# SPDX-License-Identifier: Apache-2.0
"""Graphs from frames and networkx, and how ranks look."""

from __future__ import annotations

from typing import Any

from . import _quern
from ._display import table_html, table_text


def columns_of(frame: Any) -> list[Any]:
    """The columns of a frame or of an array of two or three columns."""
    if hasattr(frame, "iloc"):  # pandas
        columns = [frame.iloc[:, c] for c in range(frame.shape[1])]
        columns = [c.to_numpy() if c.dtype.kind in "biuf" else c for c in columns]
    elif hasattr(frame, "get_columns"):  # polars
        columns = list(frame.get_columns())
    elif hasattr(frame, "column_names") and hasattr(frame, "column"):  # pyarrow
        columns = [frame.column(c) for c in range(len(frame.column_names))]
        columns = [_arrow_column(c) for c in columns]
    elif hasattr(frame, "__arrow_c_stream__"):
        import pyarrow  # type: ignore[import-untyped, unused-ignore]

        return columns_of(pyarrow.table(frame))
    elif getattr(frame, "ndim", None) == 2:
        columns = [frame[:, c] for c in range(frame.shape[1])]
    elif isinstance(frame, list) and all(isinstance(link, (tuple, list)) for link in frame):
        columns = _columns_of_links(frame)
    else:
        raise TypeError(
            "from_edges: expected src and dst, one frame of their two columns, or a list of pairs, got "
            f"{type(frame).__module__}.{type(frame).__qualname__} alone"
        )
    if len(columns) not in (2, 3):
        expected = "a frame of source, target and perhaps weight"
        raise TypeError(f"from_edges: expected {expected}, got {len(columns)} columns")
    return columns


def _columns_of_links(links: list[Any]) -> list[Any]:
    if not links:
        return [[], []]
    for at, link in enumerate(links):
        if len(link) != len(links[0]):
            raise TypeError(f"from_edges: link {at} has {len(link)} values, and the first has {len(links[0])}")
    return [list(column) for column in zip(*links)]


def _arrow_column(column: Any) -> Any:
    if column.null_count:
        raise _quern.UsageError("from_edges: a column has missing values; drop them: table.drop_null()")
    kind = str(column.type)
    return column if "string" in kind else column.to_numpy()


def from_networkx(graph: Any, weight: str | None) -> Any:
    """As Graph.from_networkx."""
    if not (hasattr(graph, "nodes") and hasattr(graph, "edges") and hasattr(graph, "is_directed")):
        raise TypeError(f"from_networkx: expected a graph of networkx, got {type(graph).__name__}")
    labels = list(graph.nodes)
    position = {label: i for i, label in enumerate(labels)}
    src: list[int] = []
    dst: list[int] = []
    weights: list[float] = []
    directed = graph.is_directed()
    for a, b, data in graph.edges(data=True):
        ends = [(a, b)] if directed or a == b else [(a, b), (b, a)]
        for one, other in ends:
            src.append(position[one])
            dst.append(position[other])
            if weight is not None:
                weights.append(float(data.get(weight, 1)))
    return _quern.Graph.from_edges(src, dst, weights if weight is not None else None, labels)


def text_of_ranks(found: Any) -> str:
    return table_text(found.table)


def html_of_ranks(found: Any) -> str:
    return table_html(found.table)
