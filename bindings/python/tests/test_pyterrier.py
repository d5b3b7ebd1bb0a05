# SPDX-License-Identifier: Apache-2.0
"""quern.pyterrier against the program and `quern.evaluate`."""

from __future__ import annotations

import itertools
import json
import pickle
import tarfile
import tomllib

import pytest
import quern

pt = pytest.importorskip("pyterrier", reason="needs python-terrier")
pandas = pytest.importorskip("pandas")

from quern.pyterrier import Index, Indexer, Retriever  # noqa: E402


@pytest.fixture
def store(sample):
    return quern.build("wiki.xml", "wiki", skip="all").store


@pytest.fixture
def topics(sample):
    rows = [line.split("\t") for line in (sample / "topics.tsv").read_text().splitlines()]
    return pandas.DataFrame(rows, columns=["qid", "query"])


@pytest.fixture
def qrels(sample):
    rows = [line.split() for line in (sample / "judgements.txt").read_text().splitlines()]
    return pandas.DataFrame([(t, d, int(g)) for t, _, d, g in rows], columns=["qid", "docno", "label"])


def lines(frame):
    """The frame as lines of a run, with the ranks of TREC."""
    ordered = ["qid", "docno", "rank", "score"]
    return [(t, d, r + 1, s) for t, d, r, s in frame[ordered].itertuples(index=False, name=None)]


def run_of_program(command, *arguments):
    command("search", *arguments, "--run", "program.run", "--quiet")
    with open("program.run", encoding="utf-8") as run:
        rows = [line.split() for line in run]
    return [(t, d, int(r), float(s)) for t, _, d, r, s, _ in rows]


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({}, []),
        ({"k1": 1.2, "b": 0.75}, ["--k1", "1.2", "--b", "0.75"]),
        ({"model": "dirichlet", "mu": 200, "k": 2}, ["--model", "dirichlet", "--mu", "200", "-k", "2"]),
        ({"model": "ql", "lambda_": 0.3, "k": "all"}, ["--model", "ql", "--lambda", "0.3", "-k", "all"]),
        ({"title_weight": 0.5, "phrases": True}, ["--title-weight", "0.5", "--phrases", "on"]),
    ],
)
def test_the_run_is_that_of_the_program(command, store, topics, options, arguments):
    found = Retriever(store, **options)(topics)
    assert list(found.columns) == ["qid", "query", "docno", "score", "rank"]
    assert lines(found) == run_of_program(command, "wiki", "--topics", "topics.tsv", *arguments)
    assert dict(zip(found["qid"], found["query"])) == dict(zip(topics["qid"], topics["query"]))
    assert pt.java.started() is False


def test_an_experiment_has_the_digits_of_evaluate(store, topics, qrels):
    retriever = Retriever(store)
    measures = ["map", "ndcg_cut_10", "P_10", "recall_1000", "recip_rank"]
    expected = quern.evaluate("judgements.txt", store.search_many("topics.tsv"))
    means = pt.Experiment([retriever], topics, qrels, measures, names=["quern"]).iloc[0]
    assert {name: means[name] for name in measures} == pytest.approx(expected.mean, abs=1e-15)
    each = pt.Experiment([retriever], topics, qrels, measures, names=["quern"], perquery=True)
    values = {(row.qid, row.measure): row.value for row in each.itertuples()}
    assert values == {(row["topic"], name): row[name] for row in expected.topics for name in measures}
    assert len(values) == 15


def test_an_experiment_on_many_topics_with_ties(tmp_path):
    import random

    chance = random.Random(5)
    words = ["grain", "mill", "stone", "water", "wind", "rye", "bread", "salt"]
    documents = [{"docno": f"d{n}", "text": " ".join(chance.choices(words, k=6))} for n in range(300)]
    topics = pandas.DataFrame({"qid": [f"q{n}" for n in range(60)],
                               "query": [" ".join(chance.sample(words, 2)) for _ in range(60)]})
    judged = [(qid, f"d{n}", chance.randrange(3)) for qid in topics["qid"] for n in chance.sample(range(300), 40)]
    qrels = pandas.DataFrame(judged, columns=["qid", "docno", "label"])
    retriever = Indexer(tmp_path / "index").index(documents).bm25(k=50)
    found = retriever(topics)
    assert found.duplicated(["qid", "score"]).sum() > 100
    measures = ["map", "ndcg_cut_10"]
    expected = quern.evaluate(qrels, found)
    each = pt.Experiment([retriever], topics, qrels, measures, perquery=True)
    values = {(row.qid, row.measure): row.value for row in each.itertuples()}
    assert values == {(row["topic"], name): row[name] for row in expected.topics for name in measures}


def test_a_topic_without_results(store, topics, qrels):
    topics = pandas.concat([topics, pandas.DataFrame({"qid": ["t4"], "query": ["zzzz"]})])
    qrels = pandas.concat([qrels, pandas.DataFrame({"qid": ["t4"], "docno": ["Mill"], "label": [1]})])
    mean = pt.Experiment([Retriever(store)], topics, qrels, ["map"])["map"].iloc[0]
    evaluation = quern.evaluate(qrels, Retriever(store)(topics))
    assert evaluation.missing_topics == ["t4"]
    assert mean == pytest.approx(evaluation.mean["map"] * 3 / 4, abs=1e-15)


def test_pipelines(store, topics):
    bm25, dirichlet = Retriever(store), Retriever(store, model="dirichlet", mu=200)
    full = bm25(topics)
    cut = (bm25 % 1)(topics)
    assert lines(cut) == [row for row in lines(full) if row[2] == 1]
    fused = (bm25 % 1).compile()
    assert isinstance(fused, Retriever) and fused.k == 1 and lines(fused(topics)) == lines(cut)
    assert bm25.fuse_rank_cutoff(5000) is bm25
    both = (bm25 + dirichlet)(topics).set_index(["qid", "docno"])["score"]
    one, other = (found.set_index(["qid", "docno"])["score"] for found in (full, dirichlet(topics)))
    expected = {key: one.get(key, 0.0) + other.get(key, 0.0) for key in {*one.index, *other.index}}
    assert both.to_dict() == expected
    longer = pt.apply.query(lambda row: row["query"] + " grain") >> bm25
    assert lines(longer(topics)) == lines(bm25(topics.assign(query=topics["query"] + " grain")))
    assert list(longer(topics)["query_0"].unique()) == list(topics["query"])
    upper = (Retriever(store, fields=["text"]) >> pt.apply.doc_score(lambda row: float(len(row["text"]))))(topics)
    assert set(zip(upper["qid"], upper["docno"])) == set(zip(full["qid"], full["docno"]))


def test_fields_of_documents(store, topics):
    found = Retriever(store, fields=["title", "text"])(topics)
    assert list(found.columns) == ["qid", "query", "docno", "score", "rank", "title", "text"]
    for row in found.itertuples():
        document = store.document(row.docno)
        assert (row.title, row.text) == (document.title, document.text)


def test_no_topics_and_no_hits(store, topics):
    columns = ["qid", "query", "docno", "score", "rank"]
    empty = Retriever(store)(topics.iloc[:0])
    assert list(empty.columns) == columns and len(empty) == 0
    nothing = Retriever(store, fields="text")(pandas.DataFrame({"qid": ["1"], "query": ["zzzz"]}))
    assert list(nothing.columns) == [*columns, "text"] and len(nothing) == 0
    assert pt.inspect.transformer_outputs(Retriever(store), ["qid", "query"]) == columns
    some = Retriever(store)(pandas.DataFrame({"qid": ["b", "c", "a"], "query": ["grain", "zzzz", "flour"]}))
    assert list(dict.fromkeys(some["qid"])) == ["b", "a"]


def test_grid_search_varies_options(store, topics, qrels):
    retriever = Retriever(store, k1=0.9, b=0.4)
    grid = pt.GridScan(retriever, {retriever: {"k1": [0.5, 2.0], "b": [0.0, 1.0]}}, topics, qrels, ["map"])
    assert len(grid) == 4
    retriever.set_parameter("k1", 2.0)
    retriever.set_parameter("b", 0.4)
    assert lines(retriever(topics)) == lines(Retriever(store, k1=2.0, b=0.4)(topics))
    with pytest.raises(ValueError, match="mu was not given"):
        retriever.set_parameter("mu", 3)
    with pytest.raises(quern.UsageError, match="k1: invalid value"):
        retriever.set_parameter("k1", -3)
    assert retriever.get_parameter("k1") == 2.0


def test_wrong_arguments(store, topics):
    for options, message in [
        ({"model": "tfidf"}, "model: invalid value 'tfidf'"),
        ({"k": 0}, "k: invalid value '0'"),
        ({"fields": ["body"]}, "fields: invalid value 'body'"),
        ({"mu": 3}, "mu: requires model"),
    ]:
        with pytest.raises(quern.UsageError, match=message):
            Retriever(store, **options)
    with pytest.raises(TypeError, match="did you mean model"):
        Retriever(store, modle="bm25")
    with pytest.raises(TypeError, match="store must be"):
        Retriever(7)
    with pytest.raises(KeyError, match="query"):
        Retriever(store)(topics[["qid"]])
    with pytest.raises(KeyError, match="docno"):
        Retriever(store)(topics.assign(docno="Mill"))
    with pytest.raises(quern.UsageError, match="occurs twice"):
        Retriever(store)(pandas.concat([topics, topics]))


def test_a_store_of_weights(tmp_path, topics):
    store = quern.build([{"id": "p1", "vector": {"mill": 2.25}}], tmp_path / "weights").store
    retriever = Retriever(store)
    assert retriever.model == "impact"
    assert retriever.search("mill^2")["score"].tolist() == [4.5]
    with pytest.raises(quern.UsageError, match="impact only"):
        Retriever(store, model="bm25")


def test_an_index(sample, tmp_path, command):
    documents = [{"docno": "b", "text": "grain", "url": "u"},
                 {"docno": "a", "title": "Mill", "text": "grain", "id": "x"}]
    index = Indexer(tmp_path / "index").index(iter(documents))
    assert isinstance(index, Index) and isinstance(index, pt.Artifact) and len(index) == 2
    assert list(index.store.ids) == ["b", "a"] and index.store.document("a").title == "Mill"
    with pytest.raises(quern.UsageError, match="exists"):
        Indexer(tmp_path / "index").index(documents)
    index.indexer(update=True).index([{"docno": "c", "text": "grain"}])
    assert list(Index(tmp_path / "index").store.ids) == ["b", "a", "c"]
    assert Indexer(tmp_path / "index").index_inputs() == [["docno", "text"]]
    # Equal texts stay: an index for experiments has all documents.
    same = [{"docno": str(n), "text": "the same text of a document, every time"} for n in range(5)]
    assert len(Indexer(tmp_path / "same").index(same)) == 5
    stems = Indexer(tmp_path / "stems", stem="porter").index([{"docno": "1", "text": "milling grains"}])
    assert list(stems.bm25().search("mills grain")["docno"]) == ["1"]


def test_wrong_documents(tmp_path):
    for documents, message in [
        ([{"text": "a"}], "document 0 has no docno .there are text."),
        ([{"docno": "1", "text": "a"}, {"docno": "2", "body": "b"}], "document 1 has no text .there are docno, body."),
    ]:
        with pytest.raises(quern.UsageError, match=message):
            Indexer(tmp_path / "index").index(documents)
    with pytest.raises(quern.InvalidInput, match="duplicate id"):
        Indexer(tmp_path / "index").index([{"docno": "1", "text": "a"}, {"docno": "1", "text": "b"}])
    with pytest.raises(TypeError, match="stem.*options are given to Indexer"):
        Indexer(tmp_path / "index").index([], stem="porter")
    assert list(tmp_path.iterdir()) == []
    body = Indexer(tmp_path / "index", text_field="body").index([{"docno": "1", "body": "grain"}])
    assert body.store.document("1").text == "grain"


def test_a_package_of_an_index(source, tmp_path):
    from lz4.frame import LZ4FrameFile

    index = Indexer(tmp_path / "index").index([{"docno": "1", "text": "grain"}])
    with LZ4FrameFile(index.build_package(verbose=False)) as package, tarfile.open(fileobj=package, mode="r|") as files:
        files.extractall(tmp_path / "again", filter="data")
    again = Index(tmp_path / "again")
    assert again.store == index.store and again.path != index.path and again.store.verify() > 0
    kind = json.loads((tmp_path / "again" / "pt_meta.json").read_text())
    assert kind == {"type": "sparse_index", "format": "quern", "package_hint": "quern-engine"}
    # PyTerrier finds the class of an unpacked folder by the entry point of this name.
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pyterrier.artifact"]["sparse_index.quern"] == f"{Index.__module__}:Index"


def test_pickles(store, topics):
    retriever = Retriever(store, model="ql", fields=["text"])
    again = pickle.loads(pickle.dumps(retriever))
    assert repr(again) == repr(retriever)
    assert again(topics).equals(retriever(topics))


def test_generators_of_documents_are_read_once(tmp_path):
    counted = itertools.count()
    documents = ({"docno": str(number), "text": "grain"} for number in itertools.islice(counted, 1000))
    assert len(Indexer(tmp_path / "index").index(documents)) == 1000
    assert next(counted) == 1000
