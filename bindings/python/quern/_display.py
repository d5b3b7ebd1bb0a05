# SPDX-License-Identifier: Apache-2.0
"""How results look on a terminal and in a notebook."""

from __future__ import annotations

import html
import itertools
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


def result_html(result: Any, table: str) -> str:
    """What a result says of itself, and the first rows of one of its tables."""
    rows = getattr(result, table)
    shown = table_html(rows) if len(rows) else ""
    return f"<div><p>{html.escape(repr(result))}</p>{shown}</div>"


def _count(number: int, one: str) -> str:
    return f"{number:,} {one}" if number == 1 else f"{number:,} {one}s"


def store_text(store: Any) -> str:
    """One line: path and size."""
    return f"Store({store.path!r}, {_count(store.documents, 'document')})"


def store_html(store: Any) -> str:
    """The counts and text options of a store."""
    shown = {"documents": f"{store.documents:,}", "distinct words": f"{store.vocabulary:,}"}
    shown |= {name: str(value) for name, value in store.text_options.items()}
    rows = "".join(f"<tr><th>{html.escape(k)}</th><td>{html.escape(v)}</td></tr>" for k, v in shown.items())
    return f"<div><p>{html.escape(store.path)}</p><table>{rows}</table></div>"


def ids_text(ids: Any) -> str:
    """The first ids."""
    shown = ", ".join(repr(ids[i]) for i in range(min(len(ids), 3)))
    return f"Ids([{shown}{', …' if len(ids) > 3 else ''}], {len(ids):,})"


def run_text(topics: int, rows: int) -> str:
    """One line: size."""
    return f"Run({_count(topics, 'topic')}, {_count(rows, 'document')})"


def hit_text(hit: Any) -> str:
    """One line: rank, id, score, title."""
    return f"Hit({hit.rank}, {hit.id!r}, {hit.score:.6g}, {_cell(hit.title)!r})"


def hits_text(hits: Any) -> str:
    """The first hits with their passages, and what was unknown."""
    lines = [f"{_count(len(hits), 'hit')} for {_cell(hits.query)!r}"]
    for hit in hits[:_rows_shown]:
        lines.append(
            f"{hit.rank:>4}  {hit.score:>9.4f}  {_cell(hit.id)}" + (f"  {_cell(hit.title)}" if hit.title else "")
        )
    if len(hits) > _rows_shown:
        lines.append(f"… {len(hits) - _rows_shown:,} more")
    if hits.unknown_words:
        lines.append("no document contains " + _cell(", ".join(hits.unknown_words)))
    return "\n".join(lines)


def hits_html(hits: Any) -> str:
    """The first hits with marked titles and passages."""

    def marked(text: Any) -> str:
        return str(text.mark("<b>", "</b>", escape=html.escape))

    items = "".join(
        f"<li value='{hit.rank}'><p>{marked(hit.title) or html.escape(hit.id)} <small>{html.escape(hit.id)}, "
        f"{hit.score:.4f}</small><br>{marked(hit.snippet)}</p></li>"
        for hit in hits[:_rows_shown]
    )
    more = f"<p>… {len(hits) - _rows_shown:,} more</p>" if len(hits) > _rows_shown else ""
    unknown = ""
    if hits.unknown_words:
        unknown = f"<p>No document contains {html.escape(', '.join(hits.unknown_words))}.</p>"
    heading = f"<p>{_count(len(hits), 'hit')} for {html.escape(hits.query)}</p>"
    return f"<div>{heading}<ol>{items}</ol>{more}{unknown}</div>"


def build_text(result: Any) -> str:
    """One line: counts and time."""
    duplicates = f", {_count(result.duplicates, 'near-duplicate')} excluded" if result.duplicates else ""
    return (
        f"BuildResult({_count(result.documents, 'document')}, {_count(result.words, 'word')}, "
        f"{result.vocabulary:,} distinct{duplicates}; {result.seconds:.1f} s)"
    )


def evaluation_text(evaluation: Any) -> str:
    """The means of the measures."""
    means = ", ".join(f"{name} {value:.4f}" for name, value in evaluation.mean.items())
    return f"Evaluation({_count(len(evaluation.topics), 'topic')}: {means})"


def thesaurus_html(thesaurus: Any) -> str:
    """The most frequent words with the words that are used most alike."""
    rows = []
    for word in itertools.islice((word for word in thesaurus.words if not thesaurus.is_stop_word(word)), _rows_shown):
        near = ", ".join(thesaurus.similar(word, k=3)["word"])
        rows.append(f"<tr><td>{html.escape(_cell(word))}</td><td>{html.escape(_cell(near))}</td></tr>")
    heading = f"{html.escape(_cell(thesaurus.path))}: {_count(len(thesaurus), 'word')}"
    head = "<th>word</th><th>used alike</th>"
    return f"<div><p>{heading}</p><table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"


def dictionary_html(dictionary: Any) -> str:
    """What a dictionary holds."""
    info = dictionary.info
    of = f"{_count(info['documents'], 'document')}, {info['occurrences']:,} occurrences"
    return f"<p>{html.escape(_cell(dictionary.path))}: {_count(len(dictionary), 'word')} of {of}</p>"


def model_html(model: Any) -> str:
    """The numbers of n-grams."""
    return table_html(model.totals)
