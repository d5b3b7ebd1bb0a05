# SPDX-License-Identifier: Apache-2.0
"""python_ngrams.py CORPUS.jsonl MEGABYTES ORDER ROUNDS: quern.NgramModel.fit, and collections.Counter in a loop of Python, over the
first texts of a corpus, in turns, for bench/run-python. Prints JSON."""

import json
import random
import re
import sys
import time
from collections import Counter

import quern

WORD = re.compile(r"[a-z0-9]+")


def counted(texts, order):
    counts = [Counter() for _ in range(order)]
    for text in texts:
        words = WORD.findall(text.lower())
        for n in range(1, order + 1):
            counts[n - 1].update(zip(*(words[i:] for i in range(n))))
    return counts


def main():
    texts, limit, order, rounds = [], 1e6 * float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    size = 0
    with open(sys.argv[1], encoding="utf-8") as lines:
        for line in lines:
            if size >= limit:
                break
            texts.append(json.loads(line)["text"])
            size += len(texts[-1].encode())
    ways = {
        "quern.NgramModel.fit, one thread": lambda: quern.NgramModel.fit(texts, order=order, tokens="ascii", threads=1, device="cpu", progress=False),
        "quern.NgramModel.fit, all threads": lambda: quern.NgramModel.fit(texts, order=order, tokens="ascii", device="cpu", progress=False),
        "collections.Counter": lambda: counted(texts, order),
    }
    times, made = {}, {}
    for _ in range(rounds):
        for name, way in ways.items():
            begin = time.perf_counter()
            made[name] = way()
            times.setdefault(name, []).append(time.perf_counter() - begin)
            print(f"  {name}: {times[name][-1]:.2f} s", file=sys.stderr, flush=True)
    model, counts = made["quern.NgramModel.fit, one thread"], made["collections.Counter"]
    chance = random.Random(1)
    sample = [gram for of in counts for gram in chance.sample(sorted(of), min(2000, len(of)))]
    same = sum(model.counts(gram) == counts[len(gram) - 1][gram] for gram in sample)
    print(json.dumps({"documents": len(texts), "bytes": size, "order": order, "distinct": sum(map(len, counts)), "times": times,
                      "sample": len(sample), "same": same}))


main()
