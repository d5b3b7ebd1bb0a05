# SPDX-License-Identifier: Apache-2.0
"""Judged pairs of German and Chinese words, from clones of public repositories, in the form that bench/run-word-judgements
reads: word_judgements.py CLONES OUT. Clones that are missing are left out. In CLONES:
  conceptnet5  commonsense: DE-Gur-65, DE-Gur-350, DE-ZG-222 (Gurevych; Zesch), DE-SimLex-999 (Leviant and Reichart),
               DE-SemEval-17 (task 2, test), ZH-PKU-500 (Wu and Li)
  CWE          Leonard-Xu: ZH-WordSim-240 (Wang and others), ZH-WordSim-297 (Jin and Wu)
  COS960       thunlp: ZH-COS-960 (Huang and others)
OUT gets NAME.txt of lines word TAB word TAB judgement.
"""

import sys
from pathlib import Path

GERMAN = "conceptnet5/conceptnet5/support_data/"
# Name: file, what separates its fields, the field of the judgement.
SETS = {
    "DE-Gur-65": (GERMAN + "gurevych/wortpaare65.gold.pos.txt", ":", 2),
    "DE-Gur-350": (GERMAN + "gurevych/wortpaare350.gold.pos.txt", ":", 2),
    "DE-ZG-222": (GERMAN + "gurevych/wortpaare222.gold.pos.txt", ":", 2),
    "DE-SimLex-999": (GERMAN + "msimlex/MSimLex999_German.txt", ",", -1),
    "DE-SemEval-17": (GERMAN + "semeval17-2/de.test.txt", "\t", 2),
    "ZH-WordSim-240": ("CWE/data/240.txt", "\t", 2),
    "ZH-WordSim-297": ("CWE/data/297.txt", "\t", 2),
    "ZH-PKU-500": ("conceptnet5/conceptnet5/support_data/pku-500/pku-500.csv", "\t", 2),
    "ZH-COS-960": ("COS960/COS960_all.txt", None, 2),
}


def rows(path, separator, judgement):
    for line in path.read_text(encoding="utf-8-sig").splitlines():
        fields = [field.strip() for field in line.split(separator)]
        if len(fields) > 2 and not line.startswith("#") and fields[0].lower() != "word1":
            yield fields[0], fields[1], float(fields[judgement])


def main():
    clones, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    for name, (file, separator, judgement) in SETS.items():
        if not (clones / file).exists():
            print(f"{name}: {clones / file} is missing", file=sys.stderr)
            continue
        pairs = list(rows(clones / file, separator, judgement))
        (out / f"{name}.txt").write_text("".join(f"{a}\t{b}\t{score}\n" for a, b, score in pairs), encoding="utf-8")
        print(f"{name}: {len(pairs)} pairs", file=sys.stderr)


main()
