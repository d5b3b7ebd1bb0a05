# SPDX-License-Identifier: Apache-2.0
"""Shared by the benchmarks of near-duplicates: how results of Quern and of its peers are read and judged."""

import re
import subprocess
from collections import defaultdict

import harness


def peer_python(package):
    """A Python that has the package, or None."""
    made = subprocess.run([harness.ROOT / "scripts" / "venv", package], stdout=subprocess.PIPE, text=True)
    return made.stdout.strip() if made.returncode == 0 else None


def pairs_of(path):
    """The pairs of ids of a file of --pairs."""
    with open(path, encoding="utf-8") as lines:
        return {tuple(line.rstrip("\n").split("\t")[:2]) for line in lines}


def judged(found, truth):
    """Recall and precision of pairs."""
    common = len(found & truth)
    return f"{common / len(truth):.4f}", f"{common / len(found):.4f}" if found else ""


def removed_by_clusters(pairs):
    """What is removed if the first document of each connected cluster stays. Ids end with
    numbers that ascend in the corpus."""
    first = {}
    position = lambda x: int(re.search(r"\d+$", x)[0])  # noqa: E731

    def find(x):
        while first.setdefault(x, x) != x:
            first[x] = first[first[x]]
            x = first[x]
        return x

    for a, b in pairs:
        x, y = sorted((find(a), find(b)), key=position)
        first[y] = x
    return {x for x in first if find(x) != x}


def judged_removals(removed, truth):
    """Documents removed without a near-duplicate that stays, and pairs of near-duplicates that both stay."""
    near = defaultdict(set)
    for a, b in truth:
        near[a].add(b)
        near[b].add(a)
    wrong = sum(all(other in removed for other in near[d]) for d in removed)
    left = sum(a not in removed and b not in removed for a, b in truth)
    return f"{len(removed):,}", f"{wrong:,}", f"{left:,}"
