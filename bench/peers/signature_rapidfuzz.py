#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""signature_rapidfuzz.py FILE: all pairs of the signatures in FILE ("B:letters:letters at 2B") with an edit rate of the
letters at B below 0.15, by rapidfuzz's cdist with a cut-off. Prints seconds and the number of pairs as JSON."""

import json
import os
import sys
import time

import numpy
import rapidfuzz
from rapidfuzz.distance import Levenshtein

letters = [line.split(":")[1] for line in open(sys.argv[1], encoding="ascii")]
lengths = numpy.array([len(s) for s in letters])
begin = time.monotonic()
pairs = 0
for at in range(0, len(letters), 1000):  # a matrix of all would take memory, not time
    rows = letters[at : at + 1000]
    bound = int(0.15 * 2 * lengths.max())
    distances = rapidfuzz.process.cdist(rows, letters[at:], scorer=Levenshtein.distance, score_cutoff=bound,
                                        workers=len(os.sched_getaffinity(0)), dtype=numpy.uint8)
    near = distances.astype(numpy.int32) * 100 < 15 * (lengths[at : at + 1000, None] + lengths[None, at:])
    near |= (lengths[at : at + 1000, None] + lengths[None, at:]) == 0
    pairs += int(numpy.triu(near, 1).sum())
print(json.dumps({"seconds": time.monotonic() - begin, "pairs": pairs, "version": rapidfuzz.__version__}))
