# SPDX-License-Identifier: Apache-2.0
"""Fused runs, byte for byte those of the program; and runs themselves."""

import math
import pickle
import random

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pytest
import quern
import xxhash
from hypothesis import given
from hypothesis import strategies as st

RULES = ["sum", "min", "max", "mean", "median", "mnz", "anz", "rrf", "borda"]


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random.seed(5)
    made = []
    for number in range(3):
        run = {}
        for topic in range(30):
            if random.random() < 0.1:
                continue
            found = random.sample(range(200), 60)
            run[f"t{topic}"] = {f"d{d}": random.choice([d / 7, float(d % 5), -d / 3]) for d in found}
        made.append(quern.Run(run))
        made[-1].write(f"{number}.run")
    return made


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("normalize", ["none", "minmax", "zscore", "sum", "rank"])
def test_bytes_are_those_of_the_program(runs, command, rule, normalize):
    by_rank = rule in ("rrf", "borda")
    if by_rank and normalize != "none":
        with pytest.raises(quern.UsageError, match="normalize"):
            quern.fuse(runs, rule=rule, normalize=normalize)
        return
    options = {} if by_rank else {"normalize": normalize}
    given = [] if by_rank else ["--normalize", normalize]
    expected = command("fuse", "0.run", "1.run", "2.run", "--aggregate", rule, "--weight", "1,0.5,2", *given)
    in_memory = quern.fuse(runs, rule=rule, weights=[1, 0.5, 2], **options)
    in_memory.write("memory.run")
    assert open("memory.run", "rb").read() == expected
    assert in_memory.fingerprint == xxhash.xxh3_64_hexdigest(expected)
    mixed = quern.fuse(["0.run", runs[1], runs[2].to_dict()], rule=rule, weights=[1, 0.5, 2], threads=1, **options)
    assert mixed == in_memory


def test_options(runs, command):
    expected = command(
        "fuse", "0.run", "1.run", "--aggregate", "rrf", "--constant", 10, "--depth", 7, "--ranks", "field"
    )
    fused = quern.fuse(runs[:2], rule="rrf", constant=10, depth=7, ranks="field")
    assert fused.fingerprint == xxhash.xxh3_64_hexdigest(expected)
    open("weights.tsv", "w").write("t1\t2\t3\nt4\t0\t1\n")
    expected = command("fuse", "0.run", "1.run", "--topic-weights", "weights.tsv")
    for weights in ("weights.tsv", {"t1": [2, 3], "t4": [0, 1]}):
        fused = quern.fuse(runs[:2], topic_weights=weights)
        assert fused.fingerprint == xxhash.xxh3_64_hexdigest(expected)


scores = st.sampled_from([0.0, 1.0, 1.5, -2.0, 1e300, 0.1, -0.0])
some_run = st.dictionaries(
    st.sampled_from(["t1", "t2"]),
    st.dictionaries(st.sampled_from(["a", "b c", "d", "10", "9", "é"]), scores, min_size=1),
)


@given(st.lists(some_run, min_size=1, max_size=4))
def test_sums_are_those_of_the_reference(given_runs):
    expected = {}
    for run in given_runs:
        for topic, found in run.items():
            for document, score in found.items():
                of_topic = expected.setdefault(topic, {})
                of_topic[document] = of_topic.get(document, 0.0) + score
    fused = quern.fuse(given_runs, threads=1)
    assert fused.keys() == list(expected)
    for topic, found in expected.items():
        order = sorted(found, key=lambda d: (-found[d], d.replace(" ", "_").encode()))
        numeric = all(d.isdecimal() and d.isascii() for run in given_runs for t in run.values() for d in t)
        if numeric:
            order = sorted(found, key=lambda d: (-found[d], int(d)))
        assert list(fused[topic]) == order
        assert fused[topic] == found


def test_ids_keep_their_white_space():
    fused = quern.fuse([{"t": {"a b": 2, "c": 1}}, {"t": {"a b": 3}}])
    assert fused["t"] == {"a b": 5.0, "c": 1.0}
    with pytest.raises(quern.UsageError, match="look the same"):
        quern.fuse([{"t": {"a b": 2}}, {"t": {"a_b": 3}}])


@pytest.mark.parametrize(
    ("runs", "options", "error", "message"),
    [
        ([], {}, quern.UsageError, "at least one run"),
        ("one.run", {}, TypeError, "list of runs"),
        ([{"t": {"a": 1}}], {"weights": [1, 2]}, quern.UsageError, "weight"),
        ([{"t": {"a": 1}}], {"weights": [math.nan]}, quern.UsageError, "weights"),
        ([{"t": {"a": 1}}], {"topic_weights": {"t": [1, 2]}}, quern.UsageError, "2 weights"),
        ([{"t": {"a": 1}}], {"rule": "best"}, quern.UsageError, "best"),
        ([{"t": {"a": 1}}], {"constant": 3}, quern.UsageError, "rrf"),
        ([{"t": {"a": math.inf}}], {}, quern.InvalidInput, "run 1"),
        ([{"t": {"a": 1e308}}, {"t": {"a": 1e308}}], {}, quern.InvalidInput, "run"),
        (["none.run"], {}, quern.UsageError, "none.run"),
        ([{"t": {"a": 1}}, None], {}, TypeError, "not NoneType"),
    ],
)
def test_errors(runs, options, error, message):
    with pytest.raises(error, match=message):
        quern.fuse(runs, **options)


def test_missing_topics_are_logged(caplog):
    quern.fuse([{"t": {"a": 1}, "u": {"a": 1}}, {"t": {"a": 1}}])
    assert "run 2 lacks 1 of 2 topics; the first is u" in caplog.text


# ---- Runs ----


def test_a_run_is_a_mapping(runs):
    run = quern.Run({"t1": {"a": 1, "b": 2.5}, "t2": {"c": -1}})
    assert len(run) == 2 and list(run) == ["t1", "t2"] and "t1" in run and "t3" not in run and 3 not in run
    assert run["t1"] == {"b": 2.5, "a": 1.0} and list(run["t1"]) == ["b", "a"]
    assert dict(run) == run.to_dict() == dict(run.items())
    assert repr(run) == "Run(2 topics, 3 documents)"
    with pytest.raises(KeyError):
        run["t3"]
    assert run.table.to_dicts()[0] == {"topic": "t1", "document": "b", "rank": 1, "score": 2.5}


def test_none_is_no_run():
    run = quern.Run({"t": {"a": 1}})
    assert run != None and not run == None and None not in [run]  # noqa: E711
    for source in (None, 3):
        with pytest.raises(TypeError, match="expected a dict of dicts"):
            quern.Run(source)


def test_files(runs, tmp_path):
    for number, run in enumerate(runs):
        assert quern.Run.from_file(f"{number}.run") == run == quern.Run(tmp_path / f"{number}.run")
    with pytest.raises(quern.UsageError, match="exists"):
        runs[0].write("0.run")
    runs[1].write("0.run", overwrite=True)
    assert quern.Run("0.run") == runs[1]
    runs[0].write("0.run.gz")
    assert quern.Run("0.run.gz") == runs[0]


def test_files_with_lines_of_a_topic_apart(tmp_path):
    path = tmp_path / "mixed.run"
    path.write_text("a Q0 x 1 3 t\nb Q0 x 1 2 t\na Q0 y 2 1.5 t\n")
    assert quern.Run(path).to_dict() == {"a": {"x": 3.0, "y": 1.5}, "b": {"x": 2.0}}
    path.write_text("a Q0 x 1 3 t\na Q0 x 2 2 t\n")
    with pytest.raises(quern.InvalidInput, match="duplicate") as failure:
        quern.Run(path)
    assert failure.value.line == 2
    path.write_text("a Q0 x first 3 t\n")
    with pytest.raises(quern.InvalidInput, match="rank"):
        quern.Run(path)


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_pickles(runs, protocol):
    for run in [*runs, quern.Run({})]:
        assert pickle.loads(pickle.dumps(run, protocol)) == run


@pytest.mark.parametrize(("rank", "error"), [(-1, quern.UsageError), (1 << 32, quern.UsageError), (1.5, TypeError)])
def test_ranks_are_whole_numbers(rank, error):
    with pytest.raises(error, match="rank"):
        quern.Run(pandas.DataFrame({"topic": ["t"], "document": ["a"], "rank": [rank], "score": [1.0]}))


def test_frames(runs):
    for run in runs:
        assert quern.Run(polars.DataFrame(run)) == run
        assert quern.Run(pyarrow.table(run)) == run
        assert quern.Run(pandas.DataFrame(run.table.to_dict())) == run
        assert quern.Run(run.table) == run
        assert quern.Run(duckdb.from_arrow(pyarrow.table(run))) == run
    without_ranks = pandas.DataFrame({"qid": ["t", "t"], "docno": ["a", "b"], "score": numpy.float32([1, 2])})
    assert quern.Run(without_ranks)["t"] == {"b": 2.0, "a": 1.0}


def test_ids_that_look_the_same_are_not_written(tmp_path):
    run = quern.Run({"t": {"a b": 1, "a_b": 2}})
    with pytest.raises(quern.UsageError, match="look the same"):
        run.write(tmp_path / "x.run")
    assert not (tmp_path / "x.run").exists()
