# SPDX-License-Identifier: Apache-2.0
"""python_language_model.py CORPUS.jsonl MEGABYTES ROUNDS FOLDER: quern.LanguageModel and KenLM's Python module score the sentences of
every tenth document of the first texts with a model of the others, in turns, for bench/run-python. Prints JSON."""

import importlib.metadata
import json
import os
import re
import sys
import time
from pathlib import Path

import quern

SENTENCE_END = re.compile(r"\n|(?<=[.!?]) (?=[A-Z])")
ORDER = 3


def sentences_of(text):
    return [" ".join(part.split()) for part in SENTENCE_END.split(text) if part.strip()]


def main():
    limit, rounds, folder = 1e6 * float(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    train, held, size = [], [], 0
    with open(sys.argv[1], encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if size >= limit:
                break
            some = sentences_of(json.loads(line)["text"])
            size += sum(len(sentence.encode()) + 1 for sentence in some)
            (held if number % 10 == 0 else train).extend(some)
    arpa = folder / "model.arpa"
    quern.ngrams(["\n".join(train)], order=ORDER, smoothing="kneser-ney", sentences=True, tokenized=True, arpa=arpa, rows=False,
                 overwrite=True, progress=False)
    found = {"order": ORDER, "sentences": len(held), "words": sum(len(sentence.split()) for sentence in held), "bytes": size, "missing": [],
             "open": {}, "times": {}, "size": arpa.stat().st_size}
    ours, one = "quern.LanguageModel.score", "quern.LanguageModel.scores, one call, one thread"
    models = {}

    def opened(name, make):
        begin = time.perf_counter()
        models[name] = make()
        found["open"].setdefault(name, []).append(time.perf_counter() - begin)

    for _ in range(min(2, rounds)):
        opened("quern", lambda: quern.LanguageModel.open(arpa, tokenized=True, progress=False))
        try:
            import kenlm

            label = f"kenlm {importlib.metadata.version('kenlm')}"
            opened(label, lambda: kenlm.Model(str(arpa)))
        except ImportError:
            label = None
    model = models["quern"]
    ways = {ours: lambda: [model.score(sentence) for sentence in held],
            one: lambda: model.scores(held, threads=1, progress=False)["log10"]}
    if label:
        theirs = models[label]
        ways[f"{label}, Model.score"] = lambda: [theirs.score(sentence) for sentence in held]
    else:
        found["missing"].append("kenlm")
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    scores = {}
    for turn in range(rounds + 1):
        for name, way in ways.items():
            begin = time.perf_counter()
            scores[name] = list(way())
            if turn > 0:  # the first warms the caches
                found["times"].setdefault(name, []).append(time.perf_counter() - begin)
    found["difference"] = max((abs(a - b) for name in scores for a, b in zip(scores[ours], scores[name])), default=0)
    arpa.unlink()
    print(json.dumps(found))


main()
