# SPDX-License-Identifier: Apache-2.0
"""No result replaces an input, a store or another result."""

from __future__ import annotations

import pathlib
from typing import Any, Callable

import pytest
import quern

LINES = ["the mill grinds the corn of the valley", "salt comes from the sea and from mines"]


@pytest.fixture
def corpus(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.jsonl").write_text("".join(f'{{"id":"{name}{i}","text":"{line}"}}\n' for i, line in enumerate(LINES)))
    return folder


def refused(call: Callable[[], Any], message: str, *kept: pathlib.Path) -> None:
    before = [file.read_bytes() for file in kept]
    with pytest.raises(quern.UsageError, match=message):
        call()
    assert [file.read_bytes() for file in kept] == before


def test_inputs_stay(corpus: pathlib.Path) -> None:
    a, b = corpus / "a.jsonl", corpus / "b.jsonl"
    for name in ("output", "report"):
        refused(lambda: quern.dedup(str(corpus), overwrite=True, **{name: a}), "inside the input", a)
        refused(lambda: quern.dedup(str(a), against=b, overwrite=True, **{name: b}), "is an input", b)
        refused(lambda: quern.decontaminate(str(corpus), ["x y"], overwrite=True, **{name: a}), "inside the input", a)
    refused(lambda: quern.dedup_parts(str(corpus), level="line", output=a, overwrite=True), "inside the input", a)
    refused(lambda: quern.dedup_parts(str(a), level="line", against=b, output=b, overwrite=True), "is an input", b)
    refused(lambda: quern.ngrams(str(corpus), output=a, overwrite=True), "inside the input", a)
    (corpus / "words.bin").write_text("")
    refused(lambda: quern.Dictionary.build(str(corpus), corpus / "words.bin", overwrite=True), "inside the input", a)
    link = corpus.parent / "link.jsonl"
    link.symlink_to(a)
    refused(lambda: quern.dedup(str(corpus), output=link, overwrite=True), "inside the input", a)


def test_results_have_their_own_files(corpus: pathlib.Path, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "result"
    for call in (
        lambda: quern.dedup(str(corpus), output=file, report=file),
        lambda: quern.decontaminate(str(corpus), ["x y"], output=file, report=file),
        lambda: quern.ngrams(str(corpus), output=file, totals=tmp_path / "." / "result"),
    ):
        refused(call, "two kinds of results")
    assert not file.exists()


def test_stores_stay(tmp_path: pathlib.Path) -> None:
    store = quern.build(LINES, tmp_path / "s.store", skip="all").store
    section = sorted(file for file in (tmp_path / "s.store").iterdir() if file.is_file())[0]
    refused(lambda: store.search_many(["mill"]).write(section, overwrite=True), "inside the store", section)
    refused(lambda: quern.NgramModel.fit(LINES).to_totals(section, overwrite=True), "inside the store", section)
    refused(lambda: quern.dedup(LINES, output=section, overwrite=True), "inside the store", section)
    refused(lambda: quern.export(store, documents=section, overwrite=True), "inside the", section)
    refused(lambda: quern.export(store, documents=tmp_path / "x", graph=tmp_path / "x"), "two kinds of results")
    assert quern.export(store, documents=tmp_path / "x", order=None)["documents"] == 2
