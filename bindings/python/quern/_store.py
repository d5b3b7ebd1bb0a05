# SPDX-License-Identifier: Apache-2.0
"""What a store returns: texts with marks, documents, counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from . import _quern

_private: Any = _quern  # the stubs leave out names that begin with _
Mapping.register(_quern.Hit)


class MarkedText(str):
    """A str that knows where the words of a query are in it."""

    _source: tuple[Any, str] | None
    _marks: tuple[tuple[int, int], ...]

    def __new__(
        cls, text: str, hit: Any = None, which: str = "", marks: tuple[tuple[int, int], ...] = ()
    ) -> MarkedText:
        made = super().__new__(cls, text)
        made._source = None if hit is None else (hit, which)
        made._marks = marks
        return made

    @property
    def marks(self) -> tuple[tuple[int, int], ...]:
        """Begin and end of each word of the query, in characters; with stemming also other forms of a word."""
        if self._source is not None:
            hit, which = self._source
            self._marks = hit._marks(which)
            self._source = None
        return self._marks

    def mark(self, before: str = "**", after: str | None = None, escape: Callable[[str], str] | None = None) -> str:
        """The text with `before` and `after` (default: `before`) around each word of the query.

        For HTML pass `escape=html.escape`, which is applied to the text, not to the marks: documents may contain tags.
        """
        after = before if after is None else after
        escaped = escape or (lambda text: text)
        parts, done = [], 0
        for begin, end in self.marks:
            parts += [escaped(self[done:begin]), before, escaped(self[begin:end]), after]
            done = end
        return "".join([*parts, escaped(self[done:])])

    def __reduce__(self) -> tuple[Any, ...]:
        return MarkedText, (str(self), None, "", self.marks)


def each(sequence: Any) -> Iterator[Any]:
    """The elements in order."""
    for position in range(len(sequence)):
        yield sequence[position]


def reopened(path: str, fingerprint: str) -> Any:
    """The store of a pickle."""
    return _private._reopened(path, fingerprint)


def searched_again(store: Any, query: str, document: str | None, arguments: dict[str, Any]) -> Any:
    """The hits of a pickle: the store is the same, so are they."""
    return store.search(query, **arguments) if document is None else store.explain(query, document, **arguments)


class Document(NamedTuple):
    """A document of a store."""

    number: int
    id: str
    title: str
    text: str
    words: int
    fields: dict[str, Any]

    def __repr__(self) -> str:
        return f"Document({self.id!r}, {self.title!r}, {self.words:,} words)"


class SourceDocument(NamedTuple):
    """A document of a SourceFolder."""

    form: str
    text: str
    links: Any

    def __repr__(self) -> str:
        return f"SourceDocument({self.form!r}, {len(self.text):,} characters, {len(self.links):,} links)"


class SourceImage(NamedTuple):
    """An image of a SourceFolder."""

    media_type: str
    data: bytes

    def __repr__(self) -> str:
        return f"SourceImage({self.media_type!r}, {len(self.data):,} bytes)"


@dataclass(frozen=True)
class Counts:
    """How often words follow each other in a store."""

    words: list[str]
    count: int
    followed: int
    unknown_words: list[str]
    documents: Any

    @property
    def fingerprint(self) -> str:
        """XXH3-64 of what `quern count STORE WORD… --format tsv` writes, as 16 hexadecimal digits."""
        return str(_private._fingerprint_of_counts(self.documents["document"], self.documents["count"].tolist()))

    def __repr__(self) -> str:
        return f"Counts({' '.join(self.words)!r}: {self.count:,} in {len(self.documents):,} documents)"
