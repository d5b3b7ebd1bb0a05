# SPDX-License-Identifier: Apache-2.0
"""Near-duplicates against a slow reference and against the program."""

import json
import pickle
import random
import threading

import numpy
import pandas
import polars
import pyarrow
import pytest
import quern
import xxhash
from hypothesis import given
from hypothesis import strategies as st


def distance(a: bytes, b: bytes) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(last + (x != y), row[j] + 1, row[j - 1] + 1)
    return row[-1]


def pairs_of(texts: list[str], threshold: float) -> list[tuple[int, int, int]]:
    coded = [text.encode() for text in texts]
    found = []
    for b in range(len(texts)):
        for a in range(b):
            edits = distance(coded[a], coded[b])
            length = len(coded[a]) + len(coded[b])
            if edits * 1000 < round(threshold * 1000) * length or (edits == 0 and length == 0):
                found.append((a, b, edits))
    return sorted(found)


def kept_of(texts: list[str], pairs: list[tuple[int, int, int]]) -> list[bool]:
    near = {(a, b) for a, b, _ in pairs}
    kept: list[int] = []
    for d in range(len(texts)):
        if not any((k, d) in near for k in kept):
            kept.append(d)
    return [d in kept for d in range(len(texts))]


words = st.lists(st.sampled_from(["mill", "stone", "salt", "sea", "corn", "ä"]), max_size=6).map(" ".join)


@given(st.lists(words, min_size=1, max_size=8), st.sampled_from([0.05, 0.2, 0.4]))
def test_pairs_and_kept_documents_are_those_of_the_reference(texts, threshold):
    result = quern.dedup(texts, threshold=threshold, threads=1)
    expected = pairs_of(texts, threshold)
    pairs = result.pairs
    assert list(zip(pairs["a"].tolist(), pairs["b"].tolist(), pairs["distance"].tolist())) == expected
    assert result.keep.tolist() == kept_of(texts, expected)
    assert result.dropped == result.keep.tolist().count(False)
    assert result.pair_count == len(expected)


@pytest.fixture
def corpus(tmp_path):
    chance = random.Random(3)
    vocabulary = [f"w{i}" for i in range(500)]
    texts = [" ".join(chance.choices(vocabulary, k=80)) for _ in range(120)]
    for i in range(0, 60, 3):
        copy = list(texts[i])
        for _ in range(1 + i % 9):
            copy[chance.randrange(len(copy))] = chance.choice("abc")
        texts.append("".join(copy))
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"id": f"d{i}", "text": t}) + "\n" for i, t in enumerate(texts)))
    return path, texts


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"threshold": 0.1},
        {"method": "signature"},
        {"method": "shared-memory", "signature_length": 64, "slack": 2},
        {"method": "global-memory"},
        {"method": "exhaustive", "unit": "char"},
        {"method": "shingle", "shingle": 3, "similarity": 0.5},
        {"method": "shingle", "shingle": 12, "shingle_unit": "char"},
        {"method": "simhash", "hamming": 6},
        {"method": "i-match"},
        {"method": "shingle", "tokens": "ascii", "stem": "porter", "min_length": 2},
    ],
)
def test_the_fingerprint_is_that_of_the_program(corpus, command, options):
    path, texts = corpus
    arguments = [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", value)]
    expected = xxhash.xxh3_64_hexdigest(command("dedup", path, "--format", "tsv", *arguments))
    from_file = quern.dedup(path, **options)
    assert from_file.fingerprint == expected
    in_memory = quern.dedup([(f"d{i}", t) for i, t in enumerate(texts)], **options)
    assert in_memory.fingerprint == expected


@pytest.mark.parametrize("rule", ["near-kept", "connected"])
@pytest.mark.parametrize("keep", ["first", "last", "longest", "shortest"])
def test_kept_documents_are_those_of_the_program(corpus, command, tmp_path, rule, keep):
    path, texts = corpus
    out = tmp_path / "kept.jsonl"
    result = quern.dedup(path, rule=rule, keep=keep, threshold=0.1, output=out)
    expected = command("dedup", path, "--rule", rule, "--keep", keep, "--threshold", "0.1", "-o", "-")
    assert out.read_bytes() == expected
    kept = [json.loads(line)["id"] for line in expected.splitlines()]
    assert [f"d{i}" for i, stays in enumerate(result.keep) if stays] == kept
    quick = quern.dedup(path, rule=rule, keep=keep, threshold=0.1, list_pairs=False)
    assert (quick.keep == result.keep).all()
    with pytest.raises(quern.UsageError, match="list_pairs=True"):
        quick.pairs


def test_groups_and_removed(corpus):
    path, texts = corpus
    result = quern.dedup(path, threshold=0.1)
    groups, removed = result.groups, result.removed
    assert sum(groups["kept"]) == len(set(groups["group"].tolist()))
    assert len(removed) == result.dropped
    for row in removed:
        assert distance(texts[row["position"]].encode(), texts[row["kept_position"]].encode()) == row["distance"]
        assert not result.keep[row["position"]] and result.keep[row["kept_position"]]


def test_outputs_are_refused_before_the_work(corpus, tmp_path):
    path, _ = corpus
    existing = tmp_path / "there.jsonl"
    existing.write_text("mine")
    with pytest.raises(quern.UsageError, match="exists"):
        quern.dedup(path, output=existing)
    assert existing.read_text() == "mine"
    quern.dedup(path, output=existing, overwrite=True)
    assert existing.read_text() != "mine"
    with pytest.raises(quern.UsageError, match="is an input"):
        quern.dedup(path, output=path, overwrite=True)
    with pytest.raises(quern.UsageError):
        quern.dedup(path, output=tmp_path / "no" / "folder.jsonl")


def test_a_folder_of_results_and_a_report(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.jsonl").write_text('{"id":"1","text":"one"}\n{"id":"2","text":"one"}\n')
    (folder / "b.jsonl").write_text('{"id":"1","text":"two"}\n')
    quern.dedup(folder, output=f"{tmp_path}/out/", report=tmp_path / "page.html")
    assert (tmp_path / "out" / "a.jsonl").read_text() == '{"id":"1","text":"one"}\n'
    assert "<html" in (tmp_path / "page.html").read_text()


def test_store_and_against(tmp_path):
    store = tmp_path / "seen"
    first = quern.dedup(["one text here", "another text"], store=store)
    assert (first.documents, first.earlier, first.dropped) == (2, 0, 0)
    second = quern.dedup([("x", "one text hers"), ("y", "quite different")], store=store, threshold=0.05)
    assert second.earlier == 2
    assert second.keep.tolist() == [False, True]
    assert second.pairs["a"].tolist() == [-2]
    known = tmp_path / "test.jsonl"
    known.write_text('{"id":"t","text":"one text here"}\n')
    assert quern.dedup(["one text here", "one text here"], against=known).keep.tolist() == [False, False]


def test_tables(corpus):
    path, _ = corpus
    pairs = quern.dedup(path, threshold=0.1).pairs
    assert len(pairs) > 5
    for frame in (pyarrow.table(pairs).to_pandas(), polars.DataFrame(pairs).to_pandas(), pandas.DataFrame(pairs.to_dict())):
        assert frame["id_a"].tolist() == pairs["id_a"]
        assert frame["distance"].tolist() == pairs["distance"].tolist()
    assert pairs[-1] == pairs.to_dicts()[-1] == list(pairs)[-1]
    for some in (slice(2, 4), slice(-3, None), slice(None, None, -2), slice(9, 3)):
        assert pairs[some] == pairs.to_dicts()[some]
    assert pairs["rate"].dtype == numpy.float64 and not pairs["rate"].flags.writeable
    with pytest.raises(KeyError, match="expected one of id_a"):
        pairs["nothing"]
    with pytest.raises(IndexError):
        pairs[len(pairs)]
    with pytest.raises(TypeError):
        pairs[1.5]
    assert "more" in repr(pairs) and "<table>" in pairs._repr_html_()
    column = pairs["rate"]
    del pairs
    assert (column >= 0).all()  # it keeps its memory


def test_hostile_texts_do_not_reach_the_terminal():
    pairs = quern.dedup([("\x1b[31m\u202e", "same"), ("b", "same")]).pairs
    assert "\x1b" not in repr(pairs) and "\u202e" not in repr(pairs)
    assert "<script>" not in quern.dedup([("<script>", "same"), ("b", "same")]).pairs._repr_html_()


def test_deduplicator():
    texts = ["Salt comes from the sea.", "Salt comes from the seas.", "Grain is ground."]
    remove = quern.Deduplicator(threshold=0.1)
    assert remove.get_params() == {"threshold": 0.1}
    assert remove.fit_filter(texts) == [texts[0], texts[2]]
    frame = pandas.DataFrame({"text": texts})
    assert remove.fit_filter(frame)["text"].tolist() == [texts[0], texts[2]]
    assert remove.fit_filter(polars.DataFrame({"text": texts}))["text"].to_list() == [texts[0], texts[2]]
    assert remove.fit_filter(pyarrow.table({"text": texts}))["text"].to_pylist() == [texts[0], texts[2]]
    assert remove.set_params(threshold=0.001).fit_predict(texts).tolist() == [True] * 3
    copy = pickle.loads(pickle.dumps(quern.Deduplicator(threshold=0.1)))
    assert copy.fit_filter(texts) == [texts[0], texts[2]]
    with pytest.raises(TypeError, match="cannot filter"):
        remove.fit_filter(text for text in texts)


def test_a_stream_finds_what_a_run_finds(corpus, tmp_path):
    _, texts = corpus
    expected = quern.dedup(texts, threshold=0.1).keep.tolist()
    with quern.DuplicateStream(threshold=0.1, store=tmp_path / "store") as stream:
        found = [not stream.add(text)["duplicates"] for text in texts]
        assert len(stream) == len(texts)
        assert stream.query(texts[0])["duplicates"][0]["distance"] == 0
        assert len(stream) == len(texts)
    assert found == expected
    with pytest.raises(quern.UsageError, match="keep"):
        raise quern.UsageError("keep")
    with pytest.raises(TypeError, match="keep"):
        quern.DuplicateStream(keep="last")


def test_a_stream_takes_many_documents_as_one_by_one(corpus):
    _, texts = corpus
    one, many = quern.DuplicateStream(threshold=0.1), quern.DuplicateStream(threshold=0.1)
    expected = [one.add(text) for text in texts]
    found = [answer for begin in range(0, len(texts), 7) for answer in many.add_many(texts[begin : begin + 7])]
    assert [(f["id"], f["duplicates"], f["error"]) for f in found] == [(e["id"], e["duplicates"], None) for e in expected]
    assert [f["duplicates"] for f in many.query_many(texts[:9])] == [one.query(text)["duplicates"] for text in texts[:9]]
    again = many.add_many([("twice", "one text"), ("twice", "another"), "a third"])
    assert [answer["error"] is None for answer in again] == [True, False, True] and "twice" in again[1]["error"]
    assert len(many) == len(texts) + 2 and many.add_many([]) == []
    with pytest.raises(quern.UsageError, match="neither a text nor a tuple"):
        many.add_many([5])


def test_a_stream_refuses_a_repeated_id():
    stream = quern.DuplicateStream()
    stream.add("one", id="a")
    with pytest.raises(quern.Error, match="a"):
        stream.add("two", id="a")


def test_parts(corpus, command, tmp_path):
    path, texts = corpus
    for level in ("line", "paragraph", "substring"):
        cuts = tmp_path / f"{level}.tsv"
        kept = command("dedup", path, "--level", level, "--min-length", "20", "-o", "-", "--cuts", cuts)
        out = tmp_path / f"{level}.jsonl"
        result = quern.dedup_parts(path, level=level, min_length=20, output=out)
        assert out.read_bytes() == kept
        assert result.fingerprint == xxhash.xxh3_64_hexdigest(cuts.read_bytes())
        assert quern.dedup_parts(texts, level=level, min_length=20).texts == result.texts
        assert sum(len(text) for text in result.texts) >= result.characters - result.characters_cut
        quern.dedup_parts(path, level=level, min_length=20, output=f"{tmp_path}/{level}/")
        assert (tmp_path / level / path.name).read_bytes() == kept
    with pytest.raises(quern.UsageError, match="quern.dedup"):
        quern.dedup_parts(texts, level="document")


def test_signatures(corpus, command):
    path, texts = corpus
    rows = [line.split("\t") for line in command("signature", path, "--format", "tsv").decode().splitlines()]
    found = quern.signatures([(f"d{i}", t) for i, t in enumerate(texts)])
    assert [[r["id"], str(r["B"]), r["signature"], r["signature_at_2B"]] for r in found] == rows


def test_threads_share_a_stream() -> None:
    stream = quern.DuplicateStream(threshold=0.05)
    failures: list[BaseException] = []

    def use(thread: int) -> None:
        letters = random.Random(thread)
        try:
            for i in range(400):
                text = "".join(letters.choices("abcdefghijklmnopqrstuvwxyz ", k=200))
                assert stream.add(text, id=f"{thread}-{i}")["duplicates"] == []
                found = stream.query(text)["duplicates"]
                assert [one["id"] for one in found] == [f"{thread}-{i}"] and len(stream) > i
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=use, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and len(stream) == 1600


def test_results_can_be_pickled(corpus):
    path, _ = corpus
    for options in ({}, {"list_pairs": False}):
        result = quern.dedup(path, threshold=0.1, **options)
        for copy in (pickle.loads(pickle.dumps(result)), pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(result))))):
            assert isinstance(copy, quern.DedupResult) and repr(copy) == repr(result)
            assert copy.fingerprint == result.fingerprint and copy.keep.tolist() == result.keep.tolist()
            assert copy.removed.to_dicts() == result.removed.to_dicts() and copy.counts == result.counts
            assert copy._repr_html_() == result._repr_html_() and copy.pair_count == result.pair_count
            with pytest.raises(quern.UsageError, match="no texts"):
                copy.text(0)
    assert pickle.loads(pickle.dumps(quern.dedup(path, threshold=0.1))).pairs.to_dicts()
    with pytest.raises(quern.UsageError, match="not listed"):
        copy.pairs


def test_tables_can_be_pickled(corpus):
    path, _ = corpus
    result = quern.dedup(path, threshold=0.1)
    for rows in (result.pairs, result.groups, result.removed, quern.signatures(["a text", "ä"]), quern.doctor()):
        copy = pickle.loads(pickle.dumps(rows))
        assert copy.columns == rows.columns and copy.to_dicts() == rows.to_dicts() and repr(copy) == repr(rows)
        assert pyarrow.table(copy).schema == pyarrow.table(rows).schema
    with pytest.raises(TypeError, match="to_dict"):
        pickle.dumps(quern.ngrams(["a b"]))


def test_parts_keep_what_the_output_has(tmp_path):
    passage = "A passage of more than twenty letters."
    texts = [passage, "", " ", f" {passage}\n", f"More. {passage}", passage, "\u2028" + passage]
    out = tmp_path / "out.jsonl"
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in enumerate(texts)))
    found = quern.dedup_parts(texts, min_length=20)
    quern.dedup_parts(tmp_path / "in.jsonl", min_length=20, output=out)
    kept = [json.loads(line) for line in out.read_text().split("\n")[:-1]]
    assert found.keep.tolist() == [True, True, True, False, True, False, True]
    assert found.dropped == 2
    assert [(d["id"], d["text"]) for d in kept] == [(i, found.texts[i]) for i in range(len(texts)) if found.keep[i]]
