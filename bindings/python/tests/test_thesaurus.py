# SPDX-License-Identifier: Apache-2.0
"""Thesauri, against slow sums over their own contexts and scores, and against the program."""

from __future__ import annotations

import logging
import math
import os
import pathlib
import pickle
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import quern

PROGRAM = os.environ.get("QUERN", "quern")
SAMPLE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "sample"
VILLAGE: dict[str, Any] = {"stop_words": "en", "min_count": 2, "window": 2}


def by_program(*arguments: str | os.PathLike[str]) -> str:
    ran = subprocess.run([PROGRAM, *map(str, arguments), "--quiet"], stdout=subprocess.PIPE)
    assert ran.returncode in (0, 1)
    return ran.stdout.decode()


def flags(options: dict[str, Any]) -> list[str]:
    """The options of the program for keyword arguments."""
    return [part for name, value in options.items() for part in ("--" + name.replace("_", "-"), str(value))]


def files_of(space: pathlib.Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(space.iterdir()) if file.name != "stats.json"}


def cells(table: quern.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table]


def number(value: float) -> str:
    """As the program writes it: 1 for 1.0."""
    return repr(int(value)) if value == int(value) else repr(value)


def rows_of(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


def generated(documents: int = 300, words: int = 60, seed: int = 1) -> list[tuple[str, str]]:
    """Documents in which word i occurs mostly near i - 1 and i + 1."""
    draw = random.Random(seed)
    made = []
    for number in range(documents):
        at, text = draw.randrange(words), []
        for _ in range(draw.randrange(5, 40)):
            at = (at + draw.choice([-2, -1, 1, 1, 2, 7])) % words
            text.append(f"w{at}")
        made.append((f"d{number}", " ".join(text)))
    return made


@pytest.fixture(scope="module")
def village(tmp_path_factory: pytest.TempPathFactory) -> quern.Thesaurus:
    path = tmp_path_factory.mktemp("spaces") / "village"
    return quern.Thesaurus.build(SAMPLE / "village.txt", path, vectors=6, **VILLAGE)


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> quern.Thesaurus:
    path = tmp_path_factory.mktemp("spaces") / "chain"
    return quern.Thesaurus.build(generated(), path, min_count=2, top=5)


# ---- Building ----


@pytest.mark.parametrize(
    "options",
    [
        VILLAGE,
        {"measure": "cosine", "min_count": 1, "relation": "position", "discount": "0.5"},
        {"measure": "lsa", "vectors": 8, "min_count": 1, "lsa_measure": "pearson"},
        {"vectors": 4, "lsa_of": "documents", "lsa_words": 500, "seed": 3},
        {"top": "all", "self": "count", "information": "independent", "window_end": "sentence"},
        {"top": 0, "columns": 20, "vocabulary": 30, "gaps": "keep", "min_weight": 0.5, "stem": "porter"},
        {"preset": "thesis", "min_count": 2},
        {"preset": "thesis", "min_count": 2, "measure": "cosine"},
    ],
)
@pytest.mark.parametrize("corpus", ["sample", "generated"])
def test_same_space_as_the_program(tmp_path: pathlib.Path, corpus: str, options: dict[str, Any]) -> None:
    files = [SAMPLE / "village.txt", SAMPLE / "mill"]
    if corpus == "generated":
        files = [tmp_path / "c.tsv"]
        files[0].write_text("".join(f"{id}\t{text}\n" for id, text in generated()), encoding="utf-8")
    by_program("words", *files, "-o", tmp_path / "program", *flags(options))
    made = quern.Thesaurus.build(generated() if corpus == "generated" else files, tmp_path / "module", **options)
    assert files_of(tmp_path / "program") == files_of(tmp_path / "module")
    assert made.fingerprint == quern.Thesaurus.open(tmp_path / "program").fingerprint


def test_a_store(tmp_path: pathlib.Path) -> None:
    by_program("build", SAMPLE / "mill", "-o", tmp_path / "store")
    made = quern.Thesaurus.build(tmp_path / "store", tmp_path / "space", min_count=2)
    by_program("words", tmp_path / "store", "-o", tmp_path / "program", "--min-count", "2")
    assert files_of(tmp_path / "program") == files_of(tmp_path / "space")
    of_store = quern.Thesaurus.open(tmp_path / "store")
    word = of_store.words[0]
    expected = by_program("similar", tmp_path / "store", word, "--all-words")
    assert [[w, number(s)] for w, s, _ in cells(of_store.similar(word, stop_words=True))] == rows_of(expected)
    assert len(made) > 1


def test_triples(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "parsed.tsv"
    file.write_text(
        "eat\tobj\tbread\t4\neat\tobj\tapple\t3\nbread\tobj-of\teat\t4\napple\tobj-of\teat\t3\nbread\tobj-of\tbake\t5\n",
        encoding="utf-8",
    )
    made = quern.Thesaurus.build(file, tmp_path / "space", format="triples", min_count=1, discount=0)
    assert made.contexts("apple").to_dicts()[0]["relation"] == "obj-of"
    assert made.info["verbatim"]


def test_report_and_result(tmp_path: pathlib.Path) -> None:
    made = quern.Thesaurus.build(SAMPLE / "village.txt", tmp_path / "s", report=tmp_path / "r.html", **VILLAGE)
    assert "<html" in (tmp_path / "r.html").read_text(encoding="utf-8")
    result = made.build_result
    assert result is not None and result["counts"]["documents"] == 1 and result["vocabulary"] == len(made)
    assert result["statistics"]["stages"]
    assert quern.Thesaurus.open(tmp_path / "s").build_result is None


def test_errors(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "space"
    quern.Thesaurus.build(["salt sea"] * 5, path)
    before = files_of(path)
    with pytest.raises(quern.UsageError, match="overwrite"):
        quern.Thesaurus.build(["corn mill"] * 5, path)
    assert files_of(path) == before
    assert quern.Thesaurus.build(["corn mill"] * 5, path, overwrite=True).words == ["corn", "mill"]
    with pytest.raises(quern.InvalidInput):
        quern.Thesaurus.build(["salt"], tmp_path / "e")
    for options, message in (
        ({"window": 0}, "window"),
        ({"measure": "other"}, "measure"),
        ({"lsa_of": "documents"}, "lsa_of has no effect"),
        ({"blocks": 4}, "blocks has no effect"),
        ({"tile_bytes": 4096}, "tile_bytes has no effect"),
        ({"lsa_words": 10, "vectors": 2}, "lsa_words has no effect"),
        ({"lsa_measure": "pearson", "vectors": 2}, "lsa_measure has no effect"),
        ({"preset": "other"}, "preset"),
        ({"language": "xx"}, "language"),
    ):
        with pytest.raises(quern.UsageError, match=message):
            quern.Thesaurus.build(["salt sea"] * 5, tmp_path / "e", **options)
    with pytest.raises(TypeError, match="did you mean window"):
        quern.Thesaurus.build(["salt sea"] * 5, tmp_path / "e", windo=1)  # type: ignore[call-arg]
    assert not (tmp_path / "e").exists()
    with pytest.raises(quern.UsageError):
        quern.Thesaurus.open(tmp_path / "missing")
    (path / "neighbour_scores.section").write_bytes(b"damaged")
    with pytest.raises(quern.DamagedStore):
        quern.Thesaurus.open(path).verify()


def test_interrupt(tmp_path: pathlib.Path) -> None:
    def documents() -> Any:
        for number in range(10**9):
            yield f"salt sea corn mill w{number}"

    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    began = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        quern.Thesaurus.build(documents(), tmp_path / "space")
    assert time.monotonic() - began < 10
    assert list(tmp_path.iterdir()) == []


# ---- Queries, against the program ----


def test_same_rows_as_the_program(village: quern.Thesaurus, tmp_path: pathlib.Path) -> None:
    for word in ("tea", "horse", "bread"):
        for k in (1, 3, 20, 40):
            for all_words in (False, True):
                more = ["--all-words"] if all_words else []
                expected = by_program("similar", village.path, word, "-k", str(k), *more)
                found = cells(village.similar(word, k=k, stop_words=all_words))
                assert [[w, number(s)] for w, s, _ in found] == rows_of(expected) and found
    combined = village.similar(positive=["tea", "coffee"], negative="horse", k=5)
    assert [[w, number(s)] for w, s, _ in cells(combined)] == rows_of(
        by_program("similar", village.path, "tea", "+coffee", "-horse", "-k", "5")
    )
    by_program("export", village.path, "--graph", tmp_path / "graph.tsv")
    exported = rows_of((tmp_path / "graph.tsv").read_text(encoding="utf-8"))
    assert [[word, other, number(score)] for word, other, score in cells(village.neighbours())] == exported


def test_same_contexts_as_the_program(village: quern.Thesaurus) -> None:
    one = rows_of(by_program("contexts", village.path, "tea"))
    found = village.contexts("tea")
    assert found.columns == ["relation", "word", "weight"]
    assert [[r, w] for r, w, _ in cells(found)] == [row[:2] for row in one]
    assert found["weight"].tolist() == pytest.approx([float(row[2]) for row in one], rel=1e-7)
    two = rows_of(by_program("contexts", village.path, "tea", "coffee"))
    shared = village.contexts("tea", "coffee")
    assert shared.columns == ["relation", "word", "weight_of_first", "weight_of_second"]
    assert [list(row[:2]) for row in cells(shared)] == [row[:2] for row in two]


def test_same_files_as_the_program(village: quern.Thesaurus, tmp_path: pathlib.Path) -> None:
    village.to_word2vec(tmp_path / "a.txt")
    village.to_graphml(tmp_path / "a.graphml")
    by_program("export", village.path, "--vectors", tmp_path / "b.txt", "--graph", tmp_path / "b.graphml")
    for form in ("txt", "graphml"):
        assert (tmp_path / f"a.{form}").read_bytes() == (tmp_path / f"b.{form}").read_bytes()
    with pytest.raises(quern.UsageError, match="overwrite"):
        village.to_word2vec(tmp_path / "a.txt")
    village.to_word2vec(tmp_path / "a.txt", overwrite=True)
    with pytest.raises(quern.UsageError, match="extension"):
        village.to_graphml(tmp_path / "a.tsv")


def test_vectors_equal_the_export(village: quern.Thesaurus, tmp_path: pathlib.Path) -> None:
    numpy = pytest.importorskip("numpy")
    by_program("export", village.path, "--vectors", tmp_path / "v.npy", "--words", tmp_path / "w.tsv")
    exported = numpy.load(tmp_path / "v.npy")
    vectors = village.vectors
    assert vectors.dtype == numpy.float32 and numpy.array_equal(vectors, exported)
    assert not vectors.flags.writeable and not vectors.flags.owndata
    for row, word in enumerate(village.words):
        assert numpy.array_equal(village.vector(word), exported[row])
    assert village.vector("tea").ctypes.data == vectors.ctypes.data + village.words.index("tea") * 6 * 4
    assert rows_of((tmp_path / "w.tsv").read_text(encoding="utf-8")) == [
        [word, str(count)] for word, count in zip(village.words, village.frequencies.tolist())
    ]


def test_vectors_outlive_the_object(tmp_path: pathlib.Path) -> None:
    vectors = quern.Thesaurus.build(SAMPLE / "village.txt", tmp_path / "s", vectors=3, **VILLAGE).vectors
    assert math.isfinite(float(vectors.sum()))


# ---- Queries, against slow sums ----


def test_scores_are_those_of_the_formula(village: quern.Thesaurus) -> None:
    contexts = {word: {(r, w): x for r, w, x in cells(village.contexts(word, k=None))} for word in village.words}
    for a in village.words:
        pairs = [(a, b) for b in village.words]
        for (_, b), score in zip(pairs, village.scores(pairs).tolist()):
            total = sum(contexts[a].values()) + sum(contexts[b].values())
            shared = sum(x + contexts[b][c] for c, x in contexts[a].items() if c in contexts[b])
            assert score == pytest.approx(shared / total if total else 0, rel=1e-5)
            assert score == village.score(a, b)


some_words = st.lists(st.integers(0, 59).map(lambda i: f"w{i}"), max_size=3)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    positive=some_words,
    negative=some_words,
    k=st.sampled_from([1, 4, 5, 6, 30, None]),
    within=st.none() | st.lists(st.integers(0, 70).map(lambda i: f"w{i}"), max_size=20),
)
def test_combinations(
    chain: quern.Thesaurus, positive: list[str], negative: list[str], k: int | None, within: list[str] | None
) -> None:
    def query() -> list[tuple[str, float]]:
        return [(w, s) for w, s, _ in cells(chain.similar(positive, negative=negative, k=k, within=within))]

    if not positive and not negative:
        with pytest.raises(quern.UsageError, match="no word given"):
            query()
        return
    order = {word: id for id, word in enumerate(chain.words)}
    candidates = [w for w in chain.words if w not in positive + negative and (within is None or w in within)]
    expected = []
    for word in candidates:
        plus = minus = 0.0
        for other in sorted(positive, key=lambda w: order[w]):
            plus += scores_of(chain, other)[word]
        for other in sorted(negative, key=lambda w: order[w]):
            minus += scores_of(chain, other)[word]
        if plus - minus > 0:
            expected.append((word, plus - minus))
    expected.sort(key=lambda row: (-row[1], order[row[0]]))
    assert query() == expected[: k if k is not None else len(expected)]


_scores: dict[str, dict[str, float]] = {}


def scores_of(chain: quern.Thesaurus, word: str) -> dict[str, float]:
    if word not in _scores:
        words = chain.words
        _scores[word] = dict(zip(words, chain.scores([(word, other) for other in words]).tolist()))
    return _scores[word]


def test_neighbours(chain: quern.Thesaurus) -> None:
    expected = [
        (word, other, score)
        for word in chain.words
        for other, score, _ in cells(chain.similar(word, k=5, stop_words=True))
    ]
    assert cells(chain.neighbours()) == expected


def test_similarities(tmp_path: pathlib.Path) -> None:
    made = quern.Thesaurus.build(generated(40), tmp_path / "s", top="all", min_count=2)
    words = made.words
    assert made.similarities.shape == (len(words), len(words))
    for row, word in enumerate(words[:5]):
        assert made.similarities[row].tolist() == made.scores([(word, other) for other in words]).tolist()


def test_many_pairs(village: quern.Thesaurus) -> None:
    scores = village.scores([("tea", "coffee"), ("tea", "unicorn"), ["Tea", "COFFEE!"], ("hot tea", "tea")])
    assert scores.dtype == "float64" and scores[0] == scores[2] == village.score("tea", "coffee")
    assert math.isnan(scores[1]) and math.isnan(scores[3])
    assert village.scores([]).tolist() == []
    for bad in (["tea"], [("tea",)], [("a", "b", "c")]):
        with pytest.raises(quern.UsageError, match="not a pair"):
            village.scores(bad)
    with pytest.raises(TypeError, match="expected str"):
        village.scores([("tea", 3)])  # type: ignore[list-item]


def test_unknown_words(village: quern.Thesaurus, caplog: pytest.LogCaptureFixture) -> None:
    for query in (village.similar, village.frequency, village.vector, village.contexts, village.is_stop_word):
        with pytest.raises(quern.UnknownWord, match="did you mean horse") as caught:
            query("hosre")
        assert isinstance(caught.value, KeyError) and caught.value.near == ("horse",)
        assert str(caught.value) == "'hosre' is not in the vocabulary; did you mean horse?"
    with pytest.raises(quern.UnknownWord, match="more than one word"):
        village.similar("hot tea")
    with pytest.raises(quern.UnknownWord, match="stop word"):
        village.score("tea", "the")
    assert "hosre" not in village and "hot tea" not in village and 3 not in village and "Tea" in village
    with caplog.at_level(logging.WARNING, "quern"):
        found = village.similar("tea", within=["coffee", "unicorn"])
    assert found["word"] == ["coffee"] and "1 of 2 words" in caplog.text
    for k in (0, -1, 1.5, "some"):
        with pytest.raises(quern.UsageError, match="k: "):
            village.similar("tea", k=k)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected str"):
        village.similar([3])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        village.similar(3)  # type: ignore[arg-type]


def test_without_vectors(chain: quern.Thesaurus, tmp_path: pathlib.Path) -> None:
    for use in (lambda: chain.vectors, lambda: chain.vector("w1"), lambda: chain.to_word2vec(tmp_path / "v.txt")):
        with pytest.raises(quern.UsageError, match="no vectors"):
            use()
    with pytest.raises(quern.UsageError, match="top='all'"):
        chain.similarities
    assert list(tmp_path.iterdir()) == []


# ---- The object ----


def test_object(village: quern.Thesaurus) -> None:
    assert len(village) == len(village.words) == len(village.frequencies) == 53
    assert list(village) == village.words
    assert village.frequency("tea") == village.frequencies[village.words.index("tea")]
    assert village.verify() > 0 and os.path.isabs(village.path) and os.fspath(village) == village.path
    assert repr(village) == f"Thesaurus('{village.path}', words=53)"
    shown = village._repr_html_()  # type: ignore[attr-defined]
    word, near = village.words[0], ", ".join(village.similar(village.words[0], k=3)["word"])
    assert f"<td>{word}</td><td>{near}</td>" in shown and "53 words" in shown and shown.count("<tr>") == 11
    assert village.info["vocabulary"] == 53 and village.info["options"]["window"] == "2"
    assert len(village.fingerprint) == 16
    assert quern.Thesaurus.build.__doc__ is not None and "min_count : int, default 5" in quern.Thesaurus.build.__doc__


def test_pickle(tmp_path: pathlib.Path) -> None:
    made = quern.Thesaurus.build(generated(20), tmp_path / "s", min_count=1)
    again = pickle.loads(pickle.dumps(made))
    assert again.words == made.words and cells(again.similar("w1")) == cells(made.similar("w1"))
    pickled = pickle.dumps(made)
    quern.Thesaurus.build(generated(20, seed=2), tmp_path / "s", min_count=1, overwrite=True)
    with pytest.raises(quern.InvalidInput, match="has changed since"):
        pickle.loads(pickled)


def test_threads_and_fork(chain: quern.Thesaurus, in_threads_and_a_fork: Callable[..., None]) -> None:
    expected = {word: cells(chain.similar(word, k=9)) for word in chain.words[:8]}
    in_threads_and_a_fork(lambda: all(cells(chain.similar(word, k=9)) == rows for word, rows in expected.items()))


def test_every_number_of_threads(tmp_path: pathlib.Path) -> None:
    prints = set()
    for threads in (1, 2, 5):
        with quern.config(threads=threads):
            prints.add(quern.Thesaurus.build(generated(), tmp_path / f"s{threads}", vectors=5).fingerprint)
    assert len(prints) == 1


def test_a_look_up_is_quick(village: quern.Thesaurus) -> None:
    def once() -> float:
        began = time.perf_counter()
        for _ in range(1000):
            village.similar("tea", k=10)
        return (time.perf_counter() - began) / 1000

    assert min(once() for _ in range(5)) < 100e-6  # some 6 µs; the bound is loose for busy machines
