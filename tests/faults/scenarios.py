# SPDX-License-Identifier: Apache-2.0
"""Commands of the program, what is there before each, and what it makes: for the tests that let it fail (walk_faults.py,
kills.py, power_loss.py, full_disk.py, hostile_files.py). Every command that writes something is here."""
import bz2
import gzip
import lzma
import struct


class Scenario:
    """A command, what is there before it, and what it makes."""

    def __init__(self, name, command, results=(), before=(), left=(), stores=(), given=None, code=0):
        self.name, self.command, self.results, self.before = name, command, list(results), before
        self.left = set(left)  # names beside the inputs and results that may be there
        self.stores = set(stores)  # results that are added to in several steps, each of which leaves a whole store
        self.given = given  # the file for standard input
        self.code = code  # the exit code of a run without a fault

    def __str__(self):
        return self.name

    def adds(self):
        """Whether the command adds to what is there, so that a second run finds all of it."""
        return self.name.endswith(("adds", "to a store", "makes a store"))


def documents(count):
    return "".join(
        '{"id":"%d","title":"t%d","text":"%s","links":["t%d"]}\n'
        % (i, i, " ".join("word%d" % (i * j % 23) for j in range(1, 30)), (i + 1) % 12)
        for i in range(count))


def vectors(rows):
    """In the format .fvecs: the number of dimensions before each row."""
    return b"".join(struct.pack("<i4f", 4, *(float(i * j % 17) for j in range(1, 5))) for i in range(rows))


def run_of(name, count, first):
    return "".join("%d Q0 %d %d %f %s\n" % (topic, (i + first) % count, i + 1, 100 - i, name)
                   for topic in (1, 2) for i in range(count))


def compressed(size):
    held = documents(6 * size).encode()
    return {"docs.jsonl.gz": gzip.compress(held, mtime=0), "docs.jsonl.bz2": bz2.compress(held), "docs.jsonl.xz": lzma.compress(held)}


PAGES = """<mediawiki><siteinfo><namespaces><namespace key="0"/></namespaces></siteinfo>
<page><title>Mill</title><ns>0</ns><id>1</id><revision><text>A ''mill'' grinds [[flour]] &amp; bran.</text></revision></page>
<page><title>Flour</title><ns>0</ns><id>2</id><revision><text>Flour is made in a [[mill]].</text></revision></page></mediawiki>
"""


def inputs(size):
    """Name to content of the inputs; `size` multiplies those of a file."""
    return {
        "docs.jsonl": documents(12 * size), "graph.tsv": "".join("%d\t%d\n" % (i, (i * 7 + 3) % 20) for i in range(20 * size)),
        "others.jsonl": "".join('{"id":"o%d","text":"other words %d about word%d and more"}\n' % (i, i, i) for i in range(5 * size)),
        "folder/a.txt": "word3 in a file\n", "folder/b.txt": "another word4\n",
        "base.fvecs": vectors(40 * size), "queries.fvecs": vectors(3), "docs.fvecs": vectors(12 * size),
        "glove.txt": "".join("w%d %d %d %d\n" % (i, i, i * 3 % 7, i * 5 % 11) for i in range(20 * size)),
        "matrix.mtx": "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n" % (9 * size, 9 * size, 18 * size)
                      + "".join("%d %d %d\n" % (i // 2 + 1, (i * 7 % (9 * size)) + 1, i + 1) for i in range(18 * size)),
        "a.list": "".join("o%d\t%d\n" % (i, 1000 * size - i) for i in range(9 * size)),
        "b.list": "".join("o%d\t%d\n" % (i * 5 % (9 * size), 1000 * size - i) for i in range(9 * size)),
        "a.run": run_of("a", 9 * size, 0), "b.run": run_of("b", 7 * size, 3),
        "qrels": "".join("%d 0 %d %d\n" % (topic, i, i % 3) for topic in (1, 2) for i in range(9)),
        "topics": "1\tword3 word4\n2\tword5\n", "wiki.xml": PAGES, "page.html": "<html><p>word1 of a page<p>and word2</html>",
        **compressed(size),
    }


def of_cluster(name, command, results, shards=2):
    """The same command as tasks of two processes."""
    return Scenario(f"{name} in a cluster", f"{command} --cluster local:2 --share job --shards {shards}", results, left=["job"])


FILTERED = "filter docs.jsonl --rules length.min-words=3 -o kept.jsonl"
PLAN = f"plan {FILTERED} --share job --shards 2"

BUILDS = [
    Scenario("build", "build docs.jsonl -o st", ["st"]),
    Scenario("build over another", "build docs.jsonl -o st --force", ["st"], ["build others.jsonl -o st"]),
    Scenario("build --sync", "build folder -o st --sync", ["st"], ["build folder -o st", "append more words to folder/a.txt"]),
    Scenario("build adds", "build others.jsonl -o st --update", ["st"], ["build docs.jsonl -o st"]),
    Scenario("build with all stages", "build docs.jsonl -o st --ngrams --vectors docs.fvecs --skip duplicates", ["st"]),
    Scenario("build without stages", "build docs.jsonl -o st --skip all", ["st"]),
    Scenario("merge over another", "merge one two -o st --force", ["st"],
             ["build docs.jsonl -o one", "build others.jsonl -o two --skip all", "build docs.jsonl -o st"]),
    Scenario("merge makes a sharded store", "merge one two -o st --sharded", ["st"],
             ["build docs.jsonl -o one --skip all", "build others.jsonl -o two --skip all"]),
    Scenario("build with a report and statistics",
             "build docs.jsonl -o st --skip all --report build.html --stats s.json --force", ["st", "build.html"], left=["s.json"]),
]

CORPORA = [
    Scenario("words", "words docs.jsonl -o sp --min-count 1", ["sp"]),
    Scenario("words with vectors, a report and an export",
             "words docs.jsonl -o sp --min-count 1 --measure lsa --vectors 3 --export near.tsv --report r.html --force",
             ["sp", "near.tsv"], ["words others.jsonl -o sp --min-count 1"], left=["r.html"]),
    Scenario("thesaurus of all words", "words docs.jsonl -o sp --min-count 1 --top all", ["sp"]),
    Scenario("dictionary", "dictionary docs.jsonl -o d.dict --force", ["d.dict"], ["dictionary others.jsonl -o d.dict"]),
    Scenario("collocations", "collocations docs.jsonl -o c.tsv --min-both 1 --min-count 1 --force", ["c.tsv"],
             ["collocations others.jsonl -o c.tsv --min-both 1 --min-count 1"]),
    Scenario("signature", "signature docs.jsonl folder -o s.tsv --force", ["s.tsv"], ["signature others.jsonl -o s.tsv"]),
    Scenario("signature of compressed files", "signature docs.jsonl.gz docs.jsonl.bz2 docs.jsonl.xz -o s.tsv", ["s.tsv"]),
    Scenario("build of XML", "build wiki.xml -o st --skip all", ["st"]),
    Scenario("ngrams", "ngrams docs.jsonl -o n.tsv --totals t.tsv --arpa a.arpa --order 2 --force",
             ["n.tsv", "t.tsv", "a.arpa"]),
    Scenario("ngrams of sentences, kneser-ney", "ngrams docs.jsonl others.jsonl --arpa a.arpa.gz --smoothing kneser-ney --sentences "
             "--order 3 --force", ["a.arpa.gz"]),
    Scenario("model", "model a.arpa -o a.model --force", ["a.model"],
             ["ngrams docs.jsonl --arpa a.arpa --order 2", "model a.arpa -o a.model --quantize 4"]),
    Scenario("perplexity", "perplexity a.arpa docs.jsonl -o p.tsv", ["p.tsv"], ["ngrams docs.jsonl --arpa a.arpa --order 2"]),
    Scenario("perplexity of a compact model", "perplexity a.model docs.jsonl -o p.tsv", ["p.tsv"],
             ["ngrams docs.jsonl --arpa a.arpa --order 2", "model a.arpa -o a.model"]),
    Scenario("filter",
             "filter docs.jsonl --rules gopher-repetition.max-top-2-gram,length.min-words=3 --mask emails -o kept.jsonl --removed m.tsv --report r.html --force",
             ["kept.jsonl", "m.tsv", "r.html"], ["filter others.jsonl --rules length.min-words=3 -o kept.jsonl --removed m.tsv"]),
    Scenario("filter makes a folder", "filter docs.jsonl folder --rules length.min-words=3 -o kept/", ["kept"]),
    Scenario("decontaminate",
             "decontaminate docs.jsonl --against others.jsonl --ngram 2 --overlap 0.1 -o kept.jsonl --matches m.tsv --report r.html --force",
             ["kept.jsonl", "m.tsv", "r.html"], ["decontaminate others.jsonl --against docs.jsonl -o kept.jsonl --matches m.tsv"]),
    Scenario("decontaminate makes a folder",
             "decontaminate docs.jsonl folder --against others.jsonl --ngram 2 --overlap 0.1 -o kept/ --matches m.tsv --force",
             ["kept", "m.tsv"]),
]

DEDUPS = [
    Scenario("dedup makes a store", "dedup docs.jsonl --store du -o kept.jsonl --pairs p.tsv --groups g.tsv --force",
             ["du", "kept.jsonl", "p.tsv", "g.tsv"], stores=["du"]),
    Scenario("dedup adds to a store", "dedup others.jsonl --store du -o kept.jsonl --force", ["du", "kept.jsonl"],
             ["dedup docs.jsonl --store du -o kept.jsonl"], stores=["du"]),
    Scenario("dedup lists pairs", "dedup docs.jsonl folder -o kept.jsonl --pairs p.tsv --force", ["kept.jsonl", "p.tsv"]),
    Scenario("dedup makes a folder", "dedup docs.jsonl folder -o kept/", ["kept"]),
    Scenario("dedup of shards goes on", "dedup docs.jsonl others.jsonl folder -o kept/ --resume", ["kept"]),
    Scenario("dedup of bytes makes a folder", "dedup --binary docs.jsonl folder -o kept/", ["kept"]),
    Scenario("dedup by shingles", "dedup docs.jsonl --method shingle -o kept.jsonl --report r.html", ["kept.jsonl", "r.html"]),
    Scenario("dedup of parts", "dedup docs.jsonl folder --level substring --min-length 5 -o kept.jsonl --cuts c.tsv",
             ["kept.jsonl", "c.tsv"]),
    Scenario("dedup of lines", "dedup docs.jsonl --level line --min-length 1 -o kept.jsonl", ["kept.jsonl"]),
    Scenario("dedup of a stream", "dedup --stream", given="docs.jsonl"),
    Scenario("dedup of a stream adds to a store", "dedup --stream --store du", ["du"], ["dedup others.jsonl --store du -o k.jsonl"],
             stores=["du"], given="docs.jsonl"),
]

NUMBERS = [
    Scenario("pagerank", "pagerank graph.tsv -o ranks.tsv.gz --force", ["ranks.tsv.gz"], ["pagerank graph.tsv -o ranks.tsv.gz"]),
    Scenario("pagerank by hits, of a store", "pagerank st --method hits -o ranks.tsv", ["ranks.tsv"], ["build docs.jsonl -o st"]),
    Scenario("spmv", "spmv matrix.mtx -o y.txt", ["y.txt"]),
    Scenario("nearest", "nearest base.fvecs --queries queries.fvecs -k 5 -o found.ibin --force", ["found.ibin", "found.fbin"],
             ["nearest queries.fvecs --queries queries.fvecs -k 1 -o found.ibin"]),
    Scenario("nearest words", "nearest glove.txt --queries glove.txt --metric cosine --names -k 3 -o n.tsv", ["n.tsv"]),
    Scenario("topk", "topk a.list b.list -k all -o best.tsv", ["best.tsv"]),
    Scenario("fuse", "fuse a.run b.run --aggregate rrf -o fused.run.gz", ["fused.run.gz"]),
    Scenario("evaluate", "evaluate qrels a.run b.run --test t -o values.tsv --report e.html", ["values.tsv", "e.html"]),
]

READERS = [
    Scenario("search makes a cache", "search folder word3 -o hits.tsv --force", ["hits.tsv"], left=["cache"]),
    Scenario("search writes hits", "search st word3 -o hits.tsv --force", ["hits.tsv"],
             ["build docs.jsonl -o st", "search st word2 -o hits.tsv"]),
    Scenario("search by topics", "search st --topics topics -o hits.run", ["hits.run"], ["build docs.jsonl -o st"]),
    Scenario("search prints", "search st word3", before=["build docs.jsonl -o st"]),
    Scenario("search a sharded store", "search sh word3", before=["build docs.jsonl -o one --skip all",
             "build others.jsonl -o two --skip all", "merge one two -o sh --sharded"]),
    Scenario("complete", "complete st wor", before=["build docs.jsonl -o st"]),
    Scenario("count", "count st word3 word6", before=["build docs.jsonl -o st"]),
    Scenario("similar", "similar sp word3 -o s.tsv", ["s.tsv"], ["words docs.jsonl -o sp --min-count 1"]),
    Scenario("contexts", "contexts sp word3 -o c.tsv", ["c.tsv"], ["words docs.jsonl -o sp --min-count 1"]),
    Scenario("info", "info st", before=["build docs.jsonl -o st"]),
    Scenario("verify", "verify st", before=["build docs.jsonl -o st"]),
    Scenario("export of an index", "export st --ciff c.ciff --documents docs.tsv --force", ["c.ciff", "docs.tsv"],
             ["build docs.jsonl -o st"]),
    Scenario("export of a model, links and vectors", "export st --arpa a.arpa --graph g.tsv --vectors v.npy --order 2",
             ["a.arpa", "g.tsv", "v.npy"], ["build docs.jsonl -o st --vectors docs.fvecs --skip duplicates"]),
    Scenario("export of a space", "export sp --vectors v.npy --graph g.graphml --words w.tsv", ["v.npy", "g.graphml", "w.tsv"],
             ["words docs.jsonl -o sp --min-count 1 --measure lsa --vectors 3"]),
    Scenario("man", "man build"),
]

CLUSTERS = [
    of_cluster("filter", FILTERED, ["kept.jsonl"]),
    of_cluster("dedup", "dedup docs.jsonl others.jsonl -o kept.jsonl --pairs p.tsv", ["kept.jsonl", "p.tsv"]),
    of_cluster("words", "words docs.jsonl -o sp --min-count 1", ["sp"]),
    of_cluster("ngrams", "ngrams docs.jsonl others.jsonl --totals t.tsv --arpa a.arpa --order 2", ["t.tsv", "a.arpa"]),
    of_cluster("nearest", "nearest base.fvecs --queries queries.fvecs -k 5 -o n.tsv", ["n.tsv"]),
    of_cluster("pagerank", "pagerank graph.tsv -o ranks.tsv --max-iterations 2", ["ranks.tsv"]),
    Scenario("plan", PLAN, left=["job"]),
    Scenario("task", "task job/tasks/0000.json", ["job/results/0000.verdicts"], [PLAN], left=["job"]),
    Scenario("finish", "finish job", ["kept.jsonl"], [PLAN, "task job/tasks/0000.json", "task job/tasks/0001.json"], left=["job"]),
    Scenario("resume", "resume job --cluster local:2", ["kept.jsonl"], [PLAN, "task job/tasks/0000.json"], left=["job"]),
    Scenario("status", "status job", before=[PLAN, "task job/tasks/0000.json"]),
]

SCENARIOS = BUILDS + CORPORA + DEDUPS + NUMBERS + READERS + CLUSTERS
