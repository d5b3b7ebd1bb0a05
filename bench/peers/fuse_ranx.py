# SPDX-License-Identifier: Apache-2.0
"""Rank fusion with ranx, timed step by step: its start, the reading of the runs, and each rule twice, since the first
call compiles.

    fuse_ranx.py RUN... RULE=FILE...

RULE is one of those below, FILE the same fusion by Quern, with which every score is compared. Prints JSON."""

import json
import math
import sys
import time

RULES = {  # ours: ranx's method and normalisation
    "rrf": ("rrf", None),
    "sum-minmax": ("sum", "min-max"),
    "sum-zscore": ("sum", "zmuv"),
    "mnz-minmax": ("mnz", "min-max"),
    "median-minmax": ("med", "min-max"),
    "min-none": ("min", None),
    "max-none": ("max", None),
}


def ours(path):
    run = {}
    with open(path) as lines:
        for line in lines:
            topic, _, document, _, score, _ = line.split()
            run.setdefault(topic, {})[document] = float(score)
    return run


def differing(run, path):
    """The number of documents, and the number of scores that differ from ours."""
    expected = ours(path)
    count = sum(map(len, expected.values()))
    same = sum(math.isclose(score, expected.get(topic, {}).get(document, math.nan), rel_tol=1e-9, abs_tol=1e-12)
               for topic, documents in run.items() for document, score in documents.items())
    return count, max(count, sum(map(len, run.values()))) - same


def main():
    runs = [argument for argument in sys.argv[1:] if "=" not in argument]
    asked = [argument.split("=", 1) for argument in sys.argv[1:] if "=" in argument]
    begin = time.perf_counter()
    from ranx import Run, fuse

    result = {"start": time.perf_counter() - begin, "rules": {}}
    begin = time.perf_counter()
    read = [Run.from_file(path, kind="trec") for path in runs]
    result["read"] = time.perf_counter() - begin
    for rule, path in asked:
        method, normalisation = RULES[rule]
        seconds = []
        for _ in range(2):
            begin = time.perf_counter()
            fused = fuse(runs=list(read), norm=normalisation, method=method)
            seconds.append(time.perf_counter() - begin)
        documents, differ = differing({topic: dict(documents) for topic, documents in fused.run.items()}, path)
        result["rules"][rule] = {"first": seconds[0], "again": seconds[1], "documents": documents, "differ": differ}
        print(f"  ranx, {rule}: {seconds[0]:.1f} s, {seconds[1]:.1f} s again", file=sys.stderr, flush=True)
    print(json.dumps(result))


main()
