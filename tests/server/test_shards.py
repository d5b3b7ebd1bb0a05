# SPDX-License-Identifier: Apache-2.0
"""A sharded store of which some shards are searched by other servers: the bytes of one store, and errors that name a shard."""

import contextlib
import http.client
import json
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path
from urllib.parse import urlencode

from running import PATIENCE, QUERN, Server

WORDS = "the mill by a river grinds grain of all who come and takes one tenth for its own salt müll mull mills grian milling café cafe".split()
QUERIES = ["mill", "grain rare3 absent", "+mill -grain", '"river grinds" salt', "mil* -mills", 'title:mill AND (rare1 OR "all who"~4)', "miil~1 grian",
           "grani tenht mull", "the gr", '"the mill by" grain', "cafe müll", "xyzzy"]
OPTIONS = [[], ["--explain"], ["--total", "-k", "50", "--model", "ql"], ["--typos", "2", "--explain", "--model", "dirichlet"],
           ["--filter", "price < 5 OR tags = b", "--total"], ["--fold", "accents", "--typos", "never"], ["--prefix-last", "--typos", "auto", "--explain"],
           ["--count"], ["--dependence", "sdm", "--model", "two-stage", "--explain"], ["-k", "3", "--model", "lucene"],
           ["--sort", "-price,half", "-k", "7"], ["--sort", "day,ready,name", "-k", "200"], ["--facets", "price,half,day,ready,name,tags", "--total"],
           ["--facets", "tags", "--facet-values", "2", "--count"], ["--model", "ql", "--order", "3", "--explain"], ["--title-weight", "0", "--model", "pl2"],
           ["--model", "bm25+", "--typos", "1", "--fold", "accents", "--prefix-last"]]


def corpus(chance, documents):
    lines = []
    for i in range(documents):
        words = [WORDS[int(len(WORDS) * chance.random() ** 2)] for _ in range(chance.randint(1, 40))]
        fields = {"price": chance.randint(-3, 9), "half": chance.randint(0, 4) / 2, "day": f"20{chance.randint(10, 14)}-0{chance.randint(1, 3)}-01",
                  "ready": chance.random() < 0.5, "name": chance.choice(WORDS), "tags": chance.choices("abc", k=chance.randint(1, 3))}
        kept = {name: value for name, value in fields.items() if i < 2 or chance.random() < 0.8}
        lines.append(json.dumps({"id": f"d{i}", "title": f"Title {i % 7} {chance.choice(WORDS)}", "text": " ".join(words) + f" rare{i % 11}.", **kept}) + "\n")
    return lines


def run(*arguments):
    done = subprocess.run([QUERN, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE)
    return done.returncode, done.stdout, done.stderr


def build(source, store):
    code, _, said = run("build", source, "-o", store, "--skip", "all", "--keep-fields", "all", "--quiet")
    assert code == 0, said


class Apart:
    """A store of everything, and the same documents in shards: those `here`, and the others at servers."""

    def __init__(self, folder, seed, shards, here=1, lines=None):
        chance = random.Random(seed)
        folder.mkdir()
        self.whole, self.apart, self.folder = folder / "whole", folder / "apart", folder
        local = set(chance.sample(range(shards), here))
        self.servers, addresses, self.parts, whole = [], [], [], []
        for i in range(shards):
            # The first two documents of each shard have all fields, so that types are equal.
            own = [json.dumps({**json.loads(line), "id": f"{i}-{json.loads(line)['id']}"}) + "\n" for line in (lines[i] if lines else corpus(chance, chance.randint(4, 40)))]
            whole += own
            self.parts.append(folder / f"part{i}")
            (folder / f"part{i}.jsonl").write_text("".join(own))
            build(folder / f"part{i}.jsonl", self.parts[-1])
            addresses.append("-")
            if i not in local:
                self.servers.append(Server("--threads", "2", of=self.parts[-1]))
                addresses[-1] = self.servers[-1].url
        (folder / "whole.jsonl").write_text("".join(whole))
        build(folder / "whole.jsonl", self.whole)
        code, _, said = run("merge", *self.parts, "-o", self.apart, "--sharded", "--at", ",".join(addresses), "--quiet")
        assert code == 0, said

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.end()


class Shards(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="quern-shards-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def same(self, store, *arguments):
        one, other = run("search", store.whole, *arguments, "--quiet"), run("search", store.apart, *arguments, "--quiet")
        self.assertEqual(one[0], 0, (arguments, one))
        self.assertEqual(other, one, arguments)

    def test_the_bytes_of_one_store(self):
        topics = self.folder / "topics.tsv"
        topics.write_text("".join(f"t{i}\t{query}\n" for i, query in enumerate(QUERIES)))
        for shards, here in ((2, 1), (3, 1), (5, 2)):
            with Apart(self.folder / f"{shards}", shards, shards, here) as store:
                for options in OPTIONS if shards == 3 else OPTIONS[shards // 3 :: 3]:
                    self.same(store, "--topics", topics, "--format", "jsonl", *options)
                for name in ("whole", "apart"):
                    code, _, said = run("search", store.folder / name, "--topics", topics, "-k", "100", "--run", store.folder / f"{name}.run")
                    self.assertEqual(code, 0, said)
                self.assertEqual((store.folder / "apart.run").read_bytes(), (store.folder / "whole.run").read_bytes())
                self.same(store, "*", "--format", "jsonl", "--sort", "-half", "--total")
                self.same(store, "xyzzy grian", "--correct", "on", "--typos", "never")
                self.same(store, "mil* salt", "--format", "table")

    def test_a_large_shard_and_words_of_another(self):
        large = [json.dumps({"id": f"d{i}", "text": f"the mill grinds {WORDS[i % 7]} rare{i % 3001}", "price": i % 4000}) + "\n" for i in range(12_000)]
        small = [json.dumps({"id": f"d{i}", "text": f"a {'zither' if i % 2 else 'mill'} by the river {i}", "price": i}) + "\n" for i in range(6)]
        topics = self.folder / "topics.tsv"
        topics.write_text("".join(f"t{i}\t{query}\n" for i, query in enumerate(
            ["zither", "zither mill", "mill -zither", "+zither +river", "zith* rare1", "zither absent", '"zither by" mill', "rare7 zithr"])))
        for name, lines in (("large first", [large, small]), ("small first", [small, large])):
            with Apart(self.folder / name, 1, 2, lines=lines) as store:
                for options in ([], ["--filter", "price = 3999"], ["--filter", "price = 3999", "--typos", "auto", "--explain"], ["--filter", "price = 3", "--total"],
                                ["--filter", "price = 3999", "--count"], ["--filter", "price = 3999", "--sort", "-price"], ["--model", "ql", "--typos", "2"]):
                    self.same(store, "--topics", topics, "--format", "jsonl", *options)

    def test_served(self):
        with Apart(self.folder / "served", 7, 3) as store, Server("--threads", "2", of=[store.whole, store.apart]) as server:
            for path, parameters in (("search", {"q": "grian mil", "parts": 1, "total": 1}), ("search", {"q": "mi", "prefix_last": 1, "parts": 1}),
                                     ("search", {"q": "mil* -salt", "parts": 1, "k": 3, "offset": 2}), ("documents", {"id": "1-d0", "q": "mill grain"}),
                                     ("documents", {"id": "2-d3"}), ("documents", {"id": "none"}), ("search", {"q": "xyzzy gran", "correct": 1}),
                                     ("search", {"q": "mill", "facets": "tags,price", "sort": "day"}), ("documents", {"id": "0-d0", "q": "mil*"})):
                one, other = (json.loads(server.get(f"/api/{path}?" + urlencode({**parameters, "store": name}))[2]) for name in ("whole", "apart"))
                for body in (one, other):
                    body.pop("seconds", None)
                self.assertEqual(other, one, (path, parameters))
            one, other = (server.json("/api/store", store=name) for name in ("whole", "apart"))
            for name in ("documents", "words", "vocabulary", "postings", "fields"):
                self.assertEqual(other[name], one[name])
            for path in ("complete?q=m", "statistics?words=3"):
                status, _, body = server.get(f"/api/{path}&store=apart")
                self.assertEqual(status, 400, body)
                self.assertIn("needs all shards on this machine", body)
            accepted = [shard.metric("quern_http_connections_total") for shard in store.servers]
            for _ in range(20):
                server.json("/api/search", q="mill grain", store="apart")
            for shard, before in zip(store.servers, accepted):
                self.assertLess(shard.metric("quern_http_connections_total") - before, 5, "connections are not kept")

    def test_a_shard_that_ends_and_comes_back(self):
        with Apart(self.folder / "ends", 3, 3) as store, Server("--threads", "2", of=store.apart) as server:
            expected = server.json("/api/search", q="mill")["hits"]
            gone = store.servers[0]
            gone.end(signal.SIGKILL)
            status, _, body = server.get("/api/search?q=mill")
            self.assertEqual(status, 503, body)
            self.assertIn(f"{gone.url}: the server of this shard cannot be asked: Connection refused", json.loads(body)["detail"])
            code, out, said = run("search", store.apart, "mill")
            self.assertEqual((code, out), (4, ""), said)
            self.assertIn(f"{gone.url}: the server of this shard cannot be asked", said)
            (self.folder / "other.jsonl").write_text('{"id":"x","text":"a mill"}\n')
            build(self.folder / "other.jsonl", self.folder / "other")
            with Server(port=gone.port, of=self.folder / "other"):
                code, out, said = run("search", store.apart, "mill")
                self.assertEqual((code, out), (4, ""), said)
                self.assertIn(f"{gone.url}: this server does not have the shard", said)
            # One of several stores of a server is found by its checksum.
            with Server(port=gone.port, of=[self.folder / "other", *store.parts]):
                self.assertEqual(server.json("/api/search", q="mill")["hits"], expected)

    def test_servers_that_are_slow_or_answer_anything(self):
        long = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"
        with Apart(self.folder / "slow", 5, 2) as store:
            gone = store.servers[0]
            gone.end()
            for answer, said in ((None, "has not answered within 0.75 seconds"), (b"SSH-2.0\r\n", "cannot be asked"), (b"", "cannot be asked"),
                                 (long, "cannot be asked"), (long.replace(b"99999999999", b"9"), "has not answered within 0.75 seconds"),
                                 (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "is not understood"),
                                 (b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n[1,[]]", "is not understood"),
                                 (answer_of([[["mill", [[10**6, 10**6], False, False]]], []]), "is not understood"), (answer_of([[["mill", [[9, 5], False, False]]], []]), "is not understood"),
                                 (answer_of([[["other", [[0, 0], False, False]]], []]), "is not understood"),
                                 (b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", "status 404")):
                with Pretender(gone.port, answer), Server("--max-seconds", "1", of=store.apart) as server:
                    start = time.monotonic()
                    status, _, body = server.get("/api/search?q=mill")
                    self.assertEqual(status, 503, body)
                    self.assertIn(gone.url, body)
                    self.assertIn(said, body)
                    self.assertLess(time.monotonic() - start, PATIENCE / 4)

    def test_answers_that_no_shard_gives(self):
        mill = [[["mill", [[1, 1], False, False]]], []]

        def hit(fields="", snippet="", names=("d", "t")):
            return {"hits": [[1, 1.0, snippet, 0, [], fields]], "names": names}

        def facet(microseconds):
            return {"facets": [[1, [[microseconds, 1]]]], "total": 1}

        not_utf8 = "\u00c3"  # as one byte
        with Apart(self.folder / "false", 5, 2) as store:
            gone = store.servers[0]
            gone.end()
            server = self.enterContext(Server("--max-seconds", "9", of=store.apart))
            for parts, expected in ((hit('{"a":1}'), 200), (hit('{"a":1'), 503), (hit("[1]"), 503), (hit("{},{}"), 503), (hit(snippet=not_utf8), 503),
                                    (hit(names=["d", not_utf8]), 503), ({"variant_words": [not_utf8]}, 503), ({"suggestions": [[[not_utf8, 1, 1, 1]]]}, 503),
                                    ({"document": ["d", "t", "", 0, "{}}"]}, 503), (facet(0), 200), (facet(-(2**63)), 503), (facet(2**62), 503)):
                with Pretender(gone.port, answer_of(mill, **{"total": 0, "facets": [[0, []]], **parts})):
                    status, _, body = server.get("/api/search?q=mill&facets=day&total=1")
                    self.assertEqual(status, expected, (parts, body))
                    if expected == 503:
                        self.assertIn(f"{gone.url}: the answer of this shard's server is not understood", body)

    def test_steps_that_no_broker_sends(self):
        with Server() as server:
            for body in ("", "{}", "[1]", "[1,[]]", "[2,[]]", "[" * 100_000, "[1," + "[" * 100_000, '[1,[9,0,"",{},[0,0],[[],[]],[],[],[],[],0]]',
                         '[1,[0,-1,"",{},[0,0],[[],[]],[],[],[],[],0]]', '[1,[0,0,"€",{},[0,0],[[],[]],[],[],[],[],0]]',
                         '[1,[0,0,"",{"k":1e300},[0,0],[[],[]],[],[],[],[],0]]', '[1,[0,0,"",{"nothing":1},[0,0],[[],[]],[],[],[],[],0]]'):
                status, _, answer = server.post("/api/shard", body.encode())
                self.assertEqual(status, 400, (body[:80], answer))
                self.assertIn("this step of a query", answer)
            step = '[1,[5,0,"d0",{},[0,0],[[],[]],[],[],[],[],0]]'
            self.assertEqual(server.post("/api/shard", step)[0], 409)
            status, _, answer = server.post("/api/shard", step[:-1] + ',"0.1-other"]')
            self.assertEqual(status, 409)
            self.assertRegex(answer, r"this server runs Quern \S+, but the step of a query is from Quern 0.1-other")
            self.assertEqual(server.post("/api/shard", step, "text/plain")[0], 415)
            self.assertEqual(server.post("/api/shard", step, headers={"Origin": "http://elsewhere"})[0], 403)
            self.assertEqual(server.get("/api/shard")[0], 405)

    def test_counts_that_cannot_be(self):
        with Apart(self.folder / "counts", 2, 2) as store:
            shard = store.servers[0]
            checksum = next(of["checksum"] for of in json.loads((store.apart / "shards.json").read_text())["shards"] if "url" in of)
            known = [["mill", [[5, 9], False, False]]]
            whole = [200, 9000]

            def step(kind, collection=whole, vocabulary=known, counts=(), bounds=(), options=None, query="mill", shown=(), ranks=()):
                return shard.post("/api/shard", json.dumps([1, [kind, int(checksum, 16), query, options or {}, collection, [vocabulary, []], counts, bounds,
                                                                shown, ranks, 0]]))

            self.assertEqual(step(0)[0], 200)
            self.assertEqual(step(0, vocabulary=[[f"w{i}", [[0, 0], False, False]] for i in range(5000)])[0], 400)
            self.assertEqual(step(3, counts=[[50, 900]], vocabulary=[["mill", [[50, 900], False, False]]])[0], 200)
            for arguments in ({"collection": [1, 1]}, {"collection": [2**63, 2**63]}, {"counts": []}, {"counts": [[0, 0]]}, {"counts": [[50, 20]]},
                              {"counts": [[300, 900]]}, {"vocabulary": [["mill", [[9, 5], False, False]]]}, {"bounds": [[[1, 2], None]]},
                              {"options": {"k": 5000}}, {"options": {"prior": 1}}, {"query": "x" * 3000}, {"shown": [[0, 0]]}):
                status, _, answer = step(3, **{"counts": [[50, 900]], "vocabulary": [["mill", [[50, 900], False, False]]], **arguments})
                self.assertEqual(status, 400, (arguments, answer))
            self.assertEqual(step(4, counts=[[50, 900]], shown=[[4_000_000, 0]], ranks=[1])[0], 400)
            # 23 phrases, explained for 1,000 documents.
            phrases = " ".join(f'"{" ".join(["mill"] * n)}"' for n in range(2, 25))
            more = {"query": phrases, "vocabulary": [["mill", [[50, 900], False, False]]]}
            status, _, answer = step(1, **more)
            self.assertEqual(status, 200, answer)
            status, _, answer = step(4, counts=json.loads(answer)[1][1], shown=[[0, 0]] * 1000, ranks=[1] * 1000, options={"explain": True}, **more)
            self.assertEqual(status, 400)
            self.assertIn("the server of a shard explains at most", answer)
            # What the shard refuses names it.
            code, _, said = run("search", store.apart, "mill", "-k", "5000")
            self.assertEqual(code, 2, said)
            self.assertIn(f"{shard.url}: the server of a shard gives at most 1000 results", said)

    def test_addresses(self):
        (self.folder / "a.jsonl").write_text('{"id":"a","text":"mill"}\n')
        (self.folder / "b.jsonl").write_text('{"id":"b","text":"mill"}\n')
        for name in "ab":
            build(self.folder / f"{name}.jsonl", self.folder / name)
        for addresses, expected in (("http://h:1", "1 addresses of servers for 2 stores"), ("http://h:1,http://h:2", "expected one on this machine"),
                                    ("-,h:1", "h:1: not the address of a server"), ("-,https://h", "not the address of a server"), ("-,http://", "not the address")):
            code, _, said = run("merge", self.folder / "a", self.folder / "b", "-o", self.folder / "c", "--sharded", "--at", addresses)
            self.assertEqual(code, 2, said)
            self.assertIn(expected, said)
        code, _, said = run("merge", self.folder / "a", self.folder / "b", "-o", self.folder / "c", "--at", "-,http://h:1")
        self.assertEqual(code, 2, said)
        code, _, said = run("merge", self.folder / "a", self.folder / "b", "-o", self.folder / "c", "--sharded", "--at", "-,http://h:1", "--quiet")
        self.assertEqual(code, 0, said)
        self.assertIn("http://h:1", run("info", self.folder / "c")[1])
        self.assertEqual(run("verify", self.folder / "c", "--quiet")[0], 0)
        code, _, said = run("count", self.folder / "c", "mill")
        self.assertEqual(code, 2, said)
        self.assertIn("need all shards on this machine", said)


def answer_of(vocabulary, facets=(), total=None, variant_words=(), suggestions=(), hits=(), names=(), document=None):
    body = json.dumps([1, [vocabulary, [], [], [], [], facets, total, [], variant_words, suggestions, hits, names, None, document]]).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body


class Pretender:
    """Accepts connections on a port, and answers each request with the same bytes; None: never. An empty answer closes."""

    def __init__(self, port, answer):
        self.answer, self.kept = answer, []
        self.socket = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                connection = self.socket.accept()[0]
            except OSError:
                return
            if self.answer is None or self.answer:
                self.kept.append(connection)
            if self.answer:
                threading.Thread(target=self.reply, args=(connection,), daemon=True).start()
            elif self.answer is not None:
                connection.close()

    def reply(self, connection):
        try:
            sent = connection.makefile("rb")
            while sent.readline():  # of the request; its header follows
                sent.read(int(http.client.parse_headers(sent)["Content-Length"]))
                connection.sendall(self.answer)
        except OSError:  # the other side, or the test, has ended
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        for connection in self.kept:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()


if __name__ == "__main__":
    unittest.main()
