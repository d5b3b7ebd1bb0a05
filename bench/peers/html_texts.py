# SPDX-License-Identifier: Apache-2.0
"""The main text of web pages by another program: html_texts.py PEER FOLDER... prints what html_bench does, of one pass."""

import glob
import json
import logging
import os
import sys
import time

logging.disable(logging.CRITICAL)


def decoded(page):
    from resiliparse.parse.encoding import bytes_to_str, detect_encoding

    return bytes_to_str(page, detect_encoding(page))


def trafilatura(**options):
    from trafilatura import extract

    return lambda page: extract(page, include_comments=False, include_tables=True, **options)


def resiliparse():
    from resiliparse.extract.html2text import extract_plain_text

    return lambda page: extract_plain_text(decoded(page), main_content=True)


def justext():
    import justext as library

    words = library.get_stoplist("English")
    return lambda page: "\n".join(p.text for p in library.justext(page, words) if not p.is_boilerplate)


def readability():
    import lxml.html
    from readability import Document

    return lambda page: lxml.html.fromstring(Document(decoded(page)).summary() or "<p/>").text_content()


def boilerpy3():
    from boilerpy3 import extractors

    article = extractors.ArticleExtractor(raise_on_failure=False)
    return lambda page: article.get_content(decoded(page))


def lexbor():
    """All text, without a choice: the cost of a tree."""
    from selectolax.lexbor import LexborHTMLParser

    def text(page):
        tree = LexborHTMLParser(page)
        tree.strip_tags(["script", "style", "noscript"])
        return tree.body.text(separator=" ") if tree.body else ""

    return text


PEERS = {
    "resiliparse": resiliparse, "trafilatura": trafilatura, "trafilatura fast": lambda: trafilatura(fast=True),
    "readability-lxml": readability, "jusText": justext, "boilerpy3": boilerpy3, "selectolax (lexbor), all text": lexbor,
}  # fmt: skip


def main():
    extract = PEERS[sys.argv[1]]()
    for folder in sys.argv[2:]:
        texts, size, seconds = {}, 0, 0.0
        for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*.html"))):
            with open(path, "rb") as file:
                page = file.read()
            begin = time.process_time()
            try:
                text = extract(page) or ""
            except Exception:  # a page that a peer cannot read has no text
                text = ""
            seconds += time.process_time() - begin
            size += len(page)
            texts[os.path.basename(path)[: -len(".html")]] = text
        print(json.dumps({"folder": folder, "texts": texts, "bytes": size, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
