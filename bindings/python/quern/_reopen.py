# SPDX-License-Identifier: Apache-2.0
"""What pickles of objects that are backed by files call."""

from __future__ import annotations

from ._quern import Dictionary, Thesaurus


def dictionary(path: str, checksum: str) -> Dictionary:
    """The same dictionary, opened again."""
    return Dictionary._reopen(path, checksum)


def thesaurus(path: str, checksum: str) -> Thesaurus:
    """The same thesaurus, opened again."""
    return Thesaurus._reopen(path, checksum)
