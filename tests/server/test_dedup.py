# SPDX-License-Identifier: Apache-2.0
"""Near-duplicates over HTTP: the answers of `quern dedup --stream` in the order of arrival, whatever the clients; what a store
keeps when the server ends; what is refused."""

import http.client
import itertools
import json
import random
import signal
import subprocess
import threading
import unittest

from running import PATIENCE, QUERN, Server, folder, read_answer, store, until
from test_api import conforms

LINES = "application/x-ndjson"
numbers = itertools.count()


def made_documents(count, seed):
    """Texts of several families with few edits, chains, equal and empty ones, every script, each id once."""
    chance = random.Random(seed)
    words = ["mill", "stone", "grain", "flour", "Mühle", "κόκκος", "粉", "\u0000", "\"quoted\"", "a\\b", "\ud83c\udf3e".encode("utf-16", "surrogatepass").decode("utf-16")]
    texts = []
    for i in range(count):
        if texts and chance.random() < 0.7:
            text = list(chance.choice(texts[-40:]))
            for _ in range(chance.randint(0, max(1, len(text) // 25))):
                if text:
                    text[chance.randrange(len(text))] = chance.choice("abcxyz é")
            text = "".join(text)
        else:
            text = " ".join(chance.choice(words) + str(chance.randrange(50)) for _ in range(chance.choice((0, 1, 20, 60, 200))))
        texts.append(text)
    return [{"id": f"d{seed}-{i}", "text": text} for i, text in enumerate(texts)]


def lines_of(documents):
    return "".join(json.dumps(document) + "\n" for document in documents)


def streamed(documents, *options, state=None):
    """The rows of dedup --stream over the documents, in this order."""
    state = state or folder() / f"stream-{next(numbers)}"
    done = subprocess.run([QUERN, "dedup", "--stream", "--format", "jsonl", "--quiet", "--store", state, "--max-errors", "100%", *options],
                          input=lines_of(documents), capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def without_position(answer):
    return {name: value for name, value in answer.items() if name not in ("position", "error")}


def fresh():
    return folder() / f"seen-{next(numbers)}"


class Dedup(unittest.TestCase):
    def serve(self, state, *options, of=""):
        server = Server("--dedup", str(state), *options, of=of)
        self.addCleanup(server.end)
        return server

    def sent(self, server, documents, parameters=""):
        status, headers, body = server.post("/api/dedup" + parameters, lines_of(documents), LINES)
        self.assertEqual((status, headers["Content-Type"]), (200, LINES), body)
        return [json.loads(line) for line in body.splitlines()]

    def test_rows_are_those_of_the_stream_one_by_one_and_in_lines(self):
        documents = made_documents(300, 1)
        for options in ((), ("--threshold", "0.2"), ("--unit", "char"), ("--rule", "connected")):
            expected = streamed(documents, *options)
            self.assertGreater(sum(row["duplicates"] > 0 for row in expected), 50)
            server = self.serve(fresh(), *options)
            self.assertEqual([without_position(row) for row in self.sent(server, documents)], expected)
            server.end()
        server, answers = self.serve(fresh()), []
        for document in documents:
            status, headers, body = server.post("/api/dedup", json.dumps(document, indent=1))
            self.assertEqual((status, headers["Content-Type"], headers["Cache-Control"]), (200, "application/json", "no-store"))
            answers.append(json.loads(body))
        self.assertEqual([without_position(row) for row in answers], streamed(documents))
        self.assertEqual([row["position"] for row in answers], list(range(300)))

    def test_concurrent_clients_get_the_answers_of_their_order(self):
        documents = made_documents(600, 2)
        state = fresh()
        server = self.serve(state, "--threads", "4", of=store())
        queue, answers, lock, failures = list(documents), {}, threading.Lock(), []

        def client(number):
            connection = http.client.HTTPConnection(server.host, server.port, timeout=PATIENCE)
            try:
                while True:
                    with lock:
                        batch = [queue.pop(0) for _ in range(min(len(queue), number % 3 * 4 + 1))]
                    if not batch:
                        return
                    connection.request("POST", "/api/dedup", lines_of(batch), {"Content-Type": LINES})
                    response = connection.getresponse()
                    rows = [json.loads(line) for line in response.read().splitlines()]
                    self.assertEqual(response.status, 200)
                    positions = [row["position"] for row in rows]
                    self.assertEqual(positions, list(range(positions[0], positions[0] + len(batch))))  # one request is not divided
                    with lock:
                        answers.update((row["position"], row) for row in rows)
                    if number % 2:  # searches and questions between
                        connection.request("GET", "/api/search?q=grain")
                        self.assertEqual(connection.getresponse().read()[:1], b"{")
                        connection.request("POST", "/api/dedup?add=0", json.dumps(batch[0]), {"Content-Type": "application/json"})
                        asked = json.loads(connection.getresponse().read())
                        self.assertIsNone(asked["position"])
                        self.assertEqual((asked["id"], asked["distance"] == 0 or asked["duplicates"] > 0), (batch[0]["id"], True))
            except Exception as failure:
                failures.append(failure)
            finally:
                connection.close()

        clients = [threading.Thread(target=client, args=(n,)) for n in range(12)]
        for each in clients:
            each.start()
        for each in clients:
            each.join()
        self.assertEqual(failures, [])
        self.assertEqual(sorted(answers), list(range(600)))
        by_id = {document["id"]: document for document in documents}
        in_order = [by_id[answers[position]["id"]] for position in range(600)]
        self.assertEqual([without_position(answers[position]) for position in range(600)], streamed(in_order))
        self.assertEqual(server.metric("quern_dedup_documents"), 600)
        # The store is that of the stream: the same command goes on with it.
        code, said = server.end()
        self.assertEqual(code, 143, said)
        other = fresh()
        streamed(in_order, state=other)
        more = made_documents(100, 3) + in_order[:50]
        self.assertEqual(streamed(more, state=state), streamed(more, state=other))
        subprocess.run([QUERN, "verify", state, "--quiet"], check=True, capture_output=True)

    def test_asking_adds_nothing(self):
        documents = made_documents(40, 4)
        server = self.serve(fresh())
        added = self.sent(server, documents)
        for document, row in zip(documents, added):
            asked = self.sent(server, [document], "?add=false")[0]
            # Those that stay are their own nearest ones, or equal to an earlier one.
            self.assertEqual(asked["position"], None)
            if row["duplicates"] == 0:
                self.assertEqual((asked["nearest"], asked["distance"]), (document["id"], 0))
            else:
                self.assertLessEqual(asked["rate"], row["rate"])  # a later one may be nearer
        status, _, body = server.post("/api/dedup?add=0", json.dumps({"text": documents[0]["text"]}))
        self.assertEqual((status, json.loads(body)["id"]), (200, None))
        self.assertEqual(server.metric("quern_dedup_documents"), 40)
        self.assertEqual(server.metric("quern_dedup_only_compared_total"), 41)

    def test_a_store_goes_on_after_a_restart_and_knows_its_documents(self):
        documents, state = made_documents(60, 5), fresh()
        server = self.serve(state)
        first = self.sent(server, documents[:30])
        self.assertEqual(server.end()[0], 143)
        server = self.serve(state)
        again = self.sent(server, documents[:30])
        self.assertEqual([row["position"] for row in again], list(range(30)))  # not added twice
        self.assertEqual([without_position(row) for row in again], [without_position(row) for row in first])
        rest = self.sent(server, documents[30:])
        self.assertEqual([without_position(row) for row in first + rest], streamed(documents))
        self.assertEqual(server.metric("quern_dedup_documents"), 60)
        busy = subprocess.run([QUERN, "serve", "--dedup", state, "--port", "0"], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(busy.returncode, 2, busy.stderr)
        self.assertEqual(server.end()[0], 143)
        other = subprocess.run([QUERN, "serve", "--dedup", state, "--port", "0", "--threshold", "0.3"], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((other.returncode, "threshold" in other.stderr), (2, True), other.stderr)

    def test_what_was_committed_survives_the_end_of_the_process(self):
        documents, state = made_documents(30, 6), fresh()
        server = self.serve(state, "--commit-seconds", "3600")
        self.sent(server, documents[:10])
        self.assertEqual(server.metric("quern_dedup_uncommitted_documents"), 10)
        self.sent(server, documents[10:20], "?commit=1")
        self.assertEqual(server.metric("quern_dedup_uncommitted_documents"), 0)
        self.sent(server, documents[20:])
        server.end(signal.SIGKILL)
        server = self.serve(state, "--commit-seconds", "0.01")
        self.assertEqual(server.metric("quern_dedup_documents"), 20)
        self.assertEqual([without_position(row) for row in self.sent(server, documents[20:])], streamed(documents)[20:])
        until(lambda: server.metric("quern_dedup_uncommitted_documents") == 0)
        server.end(signal.SIGKILL)
        server = self.serve(state)
        self.assertEqual(server.metric("quern_dedup_documents"), 30)

    def test_lines_that_are_no_documents(self):
        server = self.serve(fresh())
        body = '{"id":"a","text":"x"}\n\n  \r\nno JSON\n{"id":"a","text":"y"}\n[1]\n{"id":"b"}\n{"id":7,"text":"z"}\r\n{"text":"without an id"}\n{"id":"last","text":"no end"}'
        status, _, answer = server.post("/api/dedup", body.encode() + b'\n{"id":"bad","text":"\xff"}', LINES)
        self.assertEqual(status, 200)
        rows = [json.loads(line) for line in answer.splitlines()]
        schemas = server.json("/openapi.json")["components"]["schemas"]
        for row in rows:
            conforms(row, schemas["DedupAnswer"], schemas)
        self.assertEqual([row["id"] for row in rows if "error" not in row][:2], ["a", "7"])
        self.assertEqual([row["position"] for row in rows if "error" not in row], [0, 1, 2, 3])
        errors = [row["error"] for row in rows if "error" in row]
        self.assertEqual(len(errors), 5)
        self.assertEqual(errors[1], 'duplicate id "a"')
        self.assertEqual(server.metric("quern_dedup_rejected_total"), 5)
        for sent, status in (("", 400), ("   ", 400), ("no", 400), ("[]", 400), ('{"id":"x"}', 400), ('{"id":"a","text":"other"}', 409), ('{"id":"x","text":"a"}{}', 400)):
            got, headers, answer = server.post("/api/dedup", sent)
            self.assertEqual((got, headers["Content-Type"]), (status, "application/problem+json"), (sent, answer))
            conforms(json.loads(answer), schemas["Problem"], schemas)
        self.assertEqual(server.post("/api/dedup", "", LINES)[0::2], (200, ""))

    def test_what_is_refused(self):
        server = self.serve(fresh(), "--max-body", "64K")
        for target, kind, headers, status in (
            ("/api/dedup", "text/plain", {}, 415), ("/api/dedup", "application/x-www-form-urlencoded", {}, 415), ("/api/dedup", "", {}, 415),
            ("/api/dedup?add=2", "application/json", {}, 400), ("/api/dedup?x=1", "application/json", {}, 400), ("/api/dedup?add=1&add=1", "application/json", {}, 400),
            ("/api/dedup?add=0&commit=1", "application/json", {}, 400), ("/api/dedup", "application/json", {"Host": "evil.example"}, 421),
            ("/healthz", "application/json", {}, 413), ("/api/search", "application/json", {}, 413), ("/nothing", "application/json", {}, 413)):
            got, _, body = server.post(target, '{"id":"a","text":"a"}', kind, headers)
            self.assertEqual(got, status, (target, kind, body))
        self.assertEqual(server.post("/api/dedup", '{"id":"a","text":"a"}', "Application/JSON; charset=utf-8")[0], 200)
        got, headers, _ = server.get("/api/dedup")
        self.assertEqual((got, headers["Allow"]), (405, "POST"))
        for path in ("/", "/app.js", "/api/search?q=a", "/api/store", "/api/documents/a"):
            self.assertEqual(server.get(path)[0], 404, path)
        self.assertEqual(server.json("/healthz"), {"status": "ok"})
        with Server() as other:
            self.assertEqual(other.post("/api/dedup", "{}")[0], 413)
            self.assertEqual(other.get("/api/dedup")[0], 404)
        for arguments, reason in (([], "STORE|CORPUS or --dedup is required"), ([store(), "--threshold", "0.1"], "--threshold requires --dedup"),
                                  (["--dedup", store()], "not a store of quern dedup")):
            refused = subprocess.run([QUERN, "serve", *arguments, "--port", "0"], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual((refused.returncode, reason in refused.stderr), (2, True), (arguments, refused.stderr))

    def test_long_bodies(self):
        server = self.serve(fresh(), "--max-body", "64K")
        host = b"Host: localhost\r\nContent-Type: application/json\r\n"
        document = json.dumps({"id": "a", "text": "x" * 60_000}).encode()

        def status_of(sent):
            return int(server.raw(sent).split(b" ", 2)[1])

        def chunked(body):
            return b"".join(b"%x\r\n%s\r\n" % (len(body[i:i + 1000]), body[i:i + 1000]) for i in range(0, len(body), 1000)) + b"0\r\n\r\n"

        post = b"POST /api/dedup?add=0 HTTP/1.1\r\n" + host
        self.assertEqual(status_of(post + b"Content-Length: %d\r\n\r\n" % len(document) + document), 200)
        self.assertEqual(status_of(post + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(document)), 200)
        self.assertEqual(status_of(post + b"Content-Length: 65537\r\n\r\n" + b"x" * 65537), 413)
        self.assertEqual(status_of(post + b"Content-Length: 99999999999999\r\n\r\n"), 413)
        self.assertEqual(status_of(post + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(b" " * 70_000)), 413)
        self.assertEqual(status_of(post + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"), 400)
        self.assertEqual(status_of(post + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"), 400)
        self.assertEqual(server.raw(post + b"Content-Length: 100\r\n\r\n{"), b"")  # the client left in the middle
        with server.connect() as connection:  # waits for 100 Continue, and the connection goes on
            for _ in range(2):
                connection.sendall(post + b"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n" % len(document))
                self.assertEqual(connection.recv(1000), b"HTTP/1.1 100 Continue\r\n\r\n")
                connection.sendall(document)
                self.assertIn(b" 200 OK", read_answer(connection).partition(b"\r\n")[0])
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" + post + b"Content-Length: %d\r\n\r\n" % len(document) + document)
            received = b""
            while received.count(b" 200 OK") < 2:
                received += connection.recv(65536)
        self.assertEqual(server.post("/api/dedup", "\n" * 10_001, LINES)[0], 413)
        until(lambda: server.metric("quern_http_request_body_bytes") == 0)

    def test_memory_of_documents_ends_adding_and_not_asking(self):
        server = self.serve(fresh(), "--memory", "64M")
        sent = status = 0
        while status != 507 and sent < 1_000_000:
            lines = "".join('{"id":"%s%d","text":"%d"}\n' % ("x" * 1000, n, n) for n in range(sent, sent + 2000))
            status, _, body = server.post("/api/dedup", lines, LINES)
            self.assertIn(status, (200, 507), body)
            sent += 2000
        self.assertEqual(status, 507)
        self.assertLess(server.metric("quern_dedup_memory_bytes"), 40 << 20)
        documents = server.metric("quern_dedup_documents")
        self.assertEqual(server.post("/api/dedup", '{"id":"one more","text":"a"}')[0], 507)
        self.assertEqual(server.post("/api/dedup?add=0", '{"text":"a"}')[0], 200)
        self.assertEqual(server.metric("quern_dedup_documents"), documents)
        self.assertEqual(server.end()[0], 143)

    def test_a_failure_while_adding_ends_the_service(self):
        state, tmp = fresh(), fresh()
        tmp.mkdir()
        process = subprocess.Popen(["bash", "-c", 'ulimit -f 100; exec "$@"', "-", QUERN, "serve", "--dedup", state, "--port", "0", "--tmp", tmp],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # files of at most 100 KiB
        self.addCleanup(process.kill)
        server = Server.__new__(Server)
        server.process, url = process, process.stdout.readline().strip()
        server.host, server.port = "127.0.0.1", int(url.rstrip("/").rpartition(":")[2])
        answers = [server.post("/api/dedup", json.dumps({"id": i, "text": f"{i} " * 10_000})) for i in range(8)]
        statuses = [status for status, _, _ in answers]
        failed = statuses.index(500)
        self.assertEqual(statuses, [200] * failed + [500] + [503] * (7 - failed))
        for _, _, body in answers[failed:]:
            self.assertNotIn(str(folder()), body)
            self.assertEqual(set(json.loads(body)), {"type", "title", "status", "detail"})
        self.assertEqual(server.post("/api/dedup?add=0", '{"text":"a"}')[0], 503)
        self.assertEqual(server.json("/healthz"), {"status": "ok"})
        code, said = server.end()
        self.assertEqual((code, "File too large" in said), (4, True), said)

    def test_the_description(self):
        server = self.serve(fresh(), of=store())
        api = server.json("/openapi.json")
        described = api["paths"]["/api/dedup"]["post"]
        self.assertEqual({p["name"] for p in described["parameters"]}, {"add", "commit"})
        _, _, body = server.post("/api/dedup", '{"id":"a","text":"a"}')
        conforms(json.loads(body), api["components"]["schemas"]["DedupAnswer"], api["components"]["schemas"])
        for parameter in described["parameters"]:
            status, _, body = server.post(f"/api/dedup?{parameter['name']}={parameter['example']}", '{"id":"%s","text":"b"}' % parameter["name"])
            self.assertEqual(status, 200, body)
        self.assertIn("/api/dedup", server.get("/metrics")[2])
        self.assertEqual(server.json("/api/store")["documents"], server.metric("quern_store_documents"))


if __name__ == "__main__":
    unittest.main()
