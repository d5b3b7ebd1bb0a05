#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dedup_suffix_array.py CORPUS LENGTH OUT: the substrings that quern dedup --level substring cuts, by a suffix array
(libdivsufsort), of texts in ASCII. OUT gets a row of id, begin, end for each. Prints JSON: seconds of each step."""

import json
import sys
import time

import numpy as np
from pydivsufsort import divsufsort, kasai

SEPARATOR = 0xFF  # in no text


def main():
    corpus, length, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    steps, begun = {}, time.monotonic()

    def step(name):
        nonlocal begun
        now = time.monotonic()
        steps[name], begun = now - begun, now

    ids, texts = [], []
    with open(corpus, "rb") as lines:
        for line in lines:
            document = json.loads(line)
            ids.append(document["id"])
            texts.append(document["text"].encode("ascii"))
    whole = np.frombuffer(bytearray(b"\xff".join(texts) + b"\xff"), dtype=np.uint8)
    ends = np.cumsum([len(text) + 1 for text in texts]) - 1  # of the texts
    step("read")
    order = divsufsort(whole)
    step("suffix array")
    shared = kasai(whole, order)  # of each suffix and the next one
    step("common prefixes")
    begins = np.flatnonzero(np.concatenate(([True], shared[: len(order) - 1] < length)))
    del shared
    first = np.minimum.reduceat(order, begins)
    sizes = np.diff(np.append(begins, len(order)))
    repeated = np.zeros(len(whole) + 1, dtype=np.int32)
    at = order[order != np.repeat(first, sizes)].astype(np.int64)
    del order
    at = at[at + length <= ends[np.searchsorted(ends, at)]]  # within one text
    np.add.at(repeated, at, 1)
    np.add.at(repeated, at + length, -1)
    covered = np.cumsum(repeated[:-1]) > 0
    edges = np.diff(np.concatenate(([0], covered.view(np.int8), [0])))
    range_begins, range_ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    document = np.searchsorted(ends, range_begins)
    text_begins = np.concatenate(([0], ends[:-1] + 1))
    step("ranges")
    with open(out, "w", encoding="utf-8") as rows:
        for d, begin, end in zip(document, range_begins, range_ends):
            rows.write(f"{ids[d]}\t{begin - text_begins[d]}\t{end - text_begins[d]}\n")
    step("write")
    print(json.dumps(steps))


main()
