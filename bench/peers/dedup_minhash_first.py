#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dedup_minhash_first.py datasketch|rensa CORPUS.jsonl REMOVED: near-duplicates by MinHash and locality-sensitive hashing, the first
document stays: a document is removed if the tables have a candidate, else it goes into them. The distinct shingles of four words,
128 permutations, Jaccard similarity 0.8. Writes the ids of removed documents; prints seconds of processor and version as JSON. The
clock begins with the file, after the imports."""

import importlib.metadata
import json
import re
import sys
import time

PERMUTATIONS, SIMILARITY, WORDS = 128, 0.8, 4
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

    # 16 bands of 8 rows: their curve is steepest at (1/16)^(1/8) = 0.71; of 8 bands of 16 rows at 0.88
    tables = RMinHashLSH(threshold=SIMILARITY, num_perm=PERMUTATIONS, num_bands=16)

    def signed(text):
        made = RMinHash(num_perm=PERMUTATIONS, seed=42)
        made.update(list(shingles(text)))
        return made

    return tables, signed


def main():
    peer, corpus, removed = sys.argv[1:]
    tables, signed = {"datasketch": by_datasketch, "rensa": by_rensa}[peer]()
    begin = time.process_time()
    count = 0
    with open(corpus, encoding="utf-8") as lines, open(removed, "w", encoding="utf-8") as out:
        for number, line in enumerate(lines):
            document = json.loads(line)
            own = signed(document["text"])
            if tables.query(own):
                out.write(f"{document['id']}\n")
                count += 1
            else:
                tables.insert(number, own)
    print(json.dumps({"seconds": time.process_time() - begin, "removed": count, "version": importlib.metadata.version(peer)}))


main()
