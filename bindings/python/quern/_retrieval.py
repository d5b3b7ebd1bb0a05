# SPDX-License-Identifier: Apache-2.0
"""What the retrievers for other libraries share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from . import _quern
from ._quern import Store, UsageError

CONTENTS = ("text", "snippet")


class Passage(NamedTuple):
    """A hit as other libraries take it: plain str and numbers."""

    id: str
    title: str
    text: str
    score: float
    rank: int


def store_of(given: Any) -> Store:
    """An opened store: of a store, of its path, or of an object with the attribute `store`."""
    if isinstance(given, Store):
        return given
    if isinstance(given, (str, os.PathLike)):
        return _quern.open(given)
    if isinstance(getattr(given, "store", None), Store):
        store: Store = given.store
        return store
    raise TypeError(f"store must be a quern.Store or the path of one, not {type(given).__name__}")


def check_content(content: str) -> None:
    """Refuses what passages cannot have."""
    if content not in CONTENTS:
        raise UsageError(f"content: invalid value {content!r} (expected one of {', '.join(CONTENTS)})")


def check(store: Store, content: str, options: dict[str, Any]) -> None:
    """Refuses bad options before the first search."""
    check_content(content)
    store.search("", **options)


def passages(store: Store, query: str, content: str, options: dict[str, Any]) -> Iterator[Passage]:
    """The hits of a query, best first, with their texts or the snippets that match best."""
    hits: Any = store.search(query, **{"snippets": content == "snippet", "duplicates": False, **options})
    for hit in hits:
        text = hit.snippet if content == "snippet" else store.document(hit.document).text
        yield Passage(hit.id, str(hit.title), str(text), hit.score, hit.rank)
