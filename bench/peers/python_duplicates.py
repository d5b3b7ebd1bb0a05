# SPDX-License-Identifier: Apache-2.0
"""python_duplicates.py CORPUS.jsonl PLANTED.tsv SMALL ROUNDS: quern.dedup and rensa on the texts, and rapidfuzz on all pairs
of the first SMALL of them, for bench/run-python. PLANTED has lines of original, copy: their positions. Prints JSON."""

import importlib.metadata
import json
import re
import sys
import time

import quern

PERMUTATIONS, WORDS, THRESHOLD = 128, 5, 0.05
BANDS = {16: 0.7, 32: 0.4}  # and the similarity where their curve is steepest
NO_WORD = re.compile(r"\W")


def shingles(text):
    words = [word for word in NO_WORD.split(text.lower()) if word]
    return [" ".join(words[i:i + WORDS]) for i in range(max(1, len(words) - WORDS + 1))]


def by_quern(texts, threads):
    result = quern.dedup(texts, threads=threads, threshold=THRESHOLD, device="cpu", progress=False)
    pairs = result.pairs
    return set(zip(pairs["a"].tolist(), pairs["b"].tolist()))


def by_rensa(texts, bands):
    from rensa import RMinHash, RMinHashLSH

    tables = RMinHashLSH(threshold=BANDS[bands], num_perm=PERMUTATIONS, num_bands=bands)
    pairs = set()
    for number, text in enumerate(texts):
        own = RMinHash(num_perm=PERMUTATIONS, seed=42)
        own.update(shingles(text))
        pairs.update((other, number) for other in tables.query(own))
        tables.insert(number, own)
    return pairs


def by_rapidfuzz(texts):
    import numpy
    from rapidfuzz import process
    from rapidfuzz.distance import Levenshtein

    packed = [text.encode() for text in texts]
    # Edits over the sum of the lengths are at most half of 2 * THRESHOLD of the longer one: a superset, then decided exactly.
    rates = process.cdist(packed, packed, scorer=Levenshtein.normalized_distance, score_cutoff=2 * THRESHOLD, dtype=numpy.float32,
                          workers=1)
    pairs = set()
    for a, b in zip(*map(list, numpy.nonzero(numpy.triu(rates <= 2 * THRESHOLD + 1e-6, 1)))):
        distance = Levenshtein.distance(packed[a], packed[b])
        if distance < THRESHOLD * (len(packed[a]) + len(packed[b])):
            pairs.add((int(a), int(b)))
    return pairs


def available(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def in_turns(ways, rounds):
    """name -> its pairs and seconds; the ways take turns."""
    found = {}
    for _ in range(rounds):
        for name, way in ways.items():
            begin = time.perf_counter()
            pairs = way()
            taken = time.perf_counter() - begin
            found.setdefault(name, {"pairs": pairs, "seconds": []})["seconds"].append(taken)
            print(f"  {name}: {taken:.2f} s", file=sys.stderr, flush=True)
    return found


def main():
    with open(sys.argv[1], encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    with open(sys.argv[2], encoding="ascii") as lines:
        planted = {tuple(map(int, line.split())) for line in lines}
    small, rounds = texts[:int(sys.argv[3])], int(sys.argv[4])
    rensa, rapidfuzz = available("rensa"), available("rapidfuzz")
    ways = {"quern.dedup, one thread": lambda: by_quern(texts, 1), "quern.dedup, all threads": lambda: by_quern(texts, 0)}
    for bands, similarity in BANDS.items() if rensa else ():
        ways[f"rensa {rensa}, MinHash-LSH, Jaccard {similarity}, one thread"] = lambda bands=bands: by_rensa(texts, bands)
    all_pairs = {"quern.dedup, one thread": lambda: by_quern(small, 1)}
    if rapidfuzz:
        all_pairs[f"rapidfuzz {rapidfuzz}, process.cdist, one thread"] = lambda: by_rapidfuzz(small)
    near = planted
    if rapidfuzz:  # decided by the peer
        from rapidfuzz.distance import Levenshtein

        near = {(a, b) for a, b in planted if Levenshtein.distance(texts[a].encode(), texts[b].encode()) <
                THRESHOLD * (len(texts[a].encode()) + len(texts[b].encode()))}
    answer = {"documents": len(texts), "bytes": sum(len(text.encode()) for text in texts), "planted": len(planted), "near": len(near),
              "decided": bool(rapidfuzz), "small": len(small), "missing": [name for name, found in (("rensa", rensa), ("rapidfuzz", rapidfuzz)) if not found]}
    for key, asked in (("large", ways), ("all_pairs", all_pairs)):
        found = in_turns(asked, rounds)
        first = next(iter(found.values()))["pairs"]
        answer[key] = {name: {"seconds": of["seconds"], "pairs": len(of["pairs"]), "near": len(near & of["pairs"]),
                              "beyond": len(of["pairs"] - first), "same": of["pairs"] == first} for name, of in found.items()}
    print(json.dumps(answer))


main()
