# SPDX-License-Identifier: Apache-2.0
"""Quality rules against slow versions in Python, and against the program."""

import json
import random
import re
from fractions import Fraction

import numpy
import polars
import pytest
import quern
import xxhash
from hypothesis import example, given
from hypothesis import strategies as st

texts = st.lists(st.text(alphabet="ab c\n.\t-•#…é中", max_size=60), min_size=1, max_size=4)


def duplicates(parts: list[str]) -> tuple[int, int]:
    repeated = [part for i, part in enumerate(parts) if part in parts[:i]]
    return len(repeated), sum(map(len, repeated))


def top(words: list[str], n: int) -> int:
    grams = [words[i : i + n] for i in range(len(words) - n + 1)]
    if not grams:
        return 0
    best = max(grams, key=grams.count)
    return len(" ".join(best)) * grams.count(best)


def duplicate_characters(words: list[str], n: int) -> int:
    seen: list[list[str]] = []
    at = found = 0
    while at + n <= len(words):
        gram = words[at : at + n]
        if gram in seen:
            found, at = found + len("".join(gram)), at + n
        else:
            seen.append(gram)
            at += 1
    return found


def measures(text: str) -> dict[str, tuple[int, int]]:
    words, lines = text.split(), [line for line in text.split("\n") if line.strip()]
    paragraphs, parts = duplicates(re.split(r"\n{2,}", text.strip())), duplicates(re.split(r"\n+", text))
    found = {
        "length.max-characters": (len(text), 1),
        "gopher-quality.max-hashes": (text.count("#"), len(words)),
        "gopher-quality.max-ellipses": (text.count("...") + text.count("…"), len(words)),
        "gopher-quality.max-bullet-lines": (sum(line.lstrip().startswith(("•", "-")) for line in text.splitlines()), len(text.splitlines())),
        "gopher-repetition.max-duplicate-paragraphs": (paragraphs[0], len(re.split(r"\n{2,}", text.strip()))),
        "gopher-repetition.max-duplicate-line-characters": (parts[1], len(text)),
        "fineweb.max-short-lines": (sum(len(line) <= 30 for line in lines), len(lines)),
        "fineweb.max-duplicate-line-characters": (duplicates(lines)[1], len(text.replace("\n", ""))),
        "fineweb.max-line-ends": (text.count("\n"), len(words)),
    }
    found |= {f"gopher-repetition.max-top-{n}-gram": (top(words, n), len(text)) for n in range(2, 5)}
    return found | {f"gopher-repetition.max-duplicate-{n}-grams": (duplicate_characters(words, n), len(text)) for n in range(5, 11)}


@example(["\n"], "fineweb.max-line-ends", "0")
@given(texts, st.sampled_from(sorted(measures("x"))), st.sampled_from(["0", "0.05", "0.2", "0.5", "1", "7"]))
def test_measures_are_those_of_the_reference(documents, rule, limit):
    result = quern.filter(documents, rules=f"{rule}={limit}", words="whitespace", threads=1)
    values = [measures(text)[rule] for text in documents]
    assert result.keep.tolist() == [(Fraction(value, of) if of else 0) <= Fraction(limit) for value, of in values]  # n / 0 is 0 (docs/filter.md)
    for position, value in zip(result.removed["position"].tolist(), result.removed["value"]):
        part, of = values[position]
        assert float(value) == (part / of if of else 0)


@pytest.fixture
def crawl(tmp_path):
    chance = random.Random(3)
    words = ["the", "mill", "of", "wheel", "turns.", "and", "{x}", "menu", "joe@example.org", "8.8.8.8", "\n"]
    lines = [{"id": f"d{i}", "text": " ".join(chance.choices(words, k=chance.randrange(90)))} for i in range(400)]
    path = tmp_path / "crawl.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path, [line["text"] for line in lines]


def test_the_program_removes_the_same(crawl, tmp_path, command):
    path, documents = crawl
    rules = "gopher-quality.min-words=20,gopher-repetition.max-duplicate-lines,c4.min-line-words,c4.curly-bracket,fineweb.max-line-ends=0.1"
    removed, kept = tmp_path / "removed.tsv", tmp_path / "kept.jsonl"
    command("filter", path, "--rules", rules, "--mask", "emails,ips", "-o", kept, "--removed", removed)
    result = quern.filter(path, rules=rules.split(","), mask=["emails", "ips"], output=tmp_path / "own.jsonl", return_texts=True)
    assert 0 < len(result.removed) < 400
    assert result.fingerprint == xxhash.xxh3_64_hexdigest(removed.read_bytes())
    assert (tmp_path / "own.jsonl").read_bytes() == kept.read_bytes()
    assert result.texts == [json.loads(line)["text"] for line in kept.read_text().splitlines()]
    frame = polars.DataFrame({"id": [f"d{i}" for i in range(400)], "text": documents})
    again = quern.filter(frame, rules=rules, mask="emails,ips", threads=2)
    assert again.fingerprint == result.fingerprint and again.texts is None
    assert numpy.array_equal(again.keep, result.keep)
    assert (again.emails, again.ips, again.changed) == (result.emails, result.ips, result.changed)
    assert sum(again.rules["removed"].tolist()) == 400 - int(again.keep.sum())


def test_rules_as_mapping_and_file(tmp_path):
    documents = ["a b c", "a b c d e", "x"]
    file = tmp_path / "rules.toml"
    file.write_text("[length]\nmin-words = 3\nmax-words = 4\n")
    for rules in (file, {"length": {"min_words": 3, "max_words": 4}}, {"length.min-words": 3, "length.max-words": 4.0},
                  ["length.min-words=3", "length.max-words=4"]):
        assert quern.filter(documents, rules=rules).keep.tolist() == [True, False, False]
    assert quern.filter(["der Bach und", "the of and"], rules={"gopher-quality.min-stop-words": 2, "gopher-quality.stop-words": ["der", "und"]},
                        ).keep.tolist() == [True, False]
    assert quern.filter(["one two {three}."], rules={"c4": {"min-sentences": 1, "curly-bracket": False}}).keep.tolist() == [True]


def test_languages():
    documents = ["Das Rad der alten Mühle dreht sich langsam im Wasser.", "The wheel of the old mill turns slowly in the water."]
    assert quern.filter(documents, language="de").keep.tolist() == [True, False]
    assert quern.filter(documents, language=["de", "en"], language_score=0.5).keep.tolist() == [True, True]
    result = quern.filter(documents, language="en")
    assert (result.removed["rule"], result.removed["value"]) == (["language"], ["de"])


@pytest.mark.parametrize("arguments, text", [
    ({}, "there is nothing to do"),
    ({"rules": "gopher"}, "there is no rule or group 'gopher'"),
    ({"rules": "gopher"}, "quern.filter_rules() shows all"),
    ({"rules": {"c4": 3}}, "c4 is a group of rules"),
    ({"rules": 3}, "rules: expected a str, a list"),
    ({"rules": {"fineweb.max-short-lines": -1}}, "invalid value '-1'"),
    ({"language": "xx"}, "unknown language 'xx'"),
    ({"mask": "phones"}, "mask: invalid value 'phones'"),
    ({"rules": "c4", "words": "letters"}, "words: invalid value 'letters'"),
])
def test_errors(arguments, text):
    with pytest.raises(quern.UsageError, match=re.escape(text)):
        quern.filter(["x"], **arguments)


def test_the_table_of_rules():
    rules = quern.filter_rules()
    assert "gopher-repetition.max-top-2-gram" in rules["rule"]
    assert set(rules["kind"]) == {"at least", "at most", "page", "line", "parameter", "words"}
    result = quern.filter(["x"], rules="length.min-words=1")
    assert repr(result) == "FilterResult(documents=1, removed=0, changed=0)"
