#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dedup_minhash.py datasketch|rensa CORPUS.jsonl.zst PAIRS: near-duplicates by MinHash and locality-sensitive hashing,
the usual way with these libraries: the distinct shingles of five words, 128 permutations, Jaccard similarity 0.7; every
candidate of the tables is a pair. Writes the pairs of ids; prints seconds and version as JSON. The clock begins with the
file, after the imports."""

import importlib.metadata
import json
import re
import subprocess
import sys
import time

PERMUTATIONS, SIMILARITY, WORDS = 128, 0.7, 5
NO_WORD = re.compile(r"\W")


def shingles(text):
    words = [word for word in NO_WORD.split(text.lower()) if word]
    return {" ".join(words[i : i + WORDS]) for i in range(max(1, len(words) - WORDS + 1))}


def by_datasketch():
    from datasketch import MinHash, MinHashLSH

    tables = MinHashLSH(threshold=SIMILARITY, num_perm=PERMUTATIONS)

    def signed(text):
        made = MinHash(num_perm=PERMUTATIONS)
        made.update_batch([shingle.encode() for shingle in shingles(text)])
        return made

    return tables, signed


def by_rensa():
    from rensa import RMinHash, RMinHashLSH

    # 16 bands of 8 rows: their curve is steepest at (1/16)^(1/8) = 0.71
    tables = RMinHashLSH(threshold=SIMILARITY, num_perm=PERMUTATIONS, num_bands=16)

    def signed(text):
        made = RMinHash(num_perm=PERMUTATIONS, seed=42)
        made.update(list(shingles(text)))
        return made

    return tables, signed


def main():
    peer, corpus, pairs = sys.argv[1:]
    tables, signed = {"datasketch": by_datasketch, "rensa": by_rensa}[peer]()
    begin = time.monotonic()
    ids, count = [], 0
    with subprocess.Popen(["zstdcat", corpus], stdout=subprocess.PIPE) as lines, open(pairs, "w", encoding="utf-8") as out:
        for line in lines.stdout:
            document = json.loads(line)
            own = signed(document["text"])
            for other in tables.query(own):
                out.write(f"{ids[other]}\t{document['id']}\n")
                count += 1
            tables.insert(len(ids), own)
            ids.append(document["id"])
    print(json.dumps({"seconds": time.monotonic() - begin, "pairs": count, "version": importlib.metadata.version(peer)}))


main()
