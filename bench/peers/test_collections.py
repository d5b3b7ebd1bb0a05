# SPDX-License-Identifier: Apache-2.0
"""The classic test collections, converted from their distributed formats to those of Quern: JSON lines or files of
documents, lines of topics, judgements in trec_eval format. No other collection has these formats, so this is not part of
the program.

Each reader gives (documents, topics, judgements): (id, title, text), or with links (id, title, text, ids); (id, text);
(topic, document, grade).
"""

import json
import re
import shutil
import tarfile
from pathlib import Path


def read(path):
    return path.read_text(encoding="latin-1")


def smart_records(text):
    """SMART's format: `.I number`, then fields `.T`, `.A`, `.W`, ... on separate lines. Yields number, fields."""
    for record in re.split(r"^\.I\s*", text, flags=re.M)[1:]:
        number, _, body = record.partition("\n")
        fields = {}
        parts = re.split(r"^\.([A-Z])[ \t]*\n", body, flags=re.M)
        for name, content in zip(parts[1::2], parts[2::2]):
            fields[name] = fields.get(name, "") + content
        yield number.strip(), fields


def smart_documents(text):
    for number, fields in smart_records(text):
        yield number, fields.get("T", ""), fields.get("W", "")


def smart_topics(text):
    """Some topics are documents by themselves: with a title."""
    for number, fields in smart_records(text):
        yield number, fields.get("T", "") + " " + fields.get("W", "")


def cran(folder):
    # Judgements count the topics from 1, whatever number the file has; the grade -1 is "not relevant".
    topics = [(str(i), text) for i, (_, text) in enumerate(smart_topics(read(folder / "cran.qry")), 1)]
    judged = [line.split() for line in read(folder / "cranqrel").splitlines() if line.strip()]
    return (smart_documents(read(folder / "cran.all.1400")), topics,
            [(topic, document, max(0, int(grade))) for topic, document, grade in judged])


def cisi(folder):
    judged = {tuple(line.split()[:2]) for line in read(folder / "CISI.REL").splitlines() if line.strip()}
    return (smart_documents(read(folder / "CISI.ALL")), smart_topics(read(folder / "CISI.QRY")),
            [(topic, document, 1) for topic, document in judged])


def med(folder):
    judged = [line.split() for line in read(folder / "MED.REL").splitlines() if line.strip()]
    return (smart_documents(read(folder / "MED.ALL")), smart_topics(read(folder / "MED.QRY")),
            [(topic, document, int(grade)) for topic, _, document, grade in judged])


def adi(folder):
    judged = [line.split() for line in read(folder / "ADI.REL").splitlines() if line.strip()]
    return (smart_documents(read(folder / "ADI.ALL")), smart_topics(read(folder / "ADI.QRY")),
            [(topic, document, 1) for topic, document, *_ in judged])


def time(folder):
    """`*TEXT ...` begins a document, which judgements name by its position; `*FIND n` begins a topic. The file lacks two of the
    425 documents: judgements of the last two are dropped. (The missing ones are unknown. From about the 376th on, judgements
    seem to mean documents two positions earlier: with that shift MAP is .06 higher. The gates use the unshifted numbers.)"""
    bodies = re.split(r"^\*TEXT.*\n|^\*STOP.*\n", read(folder / "TIME.ALL"), flags=re.M)[1:-1]
    documents = [(str(place), "", body) for place, body in enumerate(bodies, 1)]
    topics = re.findall(r"^\*FIND\s+(\d+)\s*\n(.*?)(?=^\*)", read(folder / "TIME.QUE"), flags=re.M | re.S)
    judged = [line.split() for line in read(folder / "TIME.REL").splitlines() if line.strip()]
    return documents, topics, [(topic, document, 1) for topic, *found in judged for document in found
                               if int(document) <= len(documents)]


def lisa(folder):
    """Documents end at a line of stars, a title at the first empty line; of documents with one number the first counts."""
    documents = {}
    for file in sorted(folder.glob("LISA[0-9].*")):
        for record in re.split(r"^\*{20,}\s*$", read(file), flags=re.M):
            head = re.match(r"\s*Document\s+(\d+)\s*\n", record)
            if head:
                title, _, text = record[head.end():].partition("\n\n")
                documents.setdefault(head[1], (head[1], title, text))
    topics = re.findall(r"^\s*(\d+)\s*\n(.*?)#", read(folder / "LISA.QUE"), flags=re.M | re.S)
    judged = re.findall(r"Query\s+(\d+)\s+\d+ Relevant Refs:\s*([\d\s]*?)-1", read(folder / "LISA.REL"))
    return documents.values(), topics, [(topic, document, 1) for topic, found in judged for document in found.split()]


def cacm(folder):
    """In Anserini's version: an HTML file a document. Its topics are those of SMART's file except for lines in which a full stop
    follows a digit, and for a full stop before a capital, anywhere."""
    with tarfile.open(folder / "anserini" / "cacm.tar.gz") as archive:
        documents = [(Path(member.name).name, "", archive.extractfile(member).read().decode("latin-1"))
                     for member in archive if member.isfile()]
    topics = []
    for number, body in re.findall(r"^\.I (\d+)\n(.*?)(?=^\.I |\Z)", read(folder / "query.text"), flags=re.M | re.S):
        kept = [line for line in body.splitlines() if not re.search(r"\d\.", line)]
        topics.append((number, re.sub(r"\.[A-Z]", "", "\n".join(kept))))
    judged = [line.split() for line in read(folder / "anserini" / "qrels.cacm.txt").splitlines() if line.strip()]
    return documents, topics, [(topic, document + ".html", int(grade)) for topic, _, document, grade in judged]


def subvectors(fields):
    """Lines `other, kind, weight or self` of a SMART record's field .X."""
    return [line.split() for line in fields.get("X", "").splitlines() if len(line.split()) == 3]


def cacm_citations(folder):
    """SMART's records of the same documents, judged as above. Of .X, kind 5 says that one of two documents cites the other;
    they are numbered as they came out, so the later one is taken to cite."""
    _, topics, judged = cacm(folder)
    links = {}
    records = list(smart_records(read(folder / "cacm.all")))
    for number, fields in records:
        for other, kind, itself in subvectors(fields):
            if kind == "5" and itself == number and other != number:
                links.setdefault(max(int(other), int(number)), set()).add(min(int(other), int(number)))
    name = "CACM-{:04}.html".format
    documents = [(name(int(number)), fields.get("T", ""), fields.get("W", ""),
                  [name(cited) for cited in sorted(links.get(int(number), []))]) for number, fields in records]
    return documents, topics, judged


def cisi_cocitations(folder):
    """Of .X, how often documents are cited together: a link each way."""
    _, topics, judged = cisi(folder)
    documents = [(number, fields.get("T", ""), fields.get("W", ""),
                  sorted({other for other, _, itself in subvectors(fields) if itself == number and other != number}, key=int))
                 for number, fields in smart_records(read(folder / "CISI.ALL"))]
    return documents, topics, judged


def write(collection, folder, into):
    """Writes topics.tsv, qrels.txt and the corpus of a collection into the folder `into`. Returns the corpus: JSON lines, or
    the files where documents are files."""
    shutil.rmtree(into, ignore_errors=True)
    documents, topics, judged = collection(folder)
    files = into / "documents"
    files.mkdir(parents=True)
    corpus = into / "corpus.jsonl"
    with open(corpus, "w", encoding="utf-8") as lines:
        for name, title, text, *links in documents:
            if name.endswith(".html") and not links:
                (files / name).write_bytes(text.encode("latin-1"))
            else:
                line = {"id": name, "title": " ".join(title.split()), "text": text}
                print(json.dumps(line | {"links": links[0]} if links else line), file=lines)
    (into / "topics.tsv").write_text("".join(f"{name}\t{' '.join(text.split())}\n" for name, text in topics), encoding="utf-8")
    (into / "qrels.txt").write_text("".join(f"{topic} 0 {document} {grade}\n" for topic, document, grade in sorted(set(judged))))
    return corpus if corpus.stat().st_size else files
