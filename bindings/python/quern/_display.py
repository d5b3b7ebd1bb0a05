# SPDX-License-Identifier: Apache-2.0
"""How results look on a terminal and in a notebook."""

from __future__ import annotations

import html
import unicodedata
from typing import Any

_rows_shown = 10
_characters_shown = 60


def _cell(value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    # Control characters of documents must not reach a terminal.
    text = "".join(" " if unicodedata.category(c).startswith("C") else c for c in text)
    return text if len(text) <= _characters_shown else text[: _characters_shown - 1] + "…"


def _shown(table: Any) -> tuple[list[str], list[list[str]]]:
    names = table.columns
    return names, [[_cell(table[i][name]) for name in names] for i in range(min(len(table), _rows_shown))]


def table_text(table: Any) -> str:
    """The first rows, aligned."""
    names, rows = _shown(table)
    heading = f"{table._what}: {len(table):,}"
    if not rows:
        return heading
    widths = [max(len(row[c]) for row in [names, *rows]) for c in range(len(names))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in [names, *rows]]
    if len(table) > len(rows):
        lines.append(f"… {len(table) - len(rows):,} more")
    return "\n".join([heading, *lines])


def table_html(table: Any) -> str:
    """The first rows as an HTML table."""
    names, rows = _shown(table)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    more = f"<p>… {len(table) - len(rows):,} more</p>" if len(table) > len(rows) else ""
    return (
        f"<div><p>{html.escape(table._what)}: {len(table):,}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}</div>"
    )


def dedup_html(result: Any) -> str:
    """The counts of near-duplicates, and the first removed ones."""
    removed = table_html(result.removed) if len(result.removed) else ""
    return f"<div><p>{result.documents:,} documents, {result.dropped:,} dropped</p>{removed}</div>"
