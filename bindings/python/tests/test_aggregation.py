# SPDX-License-Identifier: Apache-2.0
"""The best objects over ranked lists, against reading everything."""

import math
import pickle
import time

import numpy
import pandas
import polars
import pyarrow
import pytest
import quern
import xxhash
from hypothesis import given
from hypothesis import strategies as st

RULES = ["sum", "mean", "min", "max", "product", "rrf"]
METHODS = ["auto", "nra", "sc", "lara", "segmented"]


def everything(lists, k, rule, weights, floors, constant=60.0):
    """Scores as documented: each operation rounded, lists in order."""
    positions = [{int(id): rank for rank, id in enumerate(ids)} for ids, _ in lists]
    scored = []
    for id in set().union(*positions):
        values = []
        for (_, scores), ranks, weight, floor in zip(lists, positions, weights, floors):
            if rule == "rrf":
                values.append(weight / (constant + ranks[id] + 1) if id in ranks else 0.0)
            elif rule == "product":
                values.append(float(scores[ranks[id]]) if id in ranks else floor)
            else:
                values.append(weight * (float(scores[ranks[id]]) if id in ranks else floor))
        total = values[0]
        for value in values[1:]:
            total = {"min": min, "max": max}[rule](total, value) if rule in ("min", "max") else (
                total * value if rule == "product" else total + value)
        if rule == "mean":
            weight_sum = weights[0]
            for weight in weights[1:]:
                weight_sum += weight
            total /= weight_sum
        scored.append((-(total + 0.0), id))
    scored.sort()
    return [(id, -score) for score, id in scored[:k]]


def random_lists(random, count, objects, ties, dtype):
    lists = []
    for _ in range(count):
        size = int(random.integers(0, objects + 1))
        scores = random.integers(0, 4, size) / 2 if ties else random.random(size)
        lists.append((random.permutation(objects)[:size].astype("uint32"), numpy.sort(scores)[::-1].astype(dtype)))
    return lists


@given(
    st.integers(1, 5), st.integers(1, 40), st.integers(1, 12), st.sampled_from(RULES), st.sampled_from(METHODS),
    st.booleans(), st.booleans(), st.sampled_from(["float32", "float64"]), st.integers(0, 2**32),
)
def test_equal_to_reading_everything(count, objects, k, rule, method, ties, weighted, dtype, seed):
    random = numpy.random.default_rng(seed)
    lists = random_lists(random, count, objects, ties, dtype)
    weights = (random.integers(1, 9, count) / 4).tolist() if weighted and rule != "product" else [1.0] * count
    floors = [0.0] * count if rule == "rrf" else (-random.integers(0, 3, count) / 2.0).tolist()
    if rule == "product":
        floors = [0.0] * count
    expected = everything(lists, k, rule, weights, floors)
    options = {"score": rule, "weights": weights, "floors": floors, "threads": 1}
    found = quern.top_k(lists, k, method=method, **options)
    assert list(found) == expected
    pulled = [zip(ids.tolist(), scores.tolist()) for ids, scores in lists]
    assert list(quern.top_k(pulled, k, objects=objects, method=method, **options)) == expected


def test_ids_of_all_kinds():
    scores = numpy.array([0.9, 0.5, 0.5])
    for ids in ([3, 1, 2], numpy.array([3, 1, 2], "int16"), numpy.array([3, 1, 2], "uint64"), (3, 1, 2)):
        assert list(quern.top_k([(ids, scores)])) == [(3, 0.9), (1, 0.5), (2, 0.5)]
    wide = numpy.array([3, 1, 2]) + 2**62
    assert quern.top_k([(wide, scores)]).ids.tolist() == [2**62 + 3, 2**62 + 1, 2**62 + 2]
    for ids, expected in [
        (["10", "9", "8"], ["10", "8", "9"]),  # integers compare as numbers
        (["10", "9", "x"], ["10", "9", "x"]),
        (["é", "z", "a"], ["é", "a", "z"]),
        (numpy.array(["é", "z", "a"]), ["é", "a", "z"]),
        (pandas.Series(["é", "z", "a"]), ["é", "a", "z"]),
        (polars.Series(["é", "z", "a"]), ["é", "a", "z"]),
        (polars.Series(["é", "z", "a"], dtype=polars.Categorical), ["é", "a", "z"]),
        (pyarrow.array(["é", "z", "a"]), ["é", "a", "z"]),
        (pyarrow.chunked_array([["é"], ["z", "a"]]), ["é", "a", "z"]),
    ]:
        assert quern.top_k([(ids, scores)]).ids == expected
    backwards = numpy.array([0.5, 0.7, 0.9])[::-1]
    assert quern.top_k([([1, 2, 3], backwards)], 1).scores.tolist() == [0.9]


def test_lists_of_entries_and_mappings() -> None:
    for entries in ([("b", 0.5), ("a", 0.25)], [(5, 2), (3, 1)], [(7, 3.0), (1, 2.0), (2, 2.0)], [(4, 1)], []):
        pair = ([id for id, _ in entries], [float(score) for _, score in entries])
        expected = quern.top_k([pair], k=5)
        lists = [list(entry) for entry in entries]  # as JSON has them
        for form in (entries, lists, dict(entries), pandas.Series(dict(entries), dtype="float64")):
            assert list(quern.top_k([form], k=5)) == list(expected)
    with pytest.raises(quern.InvalidInput, match="greater than the previous one"):
        quern.top_k([{"a": 1, "b": 2}])


def test_lists_are_pulled_no_further_than_needed():
    taken = [0, 0]

    def entries(which):
        for rank in range(1_000_000):
            taken[which] += 1
            yield (rank, 1 / (rank + 1))

    found = quern.top_k([entries(0), entries(1)], 3, objects=1_000_000)
    assert found.ids.tolist() == [0, 1, 2] and not found.read_all
    assert max(taken) < 10_000 and taken[0] >= found.depths[0]


def test_chunks_and_arrays_beside_iterators():
    ids, scores = numpy.arange(5000), numpy.linspace(1, 0, 5000)
    expected = list(quern.top_k([(ids, scores), (ids[::-1], scores)], 7))
    chunks = ((ids[i : i + 700], scores[i : i + 700]) for i in range(0, 5000, 700))
    assert list(quern.top_k([chunks, (ids[::-1], scores)], 7, objects=5000)) == expected


def test_exceptions_of_a_generator():
    def broken():
        yield (1, 0.5)
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        quern.top_k([broken()], objects=9)


def test_ctrl_c_while_pulling(interrupt):
    def long():
        return ((id, 0.5) for id in range(10_000_000))

    interrupt(0.3)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        quern.top_k([long(), long()], 10_000_000, objects=10_000_000)
    assert time.monotonic() - began < 0.8


def test_result():
    found = quern.top_k([([1, 2], [0.9, 0.5]), ([2], [0.75])], 5)
    assert found[0] == (2, 1.25) and found[-1] == (1, 0.9) and len(found) == 2
    with pytest.raises(IndexError):
        found[2]
    assert found.table.to_dicts() == [{"id": 2, "score": 1.25}, {"id": 1, "score": 0.9}]
    assert found.depths.tolist() == [2, 1] and found.candidates >= 0 and found.place
    again = pickle.loads(pickle.dumps(found))
    assert list(again) == list(found) and again.fingerprint == found.fingerprint
    assert "score" in repr(found) and "<table>" in found._repr_html_()
    assert len(quern.top_k([([1, 2], [0.9, 0.5])], None)) == 2
    assert len(quern.top_k([([], [])])) == 0


@pytest.mark.parametrize("rule", RULES)
def test_equal_to_the_program(sample, command, rule):
    lists = []
    for name in ("by_text.tsv", "by_links.tsv"):
        rows = [line.split("\t") for line in (sample / name).read_text().splitlines()]
        lists.append(([row[0] for row in rows], [float(row[1]) for row in rows]))
    for k in (1, 3, 100):
        written = command("topk", "by_text.tsv", "by_links.tsv", "--aggregate", rule, "-k", k, "--format", "tsv")
        assert quern.top_k(lists, k, score=rule).fingerprint == xxhash.xxh3_64_hexdigest(written)


@pytest.mark.parametrize(
    ("lists", "options", "error", "words"),
    [
        ([], {}, quern.UsageError, "no lists"),
        ([1], {}, TypeError, r"lists\[0\]: expected a pair"),
        (3, {}, TypeError, "lists: expected a list of ranked lists, got int"),
        (None, {}, TypeError, "lists: expected a list of ranked lists, got NoneType"),
        ([([1], [0.5])] * 65, {}, quern.UsageError, "64"),
        ([([1, 2], [0.1, 0.2])], {}, quern.InvalidInput, r"lists\[0\], position 1: the score is greater"),
        ([([1], [0.5]), ([1, 1], [0.2, 0.1])], {}, quern.InvalidInput, r"lists\[1\], position 1: the id occurs twice"),
        ([([1, 2], [0.2, math.nan])], {}, quern.InvalidInput, "not a finite number"),
        ([([1, 2], [math.inf, 1])], {}, quern.InvalidInput, "not a finite number"),
        ([([1, 2], [0.5, -1])], {}, quern.InvalidInput, "below the floor"),
        ([([1, 2], [0.5])], {}, quern.UsageError, "2 ids and 1 scores"),
        ([([-1], [0.5])], {}, quern.UsageError, "negative"),
        ([(numpy.array([1.5]), [0.5])], {}, TypeError, "whole"),
        ([([1.5], [0.5])], {}, TypeError, "whole"),
        ([([5], [0.5])], {"objects": 5}, quern.UsageError, "expected ids below objects"),
        ([(["a"], [1.0]), ([1], [1.0])], {}, quern.UsageError, "one kind"),
        ([(["a", 1], [1.0, 0.5])], {}, TypeError, "all to be texts"),
        ([([1, "a"], [1.0, 0.5])], {}, TypeError, r"lists\[0\] ids: expected all ids to be texts.*got 'a' at position 1"),
        ([([None], [1.0])], {}, TypeError, "got None at position 0"),
        ([(["\ud800"], [1.0])], {}, UnicodeEncodeError, "surrogates"),
        ([([1], [0.5])], {"weights": 2}, TypeError, "weights: expected a list of numbers, got int"),
        ([([1], [0.5])], {"score": "\ud800"}, UnicodeEncodeError, "surrogates"),
        ([(numpy.array([1]), numpy.array([1]))], {}, TypeError, "float64 or float32"),
        ([([1], numpy.ones((1, 1)))], {}, TypeError, "one dimension"),
        ([([1], [0.5])], {"k": 0}, quern.UsageError, "k: invalid value"),
        ([([1], [0.5])], {"score": "median"}, quern.UsageError, "score: invalid value"),
        ([([1], [0.5])], {"method": "ta"}, quern.UsageError, "method: invalid value"),
        ([([1], [0.5])], {"weights": [1, 2]}, quern.UsageError, "2 for 1 lists"),
        ([([1], [0.5])], {"weights": [0]}, quern.UsageError, "weight"),
        (None, {}, TypeError, "lists: expected a list of ranked lists, got NoneType"),
        ([([1], [0.5])], {"weights": 3}, TypeError, "weights: expected a list of numbers, got int"),
        ([([1], [0.5])], {"weights": [math.nan]}, quern.UsageError, "weights: invalid value"),
        ([([1], [0.5])], {"floors": [1, 2]}, quern.UsageError, "2 for 1 lists"),
        ([([1], [0.5])], {"floor": 1}, TypeError, "did you mean floors"),
        ([iter([(1, 0.5)])], {}, quern.UsageError, "objects: needed"),
        ([[[3, 2, 1], [0.9, 0.8, 0.7]]], {}, TypeError, r"entries \(id, score\); ids and scores apart are a tuple"),
        ([iter([3])], {"objects": 9}, TypeError, r"to yield \(id, score\)"),
        ([iter([(9, 0.5)])], {"objects": 9}, quern.InvalidInput, "out of range"),
        ([iter([(-1, 0.5)])], {"objects": 9}, quern.UsageError, "id"),
        ([iter([(1, "x")])], {"objects": 9}, TypeError, "real number"),
    ],
)
def test_refused(lists, options, error, words):
    with pytest.raises(error, match=words):
        quern.top_k(lists, **options)


def test_iterators_of_texts_are_refused() -> None:
    with pytest.raises(TypeError, match="whole numbers as ids"):
        quern.top_k([iter([(["a", "b"], [2.0, 1.0])])], objects=10)


# ---- Lists that stay ----


def made_lists(count=3, entries=400, dtype="float64", seed=1):
    draw = numpy.random.default_rng(seed)
    return [(draw.permutation(2 * entries)[:entries], -numpy.sort(-draw.integers(0, 90, entries).astype(dtype)))
            for _ in range(count)]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", ["int64", "uint32", "texts", "wide"])
def test_lists_that_stay(dtype, kind):
    lists = made_lists(dtype=dtype)
    convert = {"int64": lambda ids: ids, "uint32": lambda ids: ids.astype("uint32"),
               "texts": lambda ids: [f"d{id}" for id in ids], "wide": lambda ids: ids.astype("uint64") << 40}[kind]
    lists = [(convert(ids), scores) for ids, scores in lists]
    options = {"weights": [1, 0.5, 2], "floors": [0, -1, 0]}
    kept = quern.RankedLists(lists, **options)
    assert len(kept) == 3 and kept.entries == 1200 and kept.kept_bytes == 0
    again = pickle.loads(pickle.dumps(kept, protocol=5))
    for k in (1, 20, None):
        for method in METHODS:
            for rule in ("sum", "rrf", "min"):
                expected = quern.top_k(lists, k, score=rule, method=method, **options)
                for one in (kept, again):
                    found = one.top_k(k, score=rule, method=method)
                    assert list(found) == list(expected) and found.fingerprint == expected.fingerprint
    assert repr(again) == repr(kept) and kept._repr_html_() == f"<code>{kept!r}</code>"
    kept.release()
    assert kept.kept_bytes == 0
    assert list(kept.top_k(5, threads=1)) == list(quern.top_k(lists, 5, **options))


def test_mixed_types_and_objects():
    lists = [([4, 2], numpy.array([0.5, 0.25], "float32")), ([2, 9], [0.75, 0.5])]
    kept = quern.RankedLists(lists, objects=10)
    assert list(kept.top_k()) == list(quern.top_k(lists, objects=10)) and kept.objects == 10
    assert repr(kept) == "RankedLists(2 lists, 4 entries, 10 objects)"
    assert list(quern.RankedLists([([], [])]).top_k()) == []


def test_lists_that_stay_are_refused():
    for lists, error, words in [
        ([iter([(1, 0.5)])], TypeError, r"lists\[0\]: expected a pair .* an iterator, which quern.top_k takes"),
        ([1], TypeError, r"lists\[0\]: expected a pair"),
        ([([1], [0.5, 0.25])], quern.UsageError, "1 ids and 2 scores"),
    ]:
        with pytest.raises(error, match=words):
            quern.RankedLists(lists)
    with pytest.raises(quern.UsageError, match="expected ids below objects"):
        quern.RankedLists([([5], [0.5])], objects=5)
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        quern.RankedLists([([5], [0.5])], k=3)
    rising = quern.RankedLists([([1, 2], [0.1, 0.2])])
    for _ in range(2):
        with pytest.raises(quern.InvalidInput, match=r"lists\[0\], position 1: the score is greater") as raised:
            rising.top_k(2)
        assert raised.value.position == 1
    with pytest.raises(quern.UsageError, match="no lists"):
        quern.RankedLists([]).top_k()
    with pytest.raises(quern.UsageError, match="k: invalid value"):
        quern.RankedLists([([1], [1.0])]).top_k(0)


def test_lists_that_stay_take_turns(in_threads_and_a_fork):
    lists = made_lists()
    kept = quern.RankedLists(lists)
    expected = [quern.top_k(lists, k).fingerprint for k in range(1, 20)]
    in_threads_and_a_fork(lambda: [kept.top_k(k, device="cpu").fingerprint for k in range(1, 20)] == expected)
