# SPDX-License-Identifier: Apache-2.0
"""Dictionaries, against a Python dict, and against the program."""

from __future__ import annotations

import collections
import os
import pathlib
import pickle
import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import quern

PROGRAM = os.environ.get("QUERN", "quern")
SAMPLE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "sample"

letters = st.text(alphabet="abcxyz0", min_size=1, max_size=6)
documents = st.lists(st.lists(letters, max_size=12).map(" ".join), min_size=1, max_size=6)


def words_of(texts: list[str]) -> collections.Counter[str]:
    """The words of the rule `ascii`, slowly."""
    return collections.Counter(word for text in texts for word in re.findall("[a-z0-9]+", text.lower()))


@pytest.fixture
def notes(tmp_path: pathlib.Path) -> quern.Dictionary:
    return quern.Dictionary.build(SAMPLE / "notes.jsonl", tmp_path / "notes.dictionary")


def by_program(*arguments: str | os.PathLike[str]) -> bytes:
    return subprocess.run([PROGRAM, *map(str, arguments)], check=True, stdout=subprocess.PIPE).stdout


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=documents, others=st.lists(letters, max_size=10), prefix=st.text(alphabet="abcxyz0", max_size=3))
def test_like_a_dict(tmp_path: pathlib.Path, texts: list[str], others: list[str], prefix: str) -> None:
    counts = words_of(texts)
    expected = {word: id for id, word in enumerate(sorted(counts))}
    made = quern.Dictionary.build(texts, tmp_path / "d", tokens="ascii", overwrite=True, threads=1)
    assert len(made) == len(expected)
    assert list(made) == made.words() == list(expected)
    assert made.frequencies.tolist() == [counts[word] for word in expected]
    for word, id in expected.items():
        assert (made[word], made.word(id), made.frequency(word)) == (id, word, counts[word])
    assert made.ids(others).tolist() == [expected.get(word, len(expected)) for word in others]
    assert [word in made for word in others] == [word in expected for word in others]
    assert [made.get(word, -1) for word in others] == [expected.get(word, -1) for word in others]
    assert made.words(made.prefix(prefix)) == [word for word in expected if word.startswith(prefix)]


@pytest.mark.parametrize("options", [{}, {"min_count": 2}, {"vocabulary": 5}, {"titles": True}, {"stem": "porter"}])
def test_same_file_as_the_program(tmp_path: pathlib.Path, options: dict[str, Any]) -> None:
    flags: list[str] = []
    for name, value in options.items():
        flags += ["--" + name.replace("_", "-")] + ([] if value is True else [str(value)])
    by_program("dictionary", SAMPLE / "notes.jsonl", "-o", tmp_path / "program", "--quiet", *flags)
    made = quern.Dictionary.build(SAMPLE / "notes.jsonl", tmp_path / "module", **options)
    assert (tmp_path / "program").read_bytes() == (tmp_path / "module").read_bytes()
    assert made.fingerprint == quern.Dictionary.open(tmp_path / "program").fingerprint


def test_same_file_for_documents_in_memory(tmp_path: pathlib.Path) -> None:
    (tmp_path / "c.tsv").write_text("a\tthe mill\nb\tthe sea\n", encoding="utf-8")
    quern.Dictionary.build(tmp_path / "c.tsv", tmp_path / "of_file")
    quern.Dictionary.build([("a", "the mill"), ("b", "the sea")], tmp_path / "of_memory")
    assert (tmp_path / "of_file").read_bytes() == (tmp_path / "of_memory").read_bytes()


def test_columns_of_arrow(notes: quern.Dictionary) -> None:
    pa = pytest.importorskip("pyarrow")
    words = ["the", None, "of", "unicorn", "臼"]
    expected = [notes.get(word, len(notes)) if word else len(notes) for word in words]
    for column in (
        pa.array(words),
        pa.array(words, pa.large_string()),
        pa.array(words, pa.string_view()),
        pa.array(words).dictionary_encode(),
        pa.chunked_array([words[:2], words[2:]]),
        pa.table({"w": words}),
    ):
        assert notes.ids(column).tolist() == expected
    assert notes.ids(pa.array(words).slice(2)).tolist() == expected[2:]
    with pytest.raises(quern.UsageError, match="one column"):
        notes.ids(pa.table({"a": words, "b": words}))
    with pytest.raises(quern.UsageError, match="Arrow type"):
        notes.ids(pa.array([1.5]))


def test_frames(notes: quern.Dictionary) -> None:
    expected = [notes["the"], notes["of"]]
    assert notes.ids(pytest.importorskip("polars").Series(["the", "of"])).tolist() == expected
    assert notes.ids(pytest.importorskip("pandas").Series(["the", "of"])).tolist() == expected
    assert notes.ids(iter(["the", "of"])).tolist() == expected
    assert notes.ids([]).tolist() == []
    assert notes.ids(["the"]).dtype == "uint32"


def test_unknown_words(notes: quern.Dictionary) -> None:
    with pytest.raises(quern.UnknownWord, match="'unicorn' is not in the dictionary") as caught:
        notes["unicorn"]
    assert isinstance(caught.value, KeyError) and isinstance(caught.value, quern.Error)
    assert (caught.value.word, caught.value.near, caught.value.exit_code) == ("unicorn", (), 1)
    with pytest.raises(quern.UnknownWord):
        notes.frequency("unicorn")
    assert notes.get("unicorn") is None and notes.get("\ud800") is None and 3 not in notes
    for id in (-1, len(notes), 2**40):
        with pytest.raises(IndexError, match="out of range"):
            notes.word(id)
        with pytest.raises(IndexError):
            notes.words([0, id])
    with pytest.raises(TypeError):
        notes.ids("the")
    with pytest.raises(TypeError, match="expected str"):
        notes.ids([1])


def test_errors(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "d"
    quern.Dictionary.build(["corn"], path)
    before = path.read_bytes()
    with pytest.raises(quern.UsageError, match="overwrite"):
        quern.Dictionary.build(["salt"], path)
    assert path.read_bytes() == before
    assert quern.Dictionary.build(["salt"], path, overwrite=True).words() == ["salt"]
    with pytest.raises(quern.UsageError, match="memory-mapped"):
        quern.Dictionary.build(["salt"], tmp_path / "d.gz")
    with pytest.raises(quern.UsageError, match="min_count"):
        quern.Dictionary.build(["salt"], tmp_path / "e", min_count=0)
    with pytest.raises(TypeError, match="did you mean min_count"):
        quern.Dictionary.build(["salt"], tmp_path / "e", min_counts=1)  # type: ignore[call-arg]
    with pytest.raises(quern.UsageError):
        quern.Dictionary.open(tmp_path / "missing")
    source = tmp_path / "c.txt"
    source.write_text("salt", encoding="utf-8")
    with pytest.raises(quern.UsageError, match="is an input"):
        quern.Dictionary.build(source, source, overwrite=True)
    assert source.read_text(encoding="utf-8") == "salt"
    damaged = bytearray(before)
    damaged[200] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(quern.DamagedStore):
        quern.Dictionary.open(path).verify()
    assert not (tmp_path / "e").exists()


def test_file(notes: quern.Dictionary) -> None:
    assert notes.verify() == os.path.getsize(notes.path)
    assert os.path.isabs(notes.path) and os.fspath(notes) == notes.path
    assert repr(notes) == f"Dictionary('{notes.path}', words={len(notes)})"
    assert f"{len(notes)} words of 3 documents, 36 occurrences" in notes._repr_html_()  # type: ignore[attr-defined]
    assert notes.info["words"] == len(notes) and notes.info["text"]["tokens"] == "unicode"
    made = notes.build_result
    assert made is not None and made["counts"]["documents"] == 3 and made["statistics"]["device"] == "cpu"
    assert quern.Dictionary.open(notes.path).build_result is None


def test_pickle(notes: quern.Dictionary) -> None:
    again = pickle.loads(pickle.dumps(notes))
    assert again.words() == notes.words() and again.path == notes.path
    pickled = pickle.dumps(notes)
    quern.Dictionary.build(["salt"], notes.path, overwrite=True)
    with pytest.raises(quern.InvalidInput, match="has changed since"):
        pickle.loads(pickled)
    assert notes["the"] == notes.words().index("the")  # the opened one keeps its file


def test_threads_and_fork(notes: quern.Dictionary, in_threads_and_a_fork: Callable[..., None]) -> None:
    words = notes.words()
    expected = list(range(len(words)))
    in_threads_and_a_fork(
        lambda: all(notes.ids(words).tolist() == expected for _ in range(200)),
        lambda: bool(notes.ids(words * 5000).tolist()[: len(words)] == expected),
    )


def test_a_path_that_is_not_utf8(tmp_path: pathlib.Path) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/d\xe9")
    os.mkdir(folder)
    words = quern.Dictionary.build(["the mill"], folder + "/words.bin")
    assert words.path == os.fspath(words) == folder + "/words.bin"
    assert pickle.loads(pickle.dumps(words)).path == words.path
    space = quern.Thesaurus.build(["the mill grinds", "the mill stands"], folder + "/space", min_count=1)
    assert space.path == os.fspath(space) == folder + "/space"
    assert pickle.loads(pickle.dumps(space)).path == space.path
