# SPDX-License-Identifier: Apache-2.0
"""Decontamination against a slow reference and against the program."""

import json
import random
import shutil

import pyarrow
import pytest
import quern
import xxhash
from hypothesis import given
from hypothesis import strategies as st


def share(item: list[str], document: list[str], n: int) -> tuple[int, int]:
    n = min(n, len(item))
    grams = {tuple(document[i : i + n]) for i in range(len(document) - n + 1)}
    wanted = [tuple(item[i : i + n]) for i in range(len(item) - n + 1)]
    return sum(gram in grams for gram in wanted), len(wanted)


sentences = st.lists(st.sampled_from(["mill", "stone", "salt", "sea"]), max_size=8)


@given(st.lists(sentences, min_size=1, max_size=5), st.lists(sentences, min_size=1, max_size=5), st.integers(1, 4),
       st.sampled_from([0.25, 0.5, 1.0]))
def test_matches_are_those_of_the_reference(train, items, n, overlap):
    expected = []
    for i, item in enumerate(items):
        for d, document in enumerate(train):
            found, of = share(item, document, n) if item else (0, 0)
            if of and found and found >= overlap * of:
                expected.append((i, d, found, of))
    result = quern.decontaminate([" ".join(d) for d in train], {"s": [" ".join(i) for i in items]}, ngram=n,
                                 overlap=overlap, threads=1)
    matches = result.matches
    got = list(zip(*(matches[name].tolist() for name in ("item", "position", "found", "of"))))
    assert got == expected
    assert result.keep.tolist() == [not any(d == row[1] for row in expected) for d in range(len(train))]


@pytest.fixture
def files(tmp_path):
    chance = random.Random(5)
    vocabulary = [f"w{i}" for i in range(300)]
    train = [" ".join(chance.choices(vocabulary, k=60)) for _ in range(200)]
    items = [" ".join(chance.choices(vocabulary, k=20)) for _ in range(10)]
    for i, item in enumerate(items[:6]):
        train[i * 7] += " " + item
    for name, texts in (("train", train), ("one", items[:5]), ("two", items[5:])):
        lines = (json.dumps({"id": f"{name}{i}", "text": text}) + "\n" for i, text in enumerate(texts))
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    return tmp_path, train, items


def test_the_program_finds_the_same(files, command):
    folder, train, items = files
    arguments = ["--against", folder / "one.jsonl", "--against", folder / "two.jsonl", "--ngram", "8"]
    rows = folder / "matches.tsv"
    kept = command("decontaminate", folder / "train.jsonl", *arguments, "--matches", rows, "-o", "-")
    out = folder / "clean.jsonl"
    sets = {"one": folder / "one.jsonl", "two": folder / "two.jsonl"}
    result = quern.decontaminate(folder / "train.jsonl", sets, ngram=8, output=out, report=folder / "page.html")
    assert out.read_bytes() == kept
    assert [line.split("\t")[:2] for line in rows.read_text().splitlines()] == [
        [row["item_id"], row["document_id"]] for row in result.matches]
    assert (folder / "page.html").stat().st_size > 1000
    assert set(result.matches["set"]) == {"one", "two"}
    assert result.fingerprint == xxhash.xxh3_64_hexdigest(rows.read_bytes())
    assert result.fingerprint == quern.decontaminate(folder / "train.jsonl", [*sets.values()], ngram=8).fingerprint


def test_sets_in_memory(files):
    _, train, items = files
    result = quern.decontaminate(pyarrow.array(train), {"one": items[:5], "two": pyarrow.array(items[5:])}, ngram=8)
    assert result.items == 10 and result.found_items == 6 and result.contaminated == 6
    assert result.matches["set"] == ["one"] * 5 + ["two"]
    assert result.matches["item_id"][-1] == "two:1"
    assert quern.decontaminate(train, items, ngram=8).found_items == 6
    with pytest.raises(quern.UsageError, match="in memory"):
        quern.decontaminate(train, {"one": items, "two": "file.jsonl"})
    with pytest.raises(quern.UsageError):
        quern.decontaminate(train, {})


def test_a_folder_of_outputs(files):
    folder, train, items = files
    (folder / "in").mkdir()
    lines = (folder / "train.jsonl").read_text().splitlines(keepends=True)
    (folder / "in" / "a.jsonl").write_text("".join(lines[:30]))
    (folder / "in" / "b.jsonl").write_text("".join(lines[30:]))
    for _ in range(2):
        result = quern.decontaminate(folder / "in", folder / "one.jsonl", ngram=8, output=f"{folder}/out/", resume=True)
        assert [not keep for keep in result.keep] == [any(item in text for item in items[:5]) for text in train]
        kept = [line for line, keep in zip(lines, result.keep) if keep]
        assert (folder / "out" / "a.jsonl").read_text() + (folder / "out" / "b.jsonl").read_text() == "".join(kept)
        shutil.rmtree(folder / "out")
    with pytest.raises(quern.UsageError, match="slash"):
        quern.decontaminate(folder / "in", folder / "one.jsonl", output=folder / "out.jsonl", resume=True)
    with pytest.raises(quern.UsageError, match="reads its evaluation sets again"):
        quern.decontaminate(folder / "in", items, output=f"{folder}/out/", resume=True)
    with pytest.raises(quern.UsageError, match="in memory are in no files"):
        quern.decontaminate(train, folder / "one.jsonl", output=f"{folder}/out/")
    assert not (folder / "out").exists()


def test_no_evaluation_set():
    for nothing in ([], (), {}):
        with pytest.raises(quern.UsageError, match="against: there is no evaluation set"):
            quern.decontaminate(["a"], nothing)
