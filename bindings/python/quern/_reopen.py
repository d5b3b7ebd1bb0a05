# SPDX-License-Identifier: Apache-2.0
"""What pickles of objects that are backed by files call. The stubs have no private names, so they are found by name."""

from __future__ import annotations

from typing import Any

from . import _quern
from ._quern import Dictionary, Table, Thesaurus


def dictionary(path: str, checksum: str) -> Dictionary:
    """The same dictionary, opened again."""
    again: Dictionary = getattr(Dictionary, "_reopen")(path, checksum)
    return again


def thesaurus(path: str, checksum: str) -> Thesaurus:
    """The same thesaurus, opened again."""
    again: Thesaurus = getattr(Thesaurus, "_reopen")(path, checksum)
    return again


def table(what: str, columns: dict[str, Any]) -> Table:
    """A table from its pickle."""
    made: Table = getattr(_quern, "_table_of")(what, columns)
    return made
