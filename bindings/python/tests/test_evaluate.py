# SPDX-License-Identifier: Apache-2.0
"""Evaluation against a slow reference, pytrec_eval if it is installed, and the program."""

import json
import math
import pickle
import struct

import pandas
import polars
import pyarrow
import pytest
import quern
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

MEASURES = ["map", "ndcg_cut_10", "P_10", "recall_1000", "recip_rank"]


def as_float32(score: float) -> float:
    return struct.unpack("f", struct.pack("f", score))[0]


def reference(grades: dict[str, int], scores: dict[str, float]) -> dict[str, float]:
    """One topic, as trec_eval defines the measures."""
    ranking = sorted(scores, key=lambda d: (as_float32(scores[d]), d.encode()), reverse=True)
    gains = [max(grades.get(d, 0), 0) for d in ranking]
    relevant = sum(grade > 0 for grade in grades.values())
    found, precisions, first = 0, 0.0, 0.0
    for rank, gain in enumerate(gains, 1):
        if gain > 0:
            found += 1
            precisions += found / rank
            first = first or 1 / rank
    ideal = sorted((g for g in grades.values() if g > 0), reverse=True)
    dcg = sum(g / math.log2(r + 1) for r, g in enumerate(gains[:10], 1))
    best = sum(g / math.log2(r + 1) for r, g in enumerate(ideal[:10], 1))
    return {
        "map": precisions / relevant if relevant else 0.0,
        "ndcg_cut_10": dcg / best if best else 0.0,
        "P_10": sum(g > 0 for g in gains[:10]) / 10,
        "recall_1000": sum(g > 0 for g in gains[:1000]) / relevant if relevant else 0.0,
        "recip_rank": first,
    }


documents = st.sampled_from(["a", "b", "c", "d10", "d9", "é", "z z"[:1], "Q", "10", "9", "x1", "x2", "x3"])
topics = st.sampled_from(["1", "2", "t 3"[:1] + "3", "10"])
qrels_strategy = st.dictionaries(topics, st.dictionaries(documents, st.integers(-1, 3), min_size=1), min_size=1)
run_strategy = st.dictionaries(
    topics,
    st.dictionaries(documents, st.sampled_from([0.0, -1.0, 1.0, 1.00000001, 2.5, 1e-9, 16777217.0]), min_size=1),
    min_size=1,
)


def has_overlap(qrels, run):
    return any(d in run.get(topic, {}) for topic, grades in qrels.items() for d in grades)


@given(qrels_strategy, run_strategy)
def test_values_are_those_of_the_reference(qrels, run):
    if not has_overlap(qrels, run):
        with pytest.raises(quern.UsageError, match="in common"):
            quern.evaluate(qrels, run)
        return
    result = quern.evaluate(qrels, run)
    expected = {topic: reference(qrels[topic], run[topic]) for topic in sorted(qrels) if topic in run}
    rows = result.topics
    assert rows["topic"] == sorted(expected, key=str.encode)
    for row in rows.to_dicts():
        for name in MEASURES:
            assert row[name] == pytest.approx(expected[row["topic"]][name], abs=1e-12)
    for name in MEASURES:
        mean = sum(values[name] for values in expected.values()) / len(expected)
        assert result.mean[name] == pytest.approx(mean, abs=1e-12)
    assert result.missing_topics == sorted((t for t in qrels if t not in run), key=str.encode)


@given(qrels_strategy, run_strategy)
def test_values_are_those_of_pytrec_eval(qrels, run):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    if not has_overlap(qrels, run):
        return
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(MEASURES)).evaluate(run)
    ours = {row.pop("topic"): row for row in quern.evaluate(qrels, run).topics.to_dicts()}
    # pytrec_eval keeps scores as double; topics whose order depends on that are not compared.
    for topic, values in ours.items():
        scores = run[topic]
        if any(as_float32(s) != s for s in scores.values()):
            continue
        for name in MEASURES:
            assert values[name] == pytest.approx(theirs[topic][name], abs=1e-9), (topic, name)


def test_the_digits_are_those_of_the_program(sample, command):
    run = quern.Run({"t1": {"Mill": 3.25, "Quern": 1}, "t2": {"Quern": 0.1, "Mill": 0.1}, "t3": {"Salt": 1}})
    run.write("mine.run")
    table = command("evaluate", "judgements.txt", "mine.run", "--per-topic", "--format", "tsv")
    result = quern.evaluate("judgements.txt", "mine.run")
    assert result.fingerprint == xxhash.xxh3_64_hexdigest(table)
    lines = [line.split("\t") for line in table.decode().splitlines()]
    assert {name: float(value) for name, topic, value in lines if topic == "all"} == result.mean
    assert quern.evaluate("judgements.txt", run).fingerprint == result.fingerprint
    assert quern.evaluate("judgements.txt", run.to_dict()).fingerprint == result.fingerprint
    assert quern.evaluate("judgements.txt", "mine.run", threads=1).mean == result.mean


@pytest.mark.parametrize("form", ["pandas", "polars", "arrow", "rows", "arrow stream"])
def test_forms_of_judgements_and_runs(form):
    qrels = [("t1", "a", 2), ("t1", "b", 0), ("7", "c", 1)]
    run = [("t1", "b", 3.0), ("t1", "a", 2.5), ("7", "c", -1.0)]
    expected = quern.evaluate({"t1": {"a": 2, "b": 0}, "7": {"c": 1}}, {"t1": {"b": 3.0, "a": 2.5}, "7": {"c": -1.0}})
    names = ["query_id", "doc_id", "relevance"], ["query_id", "doc_id", "score"]

    def made(rows, columns):
        data = dict(zip(columns, map(list, zip(*rows))))
        if form == "pandas":
            return pandas.DataFrame(data)
        if form == "polars":
            return polars.DataFrame(data)
        if form == "arrow":
            return pyarrow.table(data)
        if form == "arrow stream":

            class Stream:
                def __arrow_c_stream__(self, requested_schema=None):
                    return pyarrow.table(data).__arrow_c_stream__(requested_schema)

            return Stream()
        return rows

    result = quern.evaluate(made(qrels, names[0]), made(run, names[1]))
    assert result.fingerprint == expected.fingerprint


def test_whole_numbers_as_ids():
    result = quern.evaluate(pandas.DataFrame({"qid": [1, 1], "docno": [10, 11], "rel": [1, 0]}), {"1": {"10": 1.0}})
    assert result.mean["map"] == 1.0


def test_measures():
    result = quern.evaluate({"t": {"a": 1}}, {"t": {"a": 1.0}}, measures=["P_10", "map"])
    assert result.mean == {"P_10": 0.1, "map": 1.0}
    assert result.topics.columns == ["topic", "P_10", "map"]
    assert "P_10 0.1000" in repr(result)
    assert quern.evaluate({"t": {"a": 1}}, {"t": {"a": 1.0}}, measures="map").mean == {"map": 1.0}


NAMES = """AP AP@100 AP(rel=2)@20 nDCG nDCG@10 nDCG(judged_only=True)@10 nDCG(gains={1:1,2:3,3:7})@10 P@5 P(rel=2)@20
R@10 R(rel=2)@20 RR RR@3 RR(rel=2)@10 Rprec Bpref Bpref(rel=2) infAP IPrec@0.1 IPrec@1.0 SetP SetR SetF SetF(beta=0.5) SetAP
SetRelP Success@1 ERR@10 nDCG(dcg='exp-log2')@10 Judged@3 NumQ NumRet NumRel NumRelRet""".split()


@settings(max_examples=settings.default.max_examples // 5, deadline=None)
@given(
    st.dictionaries(st.sampled_from("123"), st.dictionaries(documents, st.integers(0, 3), min_size=1), min_size=1),
    run_strategy,
)
def test_measures_are_those_of_ir_measures(qrels, run):
    ir_measures = pytest.importorskip("ir_measures")
    run = {topic: documents for topic, documents in run.items() if topic in qrels}
    if not has_overlap(qrels, run):
        return
    result = quern.evaluate(qrels, run, measures=NAMES, complete=True)
    ours = {row.pop("topic"): row for row in result.topics.to_dicts()}
    measures = [ir_measures.parse_measure(name) for name in NAMES]
    for name, measure in zip(NAMES, measures):
        for theirs in measure.iter_calc(qrels, run):
            assert ours[theirs.query_id][name] == theirs.value, (name, theirs.query_id)
    assert quern.evaluate(qrels, run, measures=measures[:3], complete=True).mean["AP"] == result.mean["AP"]


def test_compare(tmp_path):
    qrels = {str(t): {"a": 1} for t in range(6)}
    one = {str(t): {"b": 2.0, "a": 1.0} for t in range(6)}
    two = {**{str(t): {"a": 1.0} for t in range(6)}, "0": {"b": 1.0}}
    result = quern.compare(qrels, {"one": one, "two": two}, measures=["RR", "NumRet"])
    assert result.runs.to_dicts() == [
        {"run": "one", "RR": 0.5, "NumRet": 12.0},
        {"run": "two", "RR": 5 / 6, "NumRet": 6.0},
    ]
    assert len(result.topics) == 12
    test = result.tests.to_dicts()[0]
    stats = pytest.importorskip("scipy.stats")
    theirs = stats.ttest_rel([0, 1, 1, 1, 1, 1], [0.5] * 6)
    assert test["statistic"] == pytest.approx(theirs.statistic, rel=1e-14)
    assert test["p"] == test["corrected_p"] == pytest.approx(theirs.pvalue, rel=1e-13)
    drawn = quern.compare(qrels, [one, two], measures="RR", test="randomization").tests
    assert drawn["p"].tolist() == [14 / 64]
    result.write_report(tmp_path / "page.html")
    assert "two − one, by topic" in (tmp_path / "page.html").read_text()
    with pytest.raises(quern.UsageError, match="measure 'nope'"):
        quern.compare(qrels, [one, two], measures="nope")


def test_nothing_in_common_is_the_error_of_the_program(sample, program):
    import subprocess

    (sample / "other.run").write_text("t1 Q0 mill.txt 1 2.0 x\n")
    said = subprocess.run([program, "evaluate", "judgements.txt", "other.run"], capture_output=True, text=True).stderr
    with pytest.raises(quern.UsageError) as failure:
        quern.evaluate("judgements.txt", "other.run")
    assert str(failure.value) in said


def test_judged_topics_without_results_are_logged(caplog):
    quern.evaluate({"t": {"a": 1}, "u": {"b": 1}}, {"t": {"a": 1.0}})
    assert "1 judged topics are missing in the run and excluded from the means: u" in caplog.text


@pytest.mark.parametrize(
    ("qrels", "run", "error", "message"),
    [
        ("none.txt", {"t": {"a": 1}}, quern.UsageError, "none.txt"),
        ({"t": {"a": 1}}, "none.run", quern.UsageError, "none.run"),
        ({"t": {"a": 1}}, "", quern.UsageError, "no such file"),
        ("", {"t": {"a": 1}}, quern.UsageError, "no such file"),
        ({"t": {"a": 1.5}}, {"t": {"a": 1}}, TypeError, "whole number"),
        ({"t": {"a": "1"}}, {"t": {"a": 1}}, TypeError, "whole number"),
        ({"t": {"a": 1}}, {"t": {"a": "1"}}, TypeError, "must be a number"),
        ({"t": {"a": 1}}, {"t": {"a": math.nan}}, quern.UsageError, "NaN"),
        ({"t": {"a": 1 << 40}}, {"t": {"a": 1}}, quern.UsageError, "too large"),
        ({"t": ["a"]}, {"t": {"a": 1}}, TypeError, "expected a dict"),
        (3, {"t": {"a": 1}}, TypeError, "expected a dict of dicts"),
        ([("t", "a", 1), ("t", "a", 2)], {"t": {"a": 1}}, quern.UsageError, "judged twice"),
        ({"t": {"a": 1}}, [("t", "a", 1), ("t", "a", 2)], quern.UsageError, "occurs twice"),
        (pandas.DataFrame({"topic": ["t"], "d": ["a"]}), {"t": {"a": 1}}, quern.UsageError, "document"),
    ],
)
def test_errors(qrels, run, error, message):
    with pytest.raises(error, match=message):
        quern.evaluate(qrels, run)


@pytest.mark.parametrize("run", [None, "", 3])
def test_compare_refuses_what_is_no_run(run):
    with pytest.raises((TypeError, quern.UsageError), match="expected a dict of dicts|no such file"):
        quern.compare({"t": {"a": 1}}, [{"t": {"a": 1}}, run])


def test_json_of_a_run_is_a_run():
    run = {"t": {"a": 1.5, "b": 3}}
    assert quern.Run(json.loads(json.dumps(run))) == quern.Run(run)


def test_results_can_be_pickled():
    result = quern.evaluate({"t1": {"a": 1}, "t2": {"b": 2}}, {"t1": {"b": 2.0, "a": 1.5}})
    copy = pickle.loads(pickle.dumps(result))
    assert isinstance(copy, quern.Evaluation) and copy.mean == result.mean and copy.fingerprint == result.fingerprint
    assert copy.topics.to_dicts() == result.topics.to_dicts() and copy.missing_topics == ["t2"]
    assert repr(copy) == repr(result) and copy._repr_html_() == result._repr_html_()


def test_a_comparison_is_that_of_the_program(sample, command):
    (sample / "one.run").write_text("t1 Q0 Mill 1 2.0 one\nt2 Q0 Flour 1 2.0 one\n")
    (sample / "two.run").write_text("t1 Q0 Flour 1 2.0 two\nt1 Q0 Mill 2 1.0 two\n")
    found = quern.compare("judgements.txt", {"one.run": "one.run", "two.run": "two.run"})
    written = command("evaluate", "judgements.txt", "one.run", "two.run", "--format", "tsv")
    assert found.fingerprint == xxhash.xxh3_64_hexdigest(written)
    assert repr(found).startswith("runs: 2") and "<table>" in found._repr_html_()
