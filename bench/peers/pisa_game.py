# SPDX-License-Identifier: Apache-2.0
"""pisa_game.py CORPUS.jsonl INDEX QUERIES PASSES: builds a PISA index (block_simdbp, no stemmer, no stop words) unless it exists, then
times each query that the wheel of PISA can rank: words, unions by Block-Max WAND, intersections by ranked AND, for TOP_10 and TOP_100.
Prints JSON as tantivy_game.py; null for a query that it cannot rank: it has neither phrases nor counts.

The call through Python is within the times, and with it the look-up of the words and the ids of the results; `overhead` is the median
time of a query that no document contains. BM25 with k1 = 1.2 and b = 0.75.
"""

import json
import os
import statistics
import sys
import time

import numpy
from pyterrier_pisa import PisaIndex, PisaRetrieve, PisaScorer, _pisathon

from harness import medians_of_passes

DEPTHS = {"TOP_10": 10, "TOP_100": 100}


def build(corpus, folder):
    # One batch: with several, indexing waited for ever on one core.
    index = PisaIndex(folder, text_field="text", stemmer="none", stops="none", batch_size=10_000_000)
    if not index.built():
        with open(corpus, encoding="utf-8") as lines:
            index.index({"docno": one["id"], "text": one["text"]} for one in map(json.loads, lines))
    return PisaRetrieve(index, PisaScorer.bm25, stops="none", bm25_k1=1.2, bm25_b=0.75)._ctxt


def query_of(line):
    """Its algorithm, its words with their counts, and how many results; None if it cannot be ranked."""
    mode, text = line.rstrip("\n").split("\t")
    parts = text.split(" ")
    all_required = all(part.startswith("+") for part in parts)
    if mode not in DEPTHS or '"' in text or (any(part[0] in "+-" for part in parts) and not all_required):
        return None
    words = {}
    for part in parts:
        words[part.lstrip("+")] = words.get(part.lstrip("+"), 0.0) + 1.0
    return ("block_max_ranked_and" if all_required else "block_max_wand", [(0, words)], DEPTHS[mode])


def main():
    corpus, folder, path, passes = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    out = os.dup(1)
    os.dup2(2, 1)  # PISA writes its log to standard output
    context = build(corpus, folder)
    buffers = {name: numpy.empty(100, dtype=kind) for name, kind in (
        ("result_qidxs", numpy.int32), ("result_docnos", object), ("result_ranks", numpy.int32), ("result_scores", numpy.float32))}

    def seconds_of(query):
        if query is None:
            return None
        begin = time.perf_counter()
        _pisathon.retrieve(context, query[0], query[1], k=query[2], threads=1, query_weighted=0, pretokenised=True, **buffers)
        return time.perf_counter() - begin

    with open(path, encoding="utf-8") as lines:
        queries = [query_of(line) for line in lines]
    first = [seconds_of(query) for query in queries]
    ranked = [query for query in queries if query]
    medians = iter(medians_of_passes(ranked, seconds_of, passes))
    nothing = query_of("TOP_10\tzzzzqqqqzzzz qqqqzzzzqqqq")
    os.write(out, json.dumps({"seconds": [next(medians) if query else None for query in queries], "first": first,
                              "overhead": statistics.median(seconds_of(nothing) for _ in range(1000))}).encode())


main()
