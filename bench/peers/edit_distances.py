# SPDX-License-Identifier: Apache-2.0
"""edit_distances.py WHO FOLDER: bounded distances of the folder's pairs with edlib or rapidfuzz, one thread.

Prints the median processor seconds of three runs, of one run if it takes long; distances go to distances.WHO.bin.
"""

import statistics
import struct
import sys
import time
from array import array
from pathlib import Path

who, folder = sys.argv[1], Path(sys.argv[2])
units = (folder / "units.bin").read_bytes()
offsets = struct.unpack(f"<{(folder / 'offsets.bin').stat().st_size // 8}Q", (folder / "offsets.bin").read_bytes())
numbers = array("I", (folder / "pairs.bin").read_bytes())
strings = [units[a:b] for a, b in zip(offsets, offsets[1:])]
pairs = [(strings[a], strings[b], bound) for a, b, bound in zip(numbers[0::3], numbers[1::3], numbers[2::3])]
BEYOND = 0xFFFFFFFF

if who == "edlib":
    import edlib

    def measure():
        align = edlib.align
        return [align(a, b, mode="NW", task="distance", k=k)["editDistance"] for a, b, k in pairs]

else:
    from rapidfuzz.distance import Levenshtein

    bounds = {bound for _, _, bound in pairs}
    if len(bounds) == 1:  # all in one call
        from rapidfuzz.process import cpdist

        first, second, bound = [a for a, _, _ in pairs], [b for _, b, _ in pairs], bounds.pop()

        def measure():
            return cpdist(first, second, scorer=Levenshtein.distance, score_cutoff=bound, workers=1).tolist()

    else:

        def measure():
            distance = Levenshtein.distance
            return [distance(a, b, score_cutoff=k) for a, b, k in pairs]


seconds, found = [], []
for _ in range(3):
    begin = time.process_time()
    found = measure()
    seconds.append(time.process_time() - begin)
    if seconds[0] > 10:
        break
answers = array("I", [d if 0 <= d <= k else BEYOND for d, (_, _, k) in zip(found, pairs)])
(folder / f"distances.{who}.bin").write_bytes(answers.tobytes())
print(f"{statistics.median(seconds):.6f}")
