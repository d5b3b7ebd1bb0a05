# SPDX-License-Identifier: Apache-2.0
"""Stores that quern.build makes, byte for byte those of the program."""

import hashlib
import json
import os
import pathlib
import pickle
import random
import time

import pandas
import polars
import pyarrow
import pytest
import quern


def bytes_of(store: os.PathLike) -> dict[str, str]:
    """The files of a store, except those that hold times."""
    folder = pathlib.Path(store)
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "stats.json" and path.suffix != ".log"
    }


def documents(count: int, seed: int = 1) -> list[dict[str, str]]:
    draw = random.Random(seed)
    words = [f"w{i}" for i in range(200)]
    return [
        {"id": str(i), "title": draw.choice(words), "text": " ".join(draw.choices(words, k=draw.randint(3, 40)))}
        for i in range(count)
    ]


@pytest.mark.parametrize(
    ("corpus", "options", "arguments"),
    [
        ("wiki.xml", {}, []),
        ("notes.jsonl", {"stem": "porter", "stop_words": "en"}, ["--stem", "porter", "--stop-words", "en"]),
        ("notes.jsonl", {"skip": "all", "ngrams": True}, ["--skip", "all", "--ngrams"]),
        ("mill", {"skip": ["thesaurus", "vectors"]}, ["--skip", "thesaurus,vectors"]),
        ("mill", {"skip": "thesaurus,vectors"}, ["--skip", "thesaurus,vectors"]),
        ("crawl.jsonl", {"skip": "all", "threads": 1, "memory": "64M"}, ["--skip", "all"]),
        (
            "notes.jsonl",
            {"tokens": "ascii", "min_length": 3, "seed": 5},
            ["--tokens", "ascii", "--min-length", 3, "--seed", 5],
        ),
    ],
)
def test_bytes_are_those_of_the_program(sample, command, corpus, options, arguments):
    command("build", corpus, "-o", "theirs", *arguments)
    result = quern.build(corpus, "ours", **options)
    assert bytes_of("ours") == bytes_of("theirs")
    assert result.store.fingerprint == quern.open("theirs").fingerprint == result.fingerprint


def test_merge_is_the_build_of_all_documents(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = documents(300)
    whole = quern.build(rows, "whole").store
    parts = [quern.build(rows[i : i + 100], f"part{i}", skip="all").store for i in (0, 100, 200)]
    merged = quern.merge([parts[0], parts[1].path, pathlib.Path("part200")], "merged", threads=2)
    assert bytes_of("merged") == bytes_of("whole")
    assert merged.fingerprint == whole.fingerprint
    with pytest.raises(quern.UsageError, match="exists"):
        quern.merge(parts, "merged")
    quern.merge(parts, "merged", skip="all", force=True)
    assert bytes_of("merged") == bytes_of(quern.build(rows, "plain", skip="all").store.path)
    with pytest.raises(quern.UsageError, match="expected a list"):
        quern.merge("part0", "none")
    stemmed = quern.build([("x", "other words")], "stemmed", stem="porter", skip="all").store
    with pytest.raises(quern.UsageError, match="`stem` is none in the first, porter in the second"):
        quern.merge([parts[0], stemmed], "none")
    assert not pathlib.Path("none").exists()


def test_forms_of_documents(tmp_path):
    rows = documents(300)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    quern.build(tmp_path / "rows.jsonl", tmp_path / "files")
    frame = pandas.DataFrame(rows)
    for number, form in enumerate(
        [rows, (row for row in rows), frame, polars.DataFrame(rows), pyarrow.Table.from_pandas(frame)]
    ):
        quern.build(form, tmp_path / str(number))
        assert bytes_of(tmp_path / str(number)) == bytes_of(tmp_path / "files")


def test_counts(sample):
    result = quern.build("wiki.xml", "wiki", progress=False)
    assert result.documents == result.store.documents == 5 and result.words == result.store.info["words"]
    assert result.vocabulary == result.store.vocabulary and result.postings == result.store.info["postings"]
    assert result.store_bytes > 0 and result.seconds > 0 and result.duplicates == 0 and len(result.issues) == 0
    assert result.counts["read"] == 5 and result.counts["redirects"] == 1
    assert [stage["name"] for stage in result.statistics["stages"]] and result.statistics["device"] == "cpu"
    assert repr(result).startswith("BuildResult(5 documents, 100 words, 56 distinct; ")
    assert result.store is not None and result.store == result.store


def test_reports(sample):
    result = quern.build("wiki.xml", "wiki")
    result.write_report("wiki.html")
    assert "wiki.xml" in pathlib.Path("wiki.html").read_text()
    with pytest.raises(quern.UsageError, match="exists"):
        result.write_report("wiki.html")
    result.write_report("wiki.html", overwrite=True)


def test_issues(tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"id": "a", "text": "tea"}\n{"id": \n')
    with pytest.raises(quern.InvalidInput) as failure:
        quern.build(tmp_path / "bad.jsonl", tmp_path / "s")
    assert failure.value.line == 2 and not (tmp_path / "s").exists()
    result = quern.build(tmp_path / "bad.jsonl", tmp_path / "s", max_errors=1)
    assert result.counts["rejected"] == 1 and result.issues[0]["line"] == 2


def test_a_missing_folder(tmp_path):
    store = quern.build(["tea"], tmp_path / "s").store
    for work in (lambda to: quern.build(["tea"], to), lambda to: quern.merge([store], to)):
        with pytest.raises(quern.UsageError, match="there is no folder .*none"):
            work(tmp_path / "none" / "s")


def test_existing_stores(tmp_path):
    first = quern.build(["tea"], tmp_path / "s")
    before = bytes_of(tmp_path / "s")
    with pytest.raises(quern.UsageError, match="exists"):
        quern.build(["coffee"], tmp_path / "s")
    assert bytes_of(tmp_path / "s") == before
    second = quern.build(["coffee"], tmp_path / "s", force=True)
    assert second.store != first.store and first.store.search("tea") and not second.store.search("tea")


def test_updates(tmp_path):
    rows = documents(40)
    quern.build(rows[:20], tmp_path / "s", skip="all", stem="porter")
    result = quern.build(rows[20:], tmp_path / "s", update=True)
    assert result.documents == 40 and result.store.text_options["stem"] == "porter"
    for options, message in (
        ({"skip": "all"}, "skip"),
        ({"ngrams": True}, "ngrams"),
        ({"stem": "none"}, "stem"),
        ({"force": True}, "force"),
    ):
        with pytest.raises(quern.UsageError, match=message):
            quern.build(rows, tmp_path / "s", update=True, **options)


def test_documents_are_deleted_and_replaced(tmp_path):
    rows = documents(20)
    quern.build(rows, tmp_path / "s", skip="all")
    result = quern.build(None, tmp_path / "s", delete=[rows[3]["id"], "nobody"])
    assert result.documents == 19
    assert result.changes == {"added": 0, "changed": 0, "removed": 1, "unknown_ids": 1, "up_to_date": False}
    changed = {**rows[5], "text": "rewritten"}
    result = quern.build((row for row in [changed]), tmp_path / "s", replace=True)
    assert result.changes["changed"] == 1 and result.changes["added"] == 0
    fresh = quern.build([*rows[:3], rows[4], *rows[6:], changed], tmp_path / "fresh", skip="all")
    assert fresh.changes is None and fresh.fingerprint == result.fingerprint
    for options, message in (({"stem": "none"}, "stem"), ({"force": True}, "force"), ({"sync": True}, "sync")):
        with pytest.raises(quern.UsageError, match=message):
            quern.build(rows, tmp_path / "s", replace=True, **options)
    with pytest.raises(quern.UsageError, match="missing"):
        quern.build(rows, tmp_path / "missing", delete=["1"])
    with pytest.raises(quern.UsageError, match="delete: expected a list of ids, not one str"):
        quern.build(None, tmp_path / "s", delete="abc")


def test_a_store_follows_a_folder(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in "abc":
        (folder / f"{name}.txt").write_text(f"note {name}")
        os.utime(folder / f"{name}.txt", (1e9, 1e9))
    time.sleep(0.1)  # until the times of change show a later change
    assert quern.build(folder, tmp_path / "s", sync=True, skip="all").changes is None
    assert quern.build(folder, tmp_path / "s", sync=True).changes["up_to_date"]
    assert quern.build(folder, tmp_path / "s", sync=True, skip="all", stem="none").changes["up_to_date"]
    for options, message in (({"stem": "porter"}, "text options"), ({"keep_fields": "a"}, "keep_fields"), ({"skip": "ranks"}, "skip")):
        with pytest.raises(quern.UsageError, match=f"was built with other {message}, which sync=True keeps"):
            quern.build(folder, tmp_path / "s", sync=True, **options)
    (folder / "a.txt").unlink()
    (folder / "d.txt").write_text("note d")
    result = quern.build(folder, tmp_path / "s", sync=True)
    assert (result.changes["added"], result.changes["changed"], result.changes["removed"]) == (1, 0, 1)
    assert result.fingerprint == quern.build(folder, tmp_path / "fresh", skip="all").fingerprint
    rows = [{"id": "x", "text": "from memory", "n": 1}]  # documents in memory are always read
    assert quern.build(rows, tmp_path / "s", sync=True).documents == 1
    for keep in ("all", ["n"]):  # the same call every night
        path = tmp_path / f"keep_{keep[0]}"
        for _ in range(2):
            assert quern.build(rows, path, sync=True, keep_fields=keep, stem="porter", skip="all").store.search("memory")[0].fields["n"] == 1


@pytest.mark.parametrize(
    ("given", "options", "error", "message"),
    [
        (3, {}, TypeError, "int"),
        ("none.jsonl", {}, quern.UsageError, "none.jsonl"),
        (["tea"], {"skip": "index"}, quern.UsageError, "expected duplicates"),
        (["tea"], {"stem": "snowball"}, quern.UsageError, "porter"),
        (["tea"], {"min_length": 0}, quern.UsageError, "min_length"),
        ([("a", "tea"), ("a", "tea")], {}, quern.InvalidInput, "a"),
        (["tea"], {"memry": "1G"}, TypeError, "did you mean memory"),
        (["tea"], {"language": "xx-none"}, quern.UsageError, "language"),
    ],
)
def test_errors_leave_nothing(tmp_path, given, options, error, message):
    with pytest.raises(error, match=message):
        quern.build(given, tmp_path / "s", **options)
    assert list(tmp_path.iterdir()) == []


def test_an_exception_of_a_generator_leaves_nothing(tmp_path):
    def rows():
        yield from documents(500)
        raise RuntimeError("the source failed")

    with pytest.raises(RuntimeError, match="the source failed"):
        quern.build(rows(), tmp_path / "s")
    assert list(tmp_path.iterdir()) == []


def endless():
    number = 0
    while True:
        number += 1
        yield (str(number), f"tea {number} " * 20)


@pytest.mark.parametrize("existing", [False, True])
def test_ctrl_c_leaves_what_was_there(tmp_path, interrupt, existing):
    if existing:
        quern.build(["tea"], tmp_path / "s")
        before = bytes_of(tmp_path)
    interrupt(0.5)
    with pytest.raises(KeyboardInterrupt):
        quern.build(endless(), tmp_path / "s", force=existing)
    if existing:
        assert bytes_of(tmp_path) == before and [path.name for path in tmp_path.iterdir()] == ["s"]
    else:
        assert list(tmp_path.iterdir()) == []
    assert quern.build(["tea"], tmp_path / "s", force=existing).documents == 1  # nothing is locked


def test_an_interrupted_update_keeps_the_store(tmp_path, interrupt):
    quern.build(["tea"], tmp_path / "s", skip="all")
    before = bytes_of(tmp_path)
    interrupt(0.5)
    with pytest.raises(KeyboardInterrupt):
        quern.build(endless(), tmp_path / "s", update=True)
    assert bytes_of(tmp_path) == before and [path.name for path in tmp_path.iterdir()] == ["s"]


def test_progress(tmp_path):
    stages = []
    quern.build(documents(3000), tmp_path / "s", progress=lambda stage, done, total, unit: stages.append(stage))
    assert stages and all(isinstance(stage, str) for stage in stages)


def test_progress_that_fails_ends_the_build(tmp_path):
    def fail(*now):
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        quern.build(endless(), tmp_path / "s", progress=fail)
    assert list(tmp_path.iterdir()) == []


def test_results_can_be_pickled(tmp_path):
    result = quern.build(documents(30), tmp_path / "made")
    copy = pickle.loads(pickle.dumps(result))
    assert isinstance(copy, quern.BuildResult) and repr(copy) == repr(result)
    assert copy.store == result.store and copy.documents == 30 and copy.statistics == result.statistics
    with pytest.raises(quern.UsageError, match="write_report"):
        copy.write_report(tmp_path / "report.html")
