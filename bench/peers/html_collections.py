# SPDX-License-Identifier: Apache-2.0
"""Web pages with known main texts, from clones of public repositories, in the form that bench/run-html reads:
html_collections.py CLONES OUT. Clones that are missing are left out. In CLONES:
  article-extraction-benchmark    scrapinghub: 181 news pages
  CleanPortalEval                 ppke-nlpg: 71 pages of four news portals
  trafilatura                     adbar: 990 pages, with pieces that belong to their texts and pieces that do not
  web-content-extraction-benchmark  Murrough-Foley (WCXB): 2,008 pages of seven kinds; the rules were tuned on `dev`
OUT gets NAME/ID.html and NAME.json: {ID: {"text": …}} or {ID: {"with": […], "without": […]}}.
"""

import gzip
import html
import json
import re
import sys
from pathlib import Path


def article_extraction(clone):
    for key, item in json.loads((clone / "ground-truth.json").read_text()).items():
        yield key, gzip.decompress((clone / "html" / f"{key}.html.gz").read_bytes()), {"text": item["articleBody"]}


def clean_portal(clone):
    for truth in sorted((clone / "GoldStandard").glob("*.txt")):
        text = re.sub(r"^\s*URL:.*\n", "", truth.read_text(errors="replace"))
        text = html.unescape(re.sub(r"<[phl]\d?>", "", text))
        yield truth.stem, (clone / "input" / f"{truth.stem}.html").read_bytes(), {"text": text}


def trafilatura(clone):
    tests = clone / "tests"
    for number, (_, item) in enumerate(sorted(json.loads((tests / "evaldata.json").read_text()).items())):
        path = next(p for p in (tests / "cache" / item["file"], tests / "eval" / item["file"]) if p.exists())
        yield f"{number:04}", path.read_bytes(), {"with": item["with"], "without": item["without"]}


def wcxb(clone, split):
    for path in sorted((clone / split / "ground-truth").glob("*.json")):
        item = json.loads(path.read_text())
        kind = item["_internal"]["page_type"]["primary"]
        page = gzip.decompress((clone / split / "html" / f"{path.stem}.html.gz").read_bytes())
        text = item["ground_truth"].get("main_content") or ""
        yield path.stem, page, {"text": text, "kind": "collection" if kind == "category" else kind}


COLLECTIONS = {
    "article-extraction": ("article-extraction-benchmark", article_extraction),
    "cleanportaleval": ("CleanPortalEval", clean_portal),
    "trafilatura-eval": ("trafilatura", trafilatura),
    "wcxb-dev": ("web-content-extraction-benchmark", lambda clone: wcxb(clone, "dev")),
    "wcxb-test": ("web-content-extraction-benchmark", lambda clone: wcxb(clone, "test")),
}


def main():
    clones, out = Path(sys.argv[1]), Path(sys.argv[2])
    for name, (folder, read) in COLLECTIONS.items():
        if not (clones / folder).is_dir():
            print(f"{name}: {clones / folder} is missing", file=sys.stderr)
            continue
        (out / name).mkdir(parents=True, exist_ok=True)
        truth = {}
        for key, page, item in read(clones / folder):
            (out / name / f"{key}.html").write_bytes(page)
            truth[key] = item
        (out / f"{name}.json").write_text(json.dumps(truth))
        print(f"{name}: {len(truth)} pages", file=sys.stderr)


if __name__ == "__main__":
    main()
