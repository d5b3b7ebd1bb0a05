#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dedup_minhash.py datasketch|rensa pairs|first CORPUS RESULT: near-duplicates by MinHash and locality-sensitive hashing, the usual way
with these libraries: distinct shingles of words, 128 permutations. CORPUS: JSON lines, plain or .zst.

pairs: shingles of five words, Jaccard similarity 0.7; every candidate of the tables is a pair. Writes the pairs of ids.
first: shingles of four words, 0.8; the first document stays: one is removed if the tables have a candidate, else it goes into them.
Writes the ids of removed documents.

Prints seconds (of the clock for pairs, of the processor for first), the number written and the version as JSON. The time begins with
the file, after the imports."""

import contextlib
import importlib.metadata
import json
import re
import subprocess
import sys
import time

PERMUTATIONS = 128
RULES = {"pairs": (5, 0.7, time.monotonic), "first": (4, 0.8, time.process_time)}  # words of a shingle, similarity, clock
NO_WORD = re.compile(r"\W")


def shingles(text, size):
    words = [word for word in NO_WORD.split(text.lower()) if word]
    return {" ".join(words[i : i + size]) for i in range(max(1, len(words) - size + 1))}


def by_datasketch(size, similarity):
    from datasketch import MinHash, MinHashLSH

    tables = MinHashLSH(threshold=similarity, num_perm=PERMUTATIONS)

    def signed(text):
        made = MinHash(num_perm=PERMUTATIONS)
        made.update_batch([shingle.encode() for shingle in shingles(text, size)])
        return made

    return tables, signed


def by_rensa(size, similarity):
    from rensa import RMinHash, RMinHashLSH

    # 16 bands of 8 rows: their curve is steepest at (1/16)^(1/8) = 0.71; of 8 bands of 16 rows at 0.88
    tables = RMinHashLSH(threshold=similarity, num_perm=PERMUTATIONS, num_bands=16)

    def signed(text):
        made = RMinHash(num_perm=PERMUTATIONS, seed=42)
        made.update(list(shingles(text, size)))
        return made

    return tables, signed


@contextlib.contextmanager
def lines_of(corpus):
    if not corpus.endswith(".zst"):
        with open(corpus, "rb") as lines:
            yield lines
        return
    with subprocess.Popen(["zstdcat", corpus], stdout=subprocess.PIPE) as unpacked:
        yield unpacked.stdout


def pairs_in(lines, tables, signed):
    ids = []
    for line in lines:
        document = json.loads(line)
        own = signed(document["text"])
        for other in tables.query(own):
            yield f"{ids[other]}\t{document['id']}"
        tables.insert(len(ids), own)
        ids.append(document["id"])


def removed_in(lines, tables, signed):
    for number, line in enumerate(lines):
        document = json.loads(line)
        own = signed(document["text"])
        if tables.query(own):
            yield str(document["id"])
        else:
            tables.insert(number, own)


def main():
    peer, rule, corpus, result = sys.argv[1:]
    size, similarity, clock = RULES[rule]
    tables, signed = {"datasketch": by_datasketch, "rensa": by_rensa}[peer](size, similarity)
    begin, count = clock(), 0
    with lines_of(corpus) as lines, open(result, "w", encoding="utf-8") as out:
        for found in {"pairs": pairs_in, "first": removed_in}[rule](lines, tables, signed):
            out.write(f"{found}\n")
            count += 1
    print(json.dumps({"seconds": clock() - begin, "found": count, "version": importlib.metadata.version(peer)}))


main()
