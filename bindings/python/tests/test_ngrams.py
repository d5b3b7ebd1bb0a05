# SPDX-License-Identifier: Apache-2.0
"""N-grams, against a slow counter, and against the program."""

from __future__ import annotations

import collections
import gzip
import json
import os
import pathlib
import pickle
import random
import re
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
NOTES = SAMPLE / "notes.jsonl"

texts = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", "A", "bb", "-"]), max_size=12).map(" ".join), min_size=1, max_size=5
)
Gram = tuple[str, ...]


def by_program(*arguments: str | os.PathLike[str]) -> bytes:
    ran = subprocess.run([PROGRAM, "ngrams", *map(str, arguments), "--quiet"], stdout=subprocess.PIPE, check=True)
    return ran.stdout


def flags(options: dict[str, Any]) -> list[str]:
    """The options of the program for keyword arguments."""
    made: list[str] = []
    for name, value in options.items():
        made += ["--" + name.rstrip("_").replace("_", "-")] + ([] if value is True else [str(value)])
    return made


def number(value: Any) -> str:
    """As the program writes it."""
    if isinstance(value, float):
        return str(int(value)) if value == int(value) else repr(value)
    return str(value)


def tsv(table: quern.Table) -> str:
    return "".join("\t".join(number(value) for value in row.values()) + "\n" for row in table)


def words_of(text: str) -> list[str]:
    """The words of the rule `ascii`, slowly."""
    return re.findall("[a-z0-9]+", text.lower())


def counted(words: list[str], order: int) -> collections.Counter[Gram]:
    return collections.Counter(
        tuple(words[at : at + n]) for n in range(1, order + 1) for at in range(len(words) - n + 1)
    )


def histories(words: list[str], order: int) -> collections.Counter[Gram]:
    """Words that another one of the document follows; of the empty history, all words."""
    made = collections.Counter(tuple(words[at : at + n]) for n in range(1, order) for at in range(len(words) - n))
    made[()] = len(words)
    return made


def generated(documents: int = 50) -> list[tuple[str, str]]:
    draw = random.Random(7)
    return [
        (f"d{number}", " ".join(f"w{int(draw.paretovariate(0.7)) % 50}" for _ in range(draw.randrange(40))))
        for number in range(documents)
    ]


def written(path: pathlib.Path, documents: list[tuple[str, str]]) -> pathlib.Path:
    path.write_text("".join(f"{id}\t{text}\n" for id, text in documents), encoding="utf-8")
    return path


# ---- Rows ----


@given(documents=texts, order=st.integers(1, 4), lambda_=st.sampled_from([0.0, 0.3, 0.5, 1.0]))
def test_like_a_counter(documents: list[str], order: int, lambda_: float) -> None:
    words = [words_of(text) for text in documents]
    of_collection = sum((counted(w, order) for w in words), collections.Counter[Gram]())
    histories_of_collection = sum((histories(w, order) for w in words), collections.Counter[Gram]())
    rows = quern.ngrams(documents, order=order, tokens="ascii", counts=True, lambda_=lambda_, threads=1).to_dicts()
    expected = []
    for position, of_document in enumerate(words):
        before = histories(of_document, order)
        for gram, count in sorted(counted(of_document, order).items(), key=lambda item: (len(item[0]), item[0])):
            expected.append(
                {
                    "n": len(gram),
                    "words": " ".join(gram),
                    "f(d)": count,
                    "f(C)": of_collection[gram],
                    "h(d)": before[gram[:-1]],
                    "h(C)": histories_of_collection[gram[:-1]],
                    "position": position,
                }
            )
    ids = list(dict.fromkeys(row["doc"] for row in rows))
    documents_with_words = [position for position, of_document in enumerate(words) if of_document]
    position_of = dict(zip(ids, documents_with_words, strict=True))
    for row in rows:
        row["position"] = position_of[row.pop("doc")]
        share = lambda_ * row["f(d)"] / row["h(d)"] + (1 - lambda_) * row["f(C)"] / row["h(C)"]
        assert row.pop("P") == pytest.approx(share, rel=1e-12)
    assert rows == expected


CHOICES: list[dict[str, Any]] = [
    {},
    {"order": 2, "counts": True},
    {"order": 2, "only": True},
    {"smoothing": "dirichlet", "mu": 12.5},
    {"smoothing": "absolute", "delta": 0.3, "min_count": 2},
    {"measure": "bm25", "k1": 1.2, "b": 0.75, "order": 1},
    {"lambda_": 0.25, "method": "suffix-sigma"},
    {"tokens": "letters", "stop_words": "en", "titles": True},
]


@pytest.mark.parametrize("options", CHOICES)
@pytest.mark.parametrize("corpus", ["sample", "generated"])
def test_same_rows_as_the_program(tmp_path: pathlib.Path, corpus: str, options: dict[str, Any]) -> None:
    documents: Any = NOTES if corpus == "sample" else generated()
    file = NOTES if corpus == "sample" else written(tmp_path / "c.tsv", generated())
    expected = by_program(file, *flags(options))
    rows = quern.ngrams(documents, **options)
    assert tsv(rows) == expected.decode() and len(rows) > 0
    assert quern.ngrams(documents, output=tmp_path / "rows.tsv", **options).fingerprint is None
    assert (tmp_path / "rows.tsv").read_bytes() == expected
    xxhash = pytest.importorskip("xxhash")
    assert rows.fingerprint == xxhash.xxh3_64(expected).hexdigest()


def test_files(tmp_path: pathlib.Path) -> None:
    names = {name: tmp_path / name for name in ("a.totals", "a.arpa", "b.totals", "b.arpa")}
    by_program(NOTES, "--totals", names["a.totals"], "--arpa", names["a.arpa"], "--smoothing", "absolute")
    made = quern.ngrams(NOTES, totals=names["b.totals"], arpa=names["b.arpa"], rows=False, smoothing="absolute")
    assert len(made) == 0 and made.columns == ["doc", "n", "words", "f(d)", "f(C)", "P"]
    for form in ("totals", "arpa"):
        assert names[f"a.{form}"].read_bytes() == names[f"b.{form}"].read_bytes()
    quern.ngrams(NOTES, output=tmp_path / "rows.jsonl", order=1)
    lines = (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == quern.ngrams(NOTES, order=1).to_dicts()
    quern.ngrams(NOTES, output=tmp_path / "rows.tsv.gz", order=1)
    assert gzip.decompress((tmp_path / "rows.tsv.gz").read_bytes()) == by_program(NOTES, "--order", "1")
    # All files or none.
    with pytest.raises(quern.UsageError, match="overwrite"):
        quern.ngrams(NOTES, totals=tmp_path / "new", arpa=names["b.arpa"])
    assert not (tmp_path / "new").exists()
    quern.ngrams(NOTES, totals=tmp_path / "new", arpa=names["b.arpa"], overwrite=True)
    assert (tmp_path / "new").exists()


def test_table(tmp_path: pathlib.Path) -> None:
    rows = quern.ngrams(NOTES, order=2)
    assert isinstance(rows, quern.Table)
    assert rows["f(C)"].dtype == "uint64" and rows["P"].dtype == "float64"
    assert [row["rows"] for row in rows.totals] == [33, 33]
    assert rows.result["documents"] == 3 and rows.result["counts"]["documents"] == 3
    assert repr(rows).startswith("n-grams: 66\n")
    pa = pytest.importorskip("pyarrow")
    assert pa.table(rows).num_rows == 66
    assert len({quern.ngrams(NOTES, threads=n).fingerprint for n in (1, 2, 5)}) == 1


def test_dictionary(tmp_path: pathlib.Path) -> None:
    often = quern.Dictionary.build(NOTES, tmp_path / "d", min_count=2, tokens="letters")
    rows = quern.ngrams(NOTES, dictionary=often, order=2)
    assert tsv(rows) == by_program(NOTES, "--dictionary", tmp_path / "d", "--order", "2").decode()
    assert rows.result["unknown"] > 0 and "<unk>" in rows["words"]
    assert tsv(quern.ngrams(NOTES, dictionary=often, order=2, tokens="letters")) == tsv(rows)
    with pytest.raises(quern.UsageError, match="other text options"):
        quern.ngrams(NOTES, dictionary=often, tokens="ascii")
    model = quern.NgramModel.fit(NOTES, dictionary=often, order=2)
    counts = collections.Counter({words: row for words, row in zip(rows["words"], rows["f(C)"].tolist())})
    for words, count in counts.items():
        assert model.counts(tuple(words.split(" "))) == count
    assert model.counts("The") == counts["the"]


def test_errors(tmp_path: pathlib.Path) -> None:
    for options, message in (
        ({"order": 0}, "order: invalid value '0'"),
        ({"order": 33}, "order"),
        ({"lambda_": 2}, "lambda"),
        ({"lambda_": 0.5, "smoothing": "absolute"}, "lambda_ has no effect"),
        ({"mu": 3}, "mu has no effect"),
        ({"delta": 0.5}, "delta has no effect"),
        ({"k1": 1}, "k1 has no effect"),
        ({"measure": "bm25", "smoothing": "jm"}, "smoothing has no effect"),
        ({"rows": False}, "nothing to do"),
        ({"only": True, "arpa": tmp_path / "m.arpa"}, "every length"),
        ({"arpa": tmp_path / "m.tsv"}, "extension"),
        ({"output": NOTES, "overwrite": True}, "is an input"),
        ({"dictionary": tmp_path / "missing"}, "missing"),
        ({"device": "cuda:99"}, "CUDA"),
    ):
        with pytest.raises(quern.Error, match=message):
            quern.ngrams(NOTES, **options)
    with pytest.raises(TypeError, match="did you mean lambda_"):
        quern.ngrams(NOTES, lambda__=1)  # type: ignore[call-arg]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("function", [quern.ngrams, quern.NgramModel.fit])
def test_interrupt(function: Any) -> None:
    def documents() -> Any:
        for position in range(10**9):
            yield f"salt sea corn mill w{position}"

    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    began = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        function(documents())
    assert time.monotonic() - began < 10


# ---- Likelihoods ----


@pytest.mark.parametrize("options", [{}, {"lambda_": 0.2}, {"smoothing": "dirichlet", "mu": 3.5}])
def test_likelihood_has_the_bits_of_the_rows(options: dict[str, Any]) -> None:
    rows = quern.ngrams(generated(), counts=True, **options)
    found = quern.ngram_likelihood(rows["f(d)"], rows["h(d)"], rows["f(C)"], rows["h(C)"], **options)
    assert found.tolist() == rows["P"].tolist() and len(found) > 0


def test_likelihood() -> None:
    # absolute: max(f - delta, 0) / h + delta · u / h · pC
    found = quern.ngram_likelihood(3, 8, 5, 40, 4, smoothing="absolute", delta=0.5)
    assert isinstance(found, float) and found == pytest.approx(2.5 / 8 + 0.5 * 4 / 8 * 5 / 40, rel=1e-15)
    assert quern.ngram_likelihood(0, 0, 5, 40) == 5 / 40 and quern.ngram_likelihood(0, 0, 0, 0) == 0
    numpy = pytest.importorskip("numpy")
    table = quern.ngram_likelihood(numpy.array([[1], [2]], "int8"), 4, [1, 2, 3], 9)
    assert table.shape == (2, 3) and table[1, 2] == quern.ngram_likelihood(2, 4, 3, 9)
    for bad in (-1, [-1]):
        with pytest.raises(quern.UsageError, match="negative"):
            quern.ngram_likelihood(bad, 1, 1, 1)
    with pytest.raises(TypeError, match="whole numbers"):
        quern.ngram_likelihood(0.5, 1, 1, 1)
    with pytest.raises(ValueError):
        quern.ngram_likelihood([1, 2], [1, 2, 3], 1, 1)
    with pytest.raises(quern.UsageError):
        quern.ngram_likelihood(1, 1, 1, 1, lambda_=2)


# ---- Models ----


@given(documents=texts, order=st.integers(1, 4), min_count=st.integers(1, 2), queries=texts)
def test_counts(documents: list[str], order: int, min_count: int, queries: list[str]) -> None:
    expected = sum((counted(words_of(text), order) for text in documents), collections.Counter[Gram]())
    model = quern.NgramModel.fit(documents, order=order, min_count=min_count, tokens="ascii", threads=1)
    assert (model.order, model.min_count) == (order, min_count)
    kept = {gram: count for gram, count in expected.items() if count >= min_count}
    for gram, count in expected.items():
        assert model.counts(gram) == model.counts("- ".join(gram)) == kept.get(gram, 0)
    grams = [words for words in map(words_of, queries) if 0 < len(words) <= order]
    assert model.counts([" ".join(words) for words in grams]).tolist() == [kept.get(tuple(w), 0) for w in grams]
    for n in range(1, order + 1):
        listed = [(row["words"], row["count"]) for row in model.table(n)]
        assert listed == [(" ".join(gram), kept[gram]) for gram in sorted(kept) if len(gram) == n]


@pytest.mark.parametrize(
    "options", [{}, {"smoothing": "absolute", "order": 4}, {"smoothing": "dirichlet", "mu": 5, "min_count": 2}]
)
def test_same_files_as_the_program(tmp_path: pathlib.Path, options: dict[str, Any]) -> None:
    file = written(tmp_path / "c.tsv", generated())
    by_program(file, "--totals", tmp_path / "a", "--arpa", tmp_path / "a.arpa", *flags(options))
    model = quern.NgramModel.fit(generated(), **options)
    model.to_totals(tmp_path / "b")
    model.to_arpa(tmp_path / "b.arpa")
    model.to_arpa(tmp_path / "b.arpa.gz")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a.arpa").read_bytes() == (tmp_path / "b.arpa").read_bytes()
    assert gzip.decompress((tmp_path / "b.arpa.gz").read_bytes()) == (tmp_path / "a.arpa").read_bytes()
    xxhash = pytest.importorskip("xxhash")
    assert model.fingerprint == xxhash.xxh3_64((tmp_path / "a").read_bytes()).hexdigest()
    with pytest.raises(quern.UsageError, match="overwrite"):
        model.to_arpa(tmp_path / "b.arpa")
    with pytest.raises(quern.UsageError, match="extension"):
        model.to_arpa(tmp_path / "c.tsv2.npy")


@settings(max_examples=settings.default.max_examples // 5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(
        st.lists(
            st.sampled_from([b"ha", b"he\tho", b"a b", b"\xff", b"\x01", b"<unk>", b"z", b"b"]), min_size=1, max_size=8
        ),
        min_size=1,
        max_size=4,
    )
)
def test_word_lines(tmp_path: pathlib.Path, lines: list[list[bytes]]) -> None:
    """Words whose order the counts do not show."""
    file = tmp_path / "words"
    file.write_bytes(b"\n\n".join(b"\n".join(words) for words in lines))
    model = quern.NgramModel.fit(file, format="lines", order=2, threads=1)
    expected = sum(
        (counted([word.decode("utf-8", "replace") for word in words], 2) for words in lines),
        collections.Counter[Gram](),
    )
    for first in ("ha", "\x01", "<unk>", "z", "b", "he"):
        assert model.counts((first,)) == expected[(first,)]
        for second in ("ha", "z", "b", "<unk>"):
            assert model.counts((first, second)) == model.counts(f"{first} {second}") == expected[(first, second)]


def test_queries() -> None:
    model = quern.NgramModel.fit(NOTES, stop_words="en", order=2)
    assert model.counts("Flour") == 1 and model.counts(["flour", ("flour",)]).dtype == "uint64"
    for bad, message in (
        ("", "no word"),
        ("the of", "no word"),
        ("flour rye sacks", "too many"),
        (("a b",), "white space"),
    ):
        with pytest.raises(quern.UsageError, match=message):
            model.counts(bad)
        with pytest.raises(quern.UsageError, match=message):
            model.counts([bad])
    for wrong in (3, [3], [("a", 3)], b"flour"):
        with pytest.raises(TypeError):
            model.counts(wrong)  # type: ignore[arg-type]
    for n in (0, 3):
        with pytest.raises(quern.UsageError, match="expected 1 to 2"):
            model.table(n)


def test_empty() -> None:
    model = quern.NgramModel.fit(["", "-"], order=2)
    assert model.counts("corn") == 0 and len(model.table(2)) == 0
    assert len(quern.ngrams(["", "-"])) == 0


def test_object(tmp_path: pathlib.Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    model = quern.NgramModel.fit(NOTES, order=2, tmp=scratch)
    assert list(scratch.iterdir()) == []  # its files have no names
    assert repr(model) == "NgramModel(order=2, ngrams=64)"
    assert [row["distinct"] for row in model.totals] == [31, 33]
    assert "<td>31</td>" in model._repr_html_()  # type: ignore[attr-defined]
    result = model.build_result
    assert result is not None and result["documents"] == 3 and result["model_ngrams"] > 0


def test_pickle(tmp_path: pathlib.Path) -> None:
    model = quern.NgramModel.fit(NOTES, order=3, smoothing="absolute", stop_words="en", min_length=3)
    buffers: list[pickle.PickleBuffer] = []
    again = pickle.loads(pickle.dumps(model, protocol=5, buffer_callback=buffers.append), buffers=buffers)
    assert len(buffers) == 2 and again.fingerprint == model.fingerprint and again.build_result is None
    assert again.counts("The flour") == model.counts("The flour") == 1
    model.to_arpa(tmp_path / "a.arpa")
    again.to_arpa(tmp_path / "b.arpa")
    assert (tmp_path / "a.arpa").read_bytes() == (tmp_path / "b.arpa").read_bytes()
    assert pickle.loads(pickle.dumps(model)).fingerprint == model.fingerprint


def test_threads_and_fork(in_threads_and_a_fork: Callable[..., None]) -> None:
    model = quern.NgramModel.fit(generated(), order=2)
    listed = [(row["words"], row["count"]) for row in model.table(2)]
    in_threads_and_a_fork(lambda: all(model.counts(words) == count for words, count in listed))
