"""Models opened once score as perplexity() does; KenLM's Python module gives the same scores for models of ours."""

import math
import random

import pytest
import quern

LINES = ["the cat sat on the mat", "the dog sat on the mat", "a cat ran", "the mat", "dogs and cats ran on"]


@pytest.fixture
def model(tmp_path):
    """A model with Kneser-Ney smoothing of generated lines, and these lines."""
    draw = random.Random(5)
    lines = [" ".join(f"w{int(60 ** draw.random())}" for _ in range(draw.randrange(1, 12))) for _ in range(800)]
    path = tmp_path / "model.arpa"
    quern.ngrams(["\n".join(lines)], order=4, smoothing="kneser-ney", sentences=True, tokenized=True, arpa=path, rows=False)
    return path, lines


def test_scores(model):
    path, lines = model
    opened = quern.LanguageModel.open(path, tokenized=True)
    assert opened.order == 4 and opened.has_marks and opened.weights == [1.0]
    found = quern.perplexity(path, lines, tokenized=True)
    assert [opened.score(line) for line in lines] == list(found["log10"])
    assert [opened.perplexity(line) for line in lines] == list(found["perplexity"])
    rows = opened.scores(lines, threads=2)
    for name in ("words", "unknown", "log10", "perplexity", "bits_per_byte"):
        assert list(rows[name]) == list(found[name])
    parts = opened.sentences("w1 w2\nw3")
    assert list(parts["sentence"]) == [1, 2] and list(parts["words"]) == [2, 1]
    assert math.isnan(opened.perplexity(""))


def test_texts_by_chance(model):
    path, _ = model
    opened = quern.LanguageModel.open(path)
    texts = opened.generate(20, seed=3)
    assert texts == opened.generate(20, seed=3, threads=2) and texts != opened.generate(20, seed=4)
    assert all(word.startswith("w") for text in texts for word in text.split())
    assert all(len(text.split()) <= 3 for text in opened.generate(20, max_words=3))
    assert all(text.startswith("w1 w2") for text in opened.generate(5, begin="w1 w2"))
    with pytest.raises(quern.UsageError, match="no word"):
        opened.generate(1, begin="absent")


def test_interpolation(model, tmp_path):
    path, lines = model
    other = tmp_path / "other.arpa"
    quern.ngrams(["\n".join(LINES)], order=2, smoothing="kneser-ney", sentences=True, tokenized=True, arpa=other, rows=False)
    tuned = quern.perplexity(path, LINES, interpolate=other, tune=True, tokenized=True)
    assert list(tuned["model"]) == [str(path), str(other)] and tuned["weight"][1] > 0.9
    both = quern.LanguageModel.open(path, interpolate=[other], weights="1 3")
    assert both.weights == [0.25, 0.75]
    for weights in ([1, 3], (0.25, 0.75), both.weights):
        assert quern.LanguageModel.open(path, interpolate=[other], weights=weights).weights == [0.25, 0.75]
    by_text = " ".join(repr(float(w)) for w in tuned["weight"])
    by_column, by_text = (quern.perplexity(path, LINES, interpolate=other, weights=w, tokenized=True) for w in (tuned["weight"], by_text))
    assert list(by_column["log10"]) == list(by_text["log10"])
    with pytest.raises(quern.UsageError, match="weights: invalid value '1.0 -2.0'.*expected 2 numbers of at least 0"):
        quern.perplexity(path, LINES, interpolate=other, weights=[1, -2])
    with pytest.raises(quern.UsageError, match="weights: invalid value {1, 3}"):
        quern.LanguageModel.open(path, interpolate=[other], weights={1, 3})


def test_pruning_by_a_list(tmp_path):
    options = {"order": 2, "smoothing": "kneser-ney", "sentences": True, "tokenized": True, "rows": False}
    quern.ngrams(["\n".join(LINES)], arpa=tmp_path / "text.arpa", prune="0 1", **options)
    quern.ngrams(["\n".join(LINES)], arpa=tmp_path / "list.arpa", prune=[0, 1], **options)
    assert (tmp_path / "list.arpa").read_bytes() == (tmp_path / "text.arpa").read_bytes()


@pytest.mark.parametrize("quantize", [0, 8])
def test_compact(model, tmp_path, command, quantize):
    path, lines = model
    made = quern.LanguageModel.make_compact(path, tmp_path / "small.bin", quantize=quantize)
    command("model", path, "-o", tmp_path / "by_program.bin", "--quantize", quantize)
    assert (tmp_path / "small.bin").read_bytes() == (tmp_path / "by_program.bin").read_bytes()
    opened, small = (quern.LanguageModel.open(p, tokenized=True) for p in (path, tmp_path / "small.bin"))
    assert made["quantized_bits"] == quantize and sum(made["ngrams"]) == opened.ngrams
    assert made["file_bytes"] == (tmp_path / "small.bin").stat().st_size < path.stat().st_size
    same = [small.score(line) == opened.score(line) for line in lines]
    assert all(same) if quantize == 0 else not all(same)
    with pytest.raises(quern.UsageError, match="exists"):
        quern.LanguageModel.make_compact(path, tmp_path / "small.bin")
    quern.LanguageModel.make_compact(path, tmp_path / "small.bin", overwrite=True)
    with pytest.raises(quern.UsageError, match="quantize: invalid value"):
        quern.LanguageModel.make_compact(path, tmp_path / "other.bin", quantize=17)
    with pytest.raises(quern.UsageError, match="no such"):
        quern.LanguageModel.make_compact(tmp_path / "absent.arpa", tmp_path / "other.bin")
    assert not (tmp_path / "other.bin").exists()


def test_filter(model):
    path, _ = model
    result = quern.filter(["w1 w1 w2", "absent words here"], perplexity=path, below=100)
    assert result.keep.tolist() == [True, False] and list(result.removed["rule"]) == ["perplexity.below"]


def test_kenlm_gives_the_same_perplexity(model):
    kenlm = pytest.importorskip("kenlm")
    path, lines = model
    theirs, ours = kenlm.Model(str(path)), quern.LanguageModel.open(path, tokenized=True)
    for line in [*lines[:200], "w1 absent w2", "absent"]:
        assert math.isclose(ours.score(line), theirs.score(line), abs_tol=1e-4)
        assert math.isclose(ours.perplexity(line), theirs.perplexity(line), rel_tol=1e-4)
