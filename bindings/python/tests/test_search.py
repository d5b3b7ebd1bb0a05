# SPDX-License-Identifier: Apache-2.0
"""Stores and search, compared with the program."""

import html
import json
import multiprocessing
import os
import pathlib
import pickle
import random
import threading

import duckdb
import pandas
import polars
import pyarrow
import pytest
import quern
import xxhash

WORDS = ["word0", "word1", "mill", "stone", "ä", "naïve", "日本語", "tea"] + [f"word{i}" for i in range(2, 300)]


def corpus(count: int, seed: int) -> list[dict[str, str]]:
    draw = random.Random(seed)

    def text(low: int, high: int) -> str:
        return " ".join(
            WORDS[min(int(draw.paretovariate(0.8)) - 1, len(WORDS) - 1)] for _ in range(draw.randint(low, high))
        )

    return [
        {"id": f"doc {i}" if i % 7 == 0 else f"d{i}", "title": text(0, 4), "text": text(5, 60)} for i in range(count)
    ]


def linked(count: int, seed: int) -> str:
    """The same as JSON lines, with links."""
    draw = random.Random(seed)
    rows = corpus(count, seed)
    ids = [row["id"] for row in rows]
    return "".join(json.dumps({**row, "links": draw.sample(ids, draw.randint(0, 3))}) + "\n" for row in rows)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> quern.Store:
    folder = tmp_path_factory.mktemp("search")
    (folder / "corpus.jsonl").write_text(linked(400, 3))
    return quern.build(folder / "corpus.jsonl", folder / "made", progress=False).store


@pytest.fixture(scope="module")
def queries() -> list[str]:
    draw = random.Random(7)
    made = []
    for _ in range(1000):
        words = [draw.choice(WORDS + ["unknwon", "wrod7"]) for _ in range(draw.randint(1, 5))]
        if draw.random() < 0.2:
            words[0] = f'"{words[0]} {draw.choice(WORDS)}"'
        made.append(" ".join(words))
    return made


OPTIONS = [
    {},
    {"k": 3, "model": "ql", "lambda_": 0.2},
    {"model": "dirichlet", "mu": 10, "title_weight": 0},
    {"model": "two-stage", "mu": 10, "lambda_": 0.7, "phrases": False},
    {"model": "ql", "order": 3, "explain": True},
    {"model": "dirichlet", "order": 2, "order_weights": "0.2"},
    {"model": "ql", "order": 2, "order_model": "history"},
    {"k1": 1.2, "b": 0.75, "prior": 0.05, "k": "all"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_hits_are_those_of_the_program(made, command, queries, options):
    arguments = []
    for name, value in options.items():
        name = "--" + name.rstrip("_").replace("_", "-") if len(name) > 1 else "-" + name
        name = "--" + name[1:] if name == "-b" else name
        if value is True:
            arguments.append(name)
        else:
            arguments += [name, "off" if value is False else str(value)]
    some = queries if not options else queries[:200]
    lines = command("search", made.path, *arguments, "--format", "jsonl", stdin="\n".join(some).encode())
    expected: dict[int, list[dict]] = {}
    for line in lines.decode().splitlines():
        row = json.loads(line)
        expected.setdefault(row.pop("query"), []).append(row)
    for number, query in enumerate(some):
        hits = made.search(query, **options)
        rows = []
        for hit in hits.to_dicts():
            row = {name: hit[name] for name in ("rank", "id", "score", "title", "snippet")}
            row["copies"], row["copy_count"] = hit["duplicates"], hit["duplicate_count"]
            if "explanation" in hit:
                row["explanation"] = hit["explanation"]
            rows.append(row)
        theirs = expected.get(number, [])
        if made.info["copies"] == 0:
            rows = [{n: v for n, v in row.items() if not n.startswith("copy") and n != "copies"} for row in rows]
        assert rows == theirs, query


@pytest.mark.parametrize("query", ["", "mill word5"])
def test_documents_like_another(made, command, query):
    for options, arguments in (
        ({}, []),
        ({"like_weight": 10}, ["--like-weight", 10]),
        ({"expand": 2}, ["--expand", 2]),
    ):
        lines = command("search", made.path, *query.split(), "--like", "d1", *arguments, "--format", "jsonl")
        expected = [json.loads(line) for line in lines.decode().splitlines()]
        hits = made.search(query, like="d1", **options)
        assert [(hit.id, hit.score) for hit in hits] == [(row["id"], row["score"]) for row in expected]
        assert len(hits) == 10 and all(hit.id != "d1" for hit in hits)
    assert (len(made.search("word20", expand=2).similar_words) > 0) and len(made.search("mill").similar_words) == 0


def test_fingerprint_of_hits(made, command):
    for query in ("mill stone", "word3 word1", "nowhere"):
        hits = made.search(query)
        if hits:
            table = command("search", made.path, query, "--format", "tsv")
            assert hits.fingerprint == xxhash.xxh3_64_hexdigest(table)
        else:
            assert hits.fingerprint == xxhash.xxh3_64_hexdigest(b"")
    table = command("search", made.path, "mill", "--explain", "--format", "tsv")
    assert made.search("mill", explain=True).fingerprint == xxhash.xxh3_64_hexdigest(table)


def test_hits_are_a_sequence(made):
    hits = made.search("word1 mill", k=20)
    assert len(hits) == 20 and [hit.rank for hit in hits] == list(range(1, 21))
    assert hits[-1].id == hits[19].id and [hit.id for hit in hits[3:6]] == [hits[3].id, hits[4].id, hits[5].id]
    with pytest.raises(IndexError):
        hits[20]
    rest = made.search("word1 mill", k=20, offset=15)
    assert [hit.rank for hit in rest] == [16, 17, 18, 19, 20]
    assert polars.DataFrame(hits)["id"].to_list() == [hit.id for hit in hits]
    assert pyarrow.table(hits).num_rows == 20 and len(pandas.DataFrame(hits.to_dicts())) == 20
    assert hits.table["score"].tolist() == [hit.score for hit in hits]
    assert repr(hits).startswith("20 hits for 'word1 mill'") and repr(hits[0]).startswith("Hit(1, ")
    assert not made.search("nowhere") and len(made.search("")) == 0


def test_a_hit_outlives_its_store(tmp_path):
    hit = quern.build(["the tea is hot"], tmp_path / "s").store.search("tea")[0]
    assert hit.snippet.mark() == "the **tea** is hot" and hit.id


def test_explanations_add_up(made):
    for query in ("word1 mill stone", "ä word2 word2"):
        for hit in made.search(query, explain=True):
            assert sum(term["score"] for term in hit.explanation) == hit.score
        ranking = made.search(query, k="all")
        one = ranking[len(ranking) // 2]
        only = made.explain(query, one.id)
        assert [(h.rank, h.id, h.score) for h in only] == [(one.rank, one.id, one.score)]
        assert sum(term["score"] for term in only[0].explanation) == one.score
    assert made.search("mill")[0].explanation is None
    with pytest.raises(quern.UsageError, match="does not find"):
        made.explain("nowhere", "d1")


def test_marks(tmp_path):
    store = quern.build(
        [("1", "Die naïve Mühle: <b>mills</b> & MILL."), ("2", "x")], tmp_path / "s", stem="porter"
    ).store
    snippet = store.search("mill mühle")[0].snippet
    assert isinstance(snippet, str) and snippet == "Die naïve Mühle: <b>mills</b> & MILL."
    assert snippet.mark("[", "]") == "Die naïve [Mühle]: <b>[mills]</b> & [MILL]."
    assert snippet.mark("<i>", "</i>", escape=html.escape) == (
        "Die naïve <i>Mühle</i>: &lt;b&gt;<i>mills</i>&lt;/b&gt; &amp; <i>MILL</i>."
    )
    assert [snippet[a:b] for a, b in snippet.marks] == ["Mühle", "mills", "MILL"]
    again = pickle.loads(pickle.dumps(snippet))
    assert again == snippet and again.marks == snippet.marks
    assert "&lt;b&gt;<b>mills</b>" in store.search("mill")._repr_html_()


def test_unknown_words_and_corrections(tmp_path):
    store = quern.build(["grain is ground in a mill", "salt of the sea"], tmp_path / "s").store
    hits = store.search("gruund salt", typos="never")
    assert hits.unknown_words == ["gruund"] and hits.suggestions == {"gruund": ["ground"]}
    assert hits.corrected == "ground salt" and [hit.id for hit in hits] == [store.ids[1]]
    assert [hit.id for hit in store.search("gruund")] == [store.ids[0]]
    corrected = store.search("gruund", correct=True)
    assert corrected.query == corrected.corrected == "ground" and len(corrected) == 1
    assert store.search("salt").corrected is None and store.search("salt", correct=True).corrected is None
    assert store.search("gruund", suggestions=0).suggestions == {}


def test_typos_and_completions(tmp_path):
    store = quern.build([("a", "mill mills miller"), ("b", "mill"), ("c", "mall")], tmp_path / "s").store
    assert [hit.id for hit in store.search("mill", typos="1")] == ["b", "a", "c"]
    assert [hit.id for hit in store.search("mill")] == ["b", "a"] and len(store.search("mill").variants) == 0
    variants = store.search("mlil").variants
    assert list(variants["word"]) == ["mill"] and list(variants["documents"]) == [2]
    assert len(store.search("mil", typos="never")) == 0 and len(store.search("mil", prefix_last=True)) == 2
    words = store.complete("old mil", k=2)
    assert list(words["word"]) == ["mill", "miller"] and list(words["query"]) == ["old mill", "old miller"]
    assert list(words["documents"]) == [2, 1] and list(words["distance"]) == [0, 0]
    assert len(store.complete("mlil", typos="never")) == 0 and list(store.complete("mlil")["distance"]) == [1, 1, 1]
    with pytest.raises(quern.UsageError, match="k: "):
        store.complete("m", k=0)


def test_duplicates(tmp_path):
    text = "Grain is ground between two heavy stones that are driven by wind or water. " * 3
    store = quern.build([("a", text), ("b", text + "!"), ("c", "Salt comes from the sea.")], tmp_path / "s").store
    (hit,) = store.search("grain")
    assert hit.duplicates == [{"id": "b", "title": "", "distance": 1}] and hit.duplicate_count == 1
    assert store.search("grain", duplicates=False)[0].duplicates == []


# ---- Words and vectors ----


def test_words_and_vectors_are_fused(tmp_path):
    numpy = pytest.importorskip("numpy")
    rows = numpy.random.default_rng(1).normal(size=(40, 8)).astype("float32")
    texts = [(f"d{i}", "sea " + "mill " * (i % 3) + "stone " * (i % 5)) for i in range(40)]
    store = quern.build(texts, tmp_path / "store", vectors=rows, skip="all").store
    query = rows[7] + rows[9]
    cosines = rows @ query / numpy.linalg.norm(rows, axis=1) / numpy.linalg.norm(query)
    near = [f"d{i}" for i in numpy.argsort(-cosines)]
    alone = store.search("", vector=query, k="all")
    assert [hit.id for hit in alone] == near
    assert alone[0].score == pytest.approx(max(cosines), abs=1e-6)
    words = [hit.id for hit in store.search("mill", k="all")]
    score = {}
    for ranking in (words, near):
        for rank, id in enumerate(ranking, 1):
            score[id] = score.get(id, 0) + 1 / (60 + rank)
    best = sorted(score, key=lambda id: (-score[id], int(id[1:])))
    found = store.search("mill", vector=list(query), k=12, total=True)
    assert [hit.id for hit in found] == best[:12] and found.total == 40
    assert [hit.score for hit in found] == pytest.approx([score[id] for id in best[:12]])
    run = store.search_many({"a": "mill", "b": "stone"}, vectors=[query, rows[3]], k=5, title_weight=0)
    assert list(run["a"]) == best[:5]
    assert list(run["b"]) == [hit.id for hit in store.search("stone", vector=rows[3], k=5)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps({"id": f"d{i}", "vector": rows[i].tolist()}) + "\n" for i in reversed(range(40))))
    again = quern.build(texts, tmp_path / "by_id", vectors=tmp_path / "rows.jsonl", skip="all").store
    assert [hit.id for hit in again.search("mill", vector=query, k=12)] == best[:12]
    for wrong in ({"vector": [1.0, 2.0]}, {"vector": [float("nan")] * 8}, {"vector": query, "explain": True}, {"fusion": "sum"}):
        with pytest.raises(quern.UsageError):
            store.search("mill", **wrong)
    with pytest.raises(quern.UsageError, match="no vectors of documents"):
        quern.build(texts, tmp_path / "without", skip="all").store.search("mill", vector=query)
    with pytest.raises(quern.InvalidInput, match="39 vectors in order, but the store has 40 documents"):
        quern.build(texts, tmp_path / "short", vectors=rows[:39], skip="all")
    with pytest.raises(quern.UsageError):
        quern.build(texts, tmp_path / "store", vectors=rows, update=True)


# ---- Shards ----


def test_a_sharded_store_is_one_store(tmp_path, command):
    rows = corpus(90, 3)
    whole = quern.build(rows, tmp_path / "whole", skip="all").store
    for i, part in enumerate((rows[:20], rows[20:70], rows[70:])):
        quern.build(part, tmp_path / f"part{i}", skip="all")
    command("merge", *(tmp_path / f"part{i}" for i in range(3)), "-o", tmp_path / "apart", "--sharded", "--quiet")
    apart = quern.open(tmp_path / "apart")
    for query in ("mill word1", "mlil wrod12", "+tea -mill", '"word0 word1" stone', "word29*"):
        for options in ({}, {"explain": True, "total": True}, {"model": "dirichlet", "typos": "2"}, {"prefix_last": True, "fold": "accents"}):
            assert apart.search(query, **options) == whole.search(query, **options)
            assert apart.search(query, **options).fingerprint == whole.search(query, **options).fingerprint
    assert apart.search_many({"a": "mill", "b": "stone tea"}) == whole.search_many({"a": "mill", "b": "stone tea"})
    assert apart.count("word0 word1").count == whole.count("word0 word1").count
    assert apart.document("d3").text == whole.document("d3").text
    again = pickle.loads(pickle.dumps(apart))
    assert again.fingerprint == apart.fingerprint and again.search("mill") == whole.search("mill")
    with pytest.raises(quern.UsageError, match="a sharded store does not have words of the best documents"):
        apart.search("mill", feedback="rm3")
    quern.build(rows[20:60], tmp_path / "part1", skip="all", force=True)
    with pytest.raises(quern.UsageError, match="its shard .* was changed"):
        quern.open(tmp_path / "apart")


# ---- Many topics ----


def test_runs_are_those_of_the_program(made, command, queries, tmp_path):
    topics = {f"t{number}": query.replace('"', "") for number, query in enumerate(queries[:200])}
    (tmp_path / "topics.tsv").write_text("".join(f"{topic}\t{query}\n" for topic, query in topics.items()))
    for options, arguments in (
        ({}, []),
        ({"k": 7, "model": "ql"}, ["-k", "7", "--model", "ql"]),
        ({"title_weight": 0.5, "threads": 1}, ["--title-weight", "0.5"]),
        ({"field_weights": "title=3", "field_b": "text=0.75"}, ["--field-weights", "title=3", "--field-b", "text=0.75"]),
        ({"field_weights": {"title": 3}, "field_b": {"text": 0.75}}, ["--field-weights", "title=3", "--field-b", "text=0.75"]),
        ({"model": "ql", "order": 3, "order_weights": [0.2, 0.1]}, ["--model", "ql", "--order", "3", "--order-weights", "0.2 0.1"]),
    ):
        expected = command("search", made.path, "--topics", tmp_path / "topics.tsv", *arguments)
        run = made.search_many(topics, **options)
        run.write(tmp_path / "mine.run", overwrite=True)
        assert (tmp_path / "mine.run").read_bytes() == expected
        assert run.fingerprint == xxhash.xxh3_64_hexdigest(expected)
        assert made.search_many(tmp_path / "topics.tsv", **options) == run
        assert made.search_many(str(tmp_path / "topics.tsv"), **options) == run


def test_forms_of_topics(made):
    expected = made.search_many([("7", "mill"), ("a", "stone word1")])
    frame = {"qid": [7, "a"], "query": ["mill", "stone word1"]}
    for topics in (
        {"7": "mill", "a": "stone word1"},
        {7: "mill", "a": "stone word1"},
        pandas.DataFrame(frame),
        polars.DataFrame({"qid": ["7", "a"], "query": frame["query"]}),
        pyarrow.table({"topic": ["7", "a"], "text": frame["query"]}),
        pandas.DataFrame({"first": ["7", "a"], "second": frame["query"]}),
        duckdb.from_arrow(pyarrow.table({"qid": ["7", "a"], "query": frame["query"]})),
        pandas.Series(frame["query"], index=[7, "a"]),
        (pair for pair in [("7", "mill"), ("a", "stone word1")]),
    ):
        assert made.search_many(topics) == expected
    numbered = made.search_many(["mill", "stone"])
    for column in (pandas.Series(["mill", "stone"]), polars.Series(["mill", "stone"]), pyarrow.array(["mill", "stone"])):
        assert made.search_many(column) == numbered
    assert numbered.keys() == ["0", "1"] and len(made.search_many([])) == 0


@pytest.mark.parametrize(
    ("topics", "error", "message"),
    [
        (3, TypeError, "dict, a list"),
        ([3], quern.UsageError, "not a query"),
        ([("a", 3)], TypeError, "must be a str"),
        ([("a b", "x")], quern.UsageError, "white space"),
        ([("a", "x"), ("a", "y")], quern.UsageError, "twice"),
        ("none.tsv", quern.UsageError, "none.tsv"),
        ("", quern.UsageError, "no such file"),
        (quern.Run({"a": {"x": 1}}), quern.UsageError, "no column has a usual name for the query"),
        (pandas.DataFrame({"a": [1], "b": [2], "c": [3]}), quern.UsageError, "usual name"),
    ],
)
def test_errors_of_topics(made, topics, error, message):
    with pytest.raises(error, match=message):
        made.search_many(topics)


def test_topics_without_hits_are_logged(made, caplog):
    run = made.search_many({"x": "nowhere", "y": "mill"})
    assert run.keys() == ["y"] and "topic x: nothing found" in caplog.text


# ---- The store ----


def test_properties(made, command):
    rows = [line.split("\t") for line in command("info", made.path, "--format", "tsv").decode().splitlines()]
    assert {name: str(value) for name, value in made.info.items()} == dict(rows)
    assert made.fingerprint == xxhash.xxh3_64_hexdigest(command("info", made.path, "--format", "tsv"))
    assert made.documents == len(made) == made.info["documents"] and made.vocabulary == made.info["vocabulary"]
    assert made.text_options == {
        "language": "auto",
        "tokens": "unicode",
        "min_length": 1,
        "stop_words": "none",
        "stem": "none",
        "fold": "none",
    }
    assert repr(made) == f"Store({made.path!r}, {made.documents:,} documents)" and "<table>" in made._repr_html_()
    assert made.verify() == int(command("verify", made.path, "--format", "tsv").decode().split("\t")[2])


def test_documents(made):
    texts = {document["id"]: document for document in corpus(400, 3)}
    ids = made.ids
    assert len(ids) == made.documents and ids[:2] + [ids[-1]] == [ids[0], ids[1], ids[len(ids) - 1]]
    for number, name in enumerate(ids):
        assert made.document(name) == made.document(number)
        assert made.document(name)[:4] == (number, name, texts[name]["title"], texts[name]["text"])
        assert ids.index(name) == number
    assert ids[0] in made and "nowhere" not in made and "nowhere" not in ids and 3 not in made
    with pytest.raises(quern.UsageError, match="did you mean 'd1'"):
        made.document("D1")
    for wrong in (made.documents, -1, True):
        with pytest.raises(quern.UsageError):
            made.document(wrong)


def test_names_of_files_that_are_not_text(tmp_path):
    (tmp_path / "folder").mkdir()
    name = os.fsdecode(b"caf\xe9.txt")
    (tmp_path / "folder" / name).write_text("tea")
    (tmp_path / "folder" / "tea.txt").write_text("tea tea")
    store = quern.build(tmp_path / "folder", tmp_path / "store").store
    for hit in store.search("tea"):
        assert store.document(hit.id).text.startswith("tea") and hit.id in store.ids
        assert hit.title is not None
    assert len(store.search("tea").table.to_dicts()) == 2
    assert len(store.search_many(["tea"])["0"]) == 2


def test_counts(made, command):
    for phrase in ("word1", "word1 word2", "mill", "nowhere word1"):
        counts = made.count(phrase)
        rows = (
            [
                line.split("\t")
                for line in command("count", made.path, *phrase.split(), "--format", "tsv").decode().splitlines()
            ]
            if counts.count
            else []
        )
        assert list(zip(counts.documents["document"], counts.documents["count"].tolist())) == [
            (d, int(n)) for d, n in rows
        ]
        assert counts.count == sum(int(n) for _, n in rows) and counts.words == phrase.split()
    assert made.count("nowhere word1").unknown_words == ["nowhere"]
    assert made.count("mill").fingerprint == xxhash.xxh3_64_hexdigest(
        command("count", made.path, "mill", "--format", "tsv")
    )


def test_words_that_are_used_alike(made, command):
    for word in ("word1", "mill"):
        rows = [r.split("\t") for r in command("similar", made.path, word, "--format", "tsv").decode().splitlines()]
        assert [[row["word"], row["score"]] for row in made.similar(word).to_dicts()] == [
            [w, float(s)] for w, s in rows
        ]
        rows = [r.split("\t") for r in command("contexts", made.path, word, "--format", "tsv").decode().splitlines()]
        assert [row["word"] for row in made.contexts(word).to_dicts()] == [row[1] for row in rows]
    rows = command("similar", made.path, "word1", "+word2", "-word3", "--top", "5", "--format", "tsv").decode()
    assert made.similar(["word1", "+word2", "-word3"], k=5)["word"] == [r.split("\t")[0] for r in rows.splitlines()]
    both = command("contexts", made.path, "word1", "word2", "--format", "tsv").decode().splitlines()
    assert made.contexts("word1", "word2")["word"] == [row.split("\t")[1] for row in both]
    with pytest.raises(quern.UsageError, match="not in the vocabulary"):
        made.similar("nowhere")


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"query": 3}, TypeError, "query must be a str, not int"),
        ({"query": None}, TypeError, "query must be a str, not NoneType"),
        ({"query": "a", "kk": 3}, TypeError, "did you mean k"),
        ({"query": "a", "k": 0}, quern.UsageError, "k: invalid value"),
        ({"query": "a", "k": 2.5}, quern.UsageError, "k: invalid value"),
        ({"query": "a", "model": "tfidf"}, quern.UsageError, "bm25"),
        ({"query": "a", "mu": 3}, quern.UsageError, "mu: requires model"),
        ({"query": "a", "order": 2}, quern.UsageError, "order"),
        ({"query": "a", "like": "nowhere"}, quern.UsageError, "no document 'nowhere'"),
        ({"query": "a", "expand_weight": 0.5}, quern.UsageError, "requires expand"),
        ({"query": "mill " * 300_000}, quern.UsageError, "at most 262144"),
        ({"query": "a", "model": "\ud800"}, UnicodeEncodeError, "surrogates"),
        ({"query": "a", "k": "\ud800"}, UnicodeEncodeError, "surrogates"),
        ({"query": "a", "filter": 5}, quern.UsageError, r"filter: invalid value 5 \(expected a text\)"),
        ({"query": "a", "sort": 5}, quern.UsageError, "expected a text, or a list of texts"),
        ({"query": "a", "field_weights": 5}, quern.UsageError, "expected a text, or a dict of fields and numbers"),
        ({"query": "a", "weights": 5}, TypeError, "weights: expected a dict of words and weights, got int"),
    ],
)
def test_errors(made, given, error, message):
    with pytest.raises(error, match=message):
        made.search(**given)


def test_stores_that_cannot_be_opened(tmp_path):
    with pytest.raises(quern.UsageError, match="no such store"):
        quern.open(tmp_path / "none")
    store = quern.build(["tea"], tmp_path / "s").store
    section = max(pathlib.Path(store.path).glob("*.section"), key=lambda path: path.stat().st_size)
    section.write_bytes(section.read_bytes()[:-1] + b"\x00")
    with pytest.raises(quern.DamagedStore):
        quern.open(store.path).verify()


# ---- Pickles, processes, threads ----


def ids_of(store: quern.Store, query: str) -> list[str]:
    return [hit.id for hit in store.search(query)]


def run_of(store: quern.Store, query: str) -> quern.Run:
    return store.search_many({"t": query, "u": "mill"}, threads=2)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes(made, method):
    expected = ids_of(made, "mill stone"), run_of(made, "mill stone")
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.starmap(ids_of, [(made, "mill stone")] * 4) == [expected[0]] * 4
        assert pool.starmap_async(run_of, [(made, "mill stone")] * 4).get(timeout=60) == [expected[1]] * 4


inherited: quern.Store | None = None


def ids_of_inherited(query: str) -> tuple[list[str], quern.Run]:
    assert inherited is not None
    return ids_of(inherited, query), run_of(inherited, query)


def test_a_store_that_a_child_inherits(made):
    global inherited
    inherited = made
    expected = ids_of_inherited("mill stone")
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(ids_of_inherited, ["mill stone"] * 8).get(timeout=60) == [expected] * 8


def hits_of(store: quern.Store, query: str) -> quern.Hits:
    return store.search(query, k=5, model="ql", explain=True)


def test_none_equals_neither_stores_nor_hits(made):
    for found in (made, made.search("word1")):
        assert found != None and not found == None and found == found  # noqa: E711


def test_hits_are_pickled(made):
    for hits in (hits_of(made, "mill stone"), made.explain("mill", made.search("mill")[3].id), made.search("mlil")):
        again = pickle.loads(pickle.dumps(hits))
        assert again == hits and again.to_dicts() == hits.to_dicts() and hash(again) == hash(hits)
    assert made.search("mill") != made.search("stone") and made.search("mill") != 3
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(hits_of, (made, "mill stone")) == hits_of(made, "mill stone")


def test_a_hit_is_a_mapping_and_is_pickled(made):
    hits = made.search("mill stone", k=4)
    for hit in hits:
        assert dict(hit) == hit.to_dict() and list(hit) == list(hit.keys()) and len(hit) == len(hit.keys())
        assert hit["id"] == hit.id and hit["score"] == hit.score
        again = pickle.loads(pickle.dumps(hit))
        assert again.to_dict() == hit.to_dict() and again.snippet.marks == hit.snippet.marks
    with pytest.raises(KeyError):
        hits[0]["colour"]
    frame = pandas.DataFrame(hits)
    assert frame["id"].tolist() == [hit.id for hit in hits] and frame["score"].tolist() == [hit.score for hit in hits]
    assert len(pandas.DataFrame(made.search("unknwon"))) == 0


def test_pickles_know_their_store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = quern.build(["tea"], "s").store
    kept = pickle.dumps(store)
    monkeypatch.chdir("/")
    assert pickle.loads(kept) == store and hash(pickle.loads(kept)) == hash(store)
    other = quern.build(["tea", "coffee"], tmp_path / "s", force=True).store
    assert other != store
    with pytest.raises(quern.UsageError, match="is another store by now"):
        pickle.loads(kept)
    # The opened one is a snapshot.
    assert len(store.search("tea")) == 1 and store.documents == 1
    with pytest.raises(quern.UsageError, match="is another store by now"):
        store.count("tea")


def test_threads(made, queries):
    expected = [ids_of(made, query) for query in queries[:100]]
    failures = []

    def work() -> None:
        for query, ids in zip(queries, expected):
            if ids_of(made, query) != ids:
                failures.append(query)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_ctrl_c_ends_a_search(made, interrupt):
    topics = {str(number): " ".join(WORDS) for number in range(20_000)}
    interrupt(0.3)
    with pytest.raises(KeyboardInterrupt):
        made.search_many(topics, k="all", threads=1)


def test_none_is_the_whole_ranking(made):
    everything = made.search("mill", k="all")
    assert len(everything) > 10
    assert made.search("mill", k=None).fingerprint == everything.fingerprint
    topics = {"1": "mill"}
    assert len(made.search_many(topics, k=None).table) == len(everything)
    assert len(made.complete("word", k=None)) == len(made.complete("word", k="all")) > 10
    with pytest.raises(quern.UsageError, match="k: invalid value"):
        made.search("mill", k="none")


def test_progress(made):
    calls = []
    made.search_many({str(n): " ".join(WORDS) for n in range(1000)}, threads=1, progress=lambda *now: calls.append(now))
    assert all(len(call) == 4 for call in calls)


def test_explain_of_like_alone_has_the_score_of_the_search(tmp_path: pathlib.Path) -> None:
    texts = [(f"d{i}", f"the mill grinds grain number{i} water wheel") for i in range(40)] + [("sea", "salt of the sea")]
    made = quern.build(texts, tmp_path / "like.store", skip=["duplicates"]).store
    best = made.search(like="d1")[0]
    assert made.explain("", best.id, like="d1")[0].score == best.score
    with_weight = made.search(like="d1", like_weight=3)[0]
    assert made.explain("", with_weight.id, like="d1", like_weight=3)[0].score == with_weight.score


def test_ids_of_a_run(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "run"
    for scores in ({"a b": {"x": 1.0}, "a_b": {"y": 2.0}}, {"": {"x": 1.0}}, {"q": {"": 1.0}}):
        with pytest.raises(quern.UsageError, match="look the same|an id is empty"):
            quern.Run(scores).write(path)
        assert not path.exists()
    odd = quern.Run({"q": {"\udcff": 1.0, "b": 0.5}})
    assert odd.table["document"] == ["\udcff", "b"] and odd.table[0]["document"] == "\udcff"
    assert pickle.loads(pickle.dumps(odd)) == odd


OPERATORS = [
    "+mill -stone",
    "mill AND (stone OR tea)",
    '"mill stone"~5 word*',
    "title:mill NOT tea",
    "word1* text:mill",
    "+naïve +日本語",
]


@pytest.mark.parametrize("query", OPERATORS)
def test_operators_find_what_the_program_finds(made, query, command):
    out = command("search", made.path, query, "-k", "1000", "--format", "jsonl", "--quiet")
    rows = [json.loads(line) for line in out.splitlines()]
    for syntax in ("operators", "auto"):
        hits = made.search(query, syntax=syntax, k=1000, total=True)
        assert [(hit.rank, hit.id, hit.score) for hit in hits] == [(row["rank"], row["id"], row["score"]) for row in rows]
        assert hits.syntax == "operators" and hits.syntax_note == ""
        assert hits.total == len(hits)
        assert made.search(query, k=1, total=True).total == len(hits)
        assert made.count_matches(query, syntax=syntax) == len(hits)
    assert made.search(query).total is None


def test_a_query_that_is_not_understood_has_a_position(made):
    with pytest.raises(quern.UsageError, match="not closed") as raised:
        made.search("naïve (mill", syntax="operators")
    assert raised.value.position == 6
    assert str(raised.value).splitlines()[1:] == ["  naïve (mill", "        ^"]
    with pytest.raises(quern.UsageError, match="author"):
        made.count_matches("author:x", syntax="operators")
    assert made.search("naïve OR").syntax == "words"
    assert "OR needs a word" in made.search("naïve OR").syntax_note


def test_topics_may_have_operators(made):
    run = made.search_many({"a": "+mill -stone", "b": "tea"}, syntax="operators", k=1000)
    assert list(run["a"]) == [hit.id for hit in made.search("+mill -stone", k=1000, title_weight=0)]
