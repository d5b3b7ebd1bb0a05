# SPDX-License-Identifier: Apache-2.0
"""Clients that are broken, slow, many or malicious: every one gets an answer or is closed, and the others notice nothing."""

import json
import os
import random
import re
import resource
import select
import signal
import socket
import subprocess
import threading
import time
import unittest
from pathlib import Path
from urllib.parse import unquote_plus

from running import INTERIM, PATIENCE, QUERN, Server, ended_in_order, folder, is_whole, read_answer, store, until


def status_of(answer):
    """The status of the first answer; 0 where the server closed without one."""
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.") else 0


def request(target="/healthz", *headers, method="GET", version="HTTP/1.1", host="Host: localhost"):
    lines = [f"{method} {target} {version}", *([host] if host else []), *headers, "", ""]
    return "\r\n".join(lines).encode()


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--threads", "2")

    @classmethod
    def tearDownClass(cls):
        code, said = cls.server.end()
        assert code == 143, (code, said)

    def tearDown(self):
        self.assertEqual(self.server.json("/healthz"), {"status": "ok"})

    def test_what_is_no_request(self):
        for sent, allowed in (
            (b"", {0}),
            (b"\r\n\r\n", {0, 400}),
            (b"\r\n" + request(), {200}),  # an empty line in front: RFC 9112, section 2.2
            (b"G", {0}),
            (b"GET", {0}),
            (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", {0}),  # the client left in the middle
            (b"GET /healthz\r\n\r\n", {400}),  # HTTP/0.9
            (b"GET / HTTP/0.9\r\n\r\n", {505}),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {505}),
            (b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", {505}),
            (b"GET / HTTP/1.1 \r\nHost: localhost\r\n\r\n", {400}),
            (b"GET  / HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
            (b"GET / /x HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
            (b"GET /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
            (b"GET / HTTP/1.1\nHost: localhost\n\n", {400}),  # lines end with CR LF here, so that no proxy sees other lines
            (b"GET / HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n", {400}),
            (b"GET / HTTP/1.1\r\nHost: localhost\r\n\n", {0, 400}),
            (b"GET / HTTP/1.1\rHost: localhost\r\r", {400}),
            (b"GET / http/1.1\r\nHost: localhost\r\n\r\n", {400}),
            (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64) + b"\r\n\r\n", {400}),  # TLS
            (bytes(range(256)) * 16 + b"\r\n\r\n", {400}),
            (b"GET / HTTP/1.1\r\nHost: localhost\r\nBad Name: x\r\n\r\n", {400}),
            (b"GET / HTTP/1.1\r\nHost: localhost\r\nName : x\r\n\r\n", {200, 400}),
            (b"GET / HTTP/1.1\r\nHost: localhost\r\nName: a\x00b\r\n\r\n", {400}),
            (b"GET / HTTP/1.1\r\nHost: localhost\r\nName\r\n\r\n", {400}),
            (request("*"), {400}),
            (request("localhost:80", method="CONNECT"), {405}),
            (request("search"), {400}),
        ):
            with self.subTest(sent=sent[:60]):
                self.assertIn(status_of(self.server.raw(sent)), allowed)

    def test_long_lines_and_headers(self):
        self.assertEqual(status_of(self.server.raw(request("/" + "x" * 9000))), 414)
        self.assertEqual(status_of(self.server.raw(b"GET /" + b"x" * 300_000, close=False)), 414)
        self.assertEqual(status_of(self.server.raw(request("/healthz", "X: " + "x" * 9000))), 431)
        self.assertEqual(status_of(self.server.raw(request("/healthz", *[f"X{i}: y" for i in range(2000)]))), 431)
        self.assertEqual(status_of(self.server.raw(request("/healthz", "X: " + "x" * 7000))), 200)
        self.assertEqual(status_of(self.server.raw(request("/api/search?q=" + "%61" * 2048))), 200)

    def test_a_refused_head_has_no_body(self):
        for sent, status in ((request("/" + "x" * 9000, method="HEAD"), 414), (request("/healthz", "X: " + "x" * 9000, method="HEAD"), 431),
                             (request("/healthz", "Bad Name: x", method="HEAD"), 400), (request(version="HTTP/9.9", method="HEAD"), 505)):
            answer = self.server.raw(sent)
            self.assertEqual(status_of(answer), status)
            self.assertTrue(answer.endswith(b"\r\n\r\n"), answer)
            self.assertIn(b"Content-Length: ", answer)

    def test_bodies_are_refused(self):
        for method in ("GET", "POST", "HEAD"):
            for sent in (
                request("/healthz", "Content-Length: 5", method=method) + b"hello",
                request("/healthz", "Content-Length: 999999999999", method=method) + b"x" * 100_000,
                request("/healthz", "Transfer-Encoding: chunked", method=method) + b"5\r\nhello\r\n0\r\n\r\n",
                request("/healthz", "Transfer-Encoding: chunked", method=method) + b"ffffffffffffffff\r\n",
            ):
                answer = self.server.raw(sent)
                self.assertEqual(status_of(answer), 413, sent[:80])
                self.assertIn(b"Connection: close", answer)
                self.assertEqual(len(re.findall(rb"HTTP/1\.1 \d", answer)), 1)  # what follows is no second request
        for bad in ("Content-Length: -1", "Content-Length: x", "Content-Length: 1\r\nContent-Length: 2", "Content-Length: 18446744073709551617",
                    "Content-Length: 0\r\nTransfer-Encoding: chunked"):
            self.assertIn(status_of(self.server.raw(request("/healthz", bad))), {400, 413}, bad)
        self.assertEqual(status_of(self.server.raw(request("/healthz", "Content-Length: 0"))), 200)

    def test_the_only_transfer_encoding_is_chunked(self):
        second = request("/api/store")  # what a lax proxy takes for the body is no second request
        for status, *headers in ((501, "Transfer-Encoding: xchunked"), (501, "Transfer-Encoding: identity"), (501, "Transfer-Encoding: gzip"),
                                 (501, "Transfer-Encoding: gzip, chunked"), (501, "Transfer-Encoding: chunked, identity"),
                                 (501, "transfer-encoding:\tchunked;x=y"), (501, "Transfer-Encoding:"),
                                 (400, "Transfer-Encoding: identity", "Transfer-Encoding: chunked"), (400, "Transfer-Encoding: x", "Content-Length: 4"),
                                 (400, "Content-Length: 4", "Transfer-Encoding: x"), (400, "Content-Length: 0", "Transfer-Encoding: chunked")):
            with self.subTest(headers=headers):
                answer = self.server.raw(request("/healthz", *headers) + second)
                self.assertEqual(status_of(answer), status)
                self.assertIn(b"Connection: close", answer)
                self.assertEqual(len(re.findall(rb"HTTP/1\.1 \d", answer)), 1)
        answer = self.server.raw(request("/healthz", "Transfer-Encoding: identity", version="HTTP/1.0"))
        self.assertEqual(status_of(answer), 400)

    def test_many_short_fields_count_as_one_header(self):
        for bytes_, status in ((400, 200), (9_000, 431), (20_000, 431), (100_000, 431), (1_000_000, 431)):
            with self.subTest(bytes=bytes_):
                self.assertEqual(status_of(self.server.raw(request("/healthz", *["a:b"] * (bytes_ // 5)))), status)
        for wait in (0, 0.001):  # however the pieces come
            with self.server.connect() as client:
                client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
                answer = b""
                try:
                    for i in range(40):  # 12 KB, never ended: only their size can bring the answer
                        client.sendall(f"X{i}: {'y' * 300}\r\n".encode())
                        time.sleep(wait)
                    answer = client.recv(4096)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # refused while this client was still sending
                self.assertIn(status_of(answer), {0, 431})

    def test_held_headers_are_bounded_and_given_back(self):
        def resident():
            with open(f"/proc/{server.process.pid}/status") as status:
                return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

        with Server("--threads", "2") as server:
            before = resident()
            clients = [server.connect() for _ in range(400)]
            for client in clients:  # not whole: the server waits for the rest
                client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"a:b\r\n" * 90 + b"X: " + b"y" * 7000)
            self.assertGreater(server.metric("quern_http_connections_total"), 400)
            for _ in range(20):
                self.assertLess(resident() - before, 24_000)  # KiB: 60 a connection, those of the sockets' buffers included
                time.sleep(0.05)
            for client in clients:
                client.close()
            until(lambda: resident() - before < 6_000)

    def test_no_answer_holds_what_a_client_puts_between_lines(self):
        for target in ("/%0d%0aX-Injected:%20yes", "/api/documents/%0d%0aX-Injected:%20yes", "/api/search?q=%0d%0aX-Injected:%20yes",
                       "/api/search?%0d%0aX-Injected:%20yes=1"):
            answer = self.server.raw(request(target, "Connection: close"))
            self.assertIn(status_of(answer), {200, 400, 404})
            self.assertNotIn(b"X-Injected", answer.partition(b"\r\n\r\n")[0])

    def test_many_requests_at_once_on_one_connection(self):
        targets = ["/healthz", "/api/search?q=grain", "/nothing", "/api/documents/plain", "/api/search"] * 20
        answer = self.server.raw(b"".join(map(request, targets)))
        statuses = [int(line.split(b" ")[1]) for line in answer.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]
        # The answers stand in the order of the requests. A body ends without a line end, so its successor begins there.
        statuses += [int(piece[:3]) for piece in answer.split(b"}HTTP/1.1 ")[1:]]
        self.assertEqual(len(statuses), len(targets))
        bodies = [answer.index(b'{"status":"ok"}'), answer.index(b'{"query":"grain"'), answer.index(b'"title":"Not Found"')]
        self.assertEqual(bodies, sorted(bodies))

    def test_requests_in_pieces(self):
        with self.server.connect() as connection:
            for byte in request("/healthz"):
                connection.sendall(bytes([byte]))
            self.assertEqual(status_of(read_answer(connection)), 200)
            connection.sendall(request("/he")[:9])
            time.sleep(0.05)
            connection.sendall(request("/he")[9:] + request("/healthz"))
            answer = b""
            while b'"ok"' not in answer and (piece := connection.recv(4096)):
                answer += piece
            self.assertEqual(status_of(answer), 404)
            self.assertIn(b'"ok"', answer)

    def test_a_refusal_is_not_of_the_form_of_the_request_before(self):
        with self.server.connect() as connection:
            connection.sendall(request(method="HEAD") + b"nonsense\r\n\r\n")
            answer = b""
            while piece := connection.recv(4096):
                answer += piece
        head, _, refused = answer.partition(b"\r\n\r\n")
        self.assertEqual(status_of(head), 200)
        self.assertEqual(status_of(refused), 400)
        self.assertEqual(json.loads(refused.partition(b"\r\n\r\n")[2])["status"], 400)  # with its body
        old = request("/healthz", "Connection: keep-alive", version="HTTP/1.0")
        self.assertIn(b"HTTP/1.1 400", self.server.raw(old + b"nonsense\r\n\r\n"))

    def test_old_clients(self):
        answer = self.server.raw(request(version="HTTP/1.0", host=None), close=False)  # closes by itself
        self.assertEqual(status_of(answer), 200)
        self.assertNotIn(b"keep-alive", answer)
        with self.server.connect() as connection:
            for _ in range(3):
                connection.sendall(request("/healthz", "Connection: keep-alive", version="HTTP/1.0"))
                self.assertEqual(status_of(read_answer(connection)), 200)

    def test_hosts(self):
        port = self.server.port
        for host in ("localhost", "LOCALHOST", f"localhost:{port}", "127.0.0.1", f"127.0.0.1:{port}", "[::1]", f"[::1]:{port}", "localhost.", "localhost:99"):
            self.assertEqual(status_of(self.server.raw(request(host="Host: " + host))), 200, host)
        for host in ("[", "]", "[]", "[::1", "[::1]x", "[local]", "localhost@evil.example", "evil.example#localhost", "localhost:x", "localhost:80:80",
                     "local host", "localhost/", "http://localhost"):
            answer = self.server.raw(request("/", host="Host: " + host))
            self.assertEqual(status_of(answer), 400, host)  # RFC 9112, section 3.2
            self.assertIn(b"invalid Host header", answer)
        for host in ("evil.example", f"evil.example:{port}", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.2", "0.0.0.0", "[::2]",
                     "", ":"):
            for target in ("/", "/api/search?q=grain", "/nothing"):
                answer = self.server.raw(request(target, host="Host: " + host))
                self.assertEqual(status_of(answer), 421, host)
                self.assertNotIn(b"stones", answer)
        self.assertEqual(status_of(self.server.raw(request(host=None))), 400)
        self.assertEqual(status_of(self.server.raw(request("/healthz", "Host: localhost"))), 400)
        # A target with a host of its own, as proxies send: that one counts.
        self.assertEqual(status_of(self.server.raw(request("http://localhost/healthz", host="Host: evil.example"))), 200)
        self.assertEqual(status_of(self.server.raw(request("http://evil.example/healthz"))), 421)
        self.assertEqual(status_of(self.server.raw(request("http://localhost"))), 200)
        self.assertEqual(status_of(self.server.raw(request("HTTP://LocalHost/healthz"))), 200)  # a scheme has no case
        self.assertEqual(status_of(self.server.raw(request("hTTp://evil.example/healthz"))), 421)
        for target in ("http:///healthz", "http://user@localhost/healthz", "http://localhost:x/healthz", "ftp://localhost/healthz"):
            self.assertEqual(status_of(self.server.raw(request(target))), 400, target)
        self.assertEqual(status_of(self.server.raw(request("http:///healthz", version="HTTP/1.0", host=None))), 400)
        with Server("--name", "search.example,Other.Example", "--threads", "1") as named:
            for host in ("search.example", "other.example:80", "localhost"):
                self.assertEqual(status_of(named.raw(request(host="Host: " + host))), 200, host)
            self.assertEqual(status_of(named.raw(request(host="Host: example"))), 421)

    def test_clients_that_leave(self):
        for sent in (b"", b"GET /", request("/api/search?q=grain"), request("/api/documents/long?bytes=200000") * 50):
            for _ in range(20):
                connection = self.server.connect()
                connection.sendall(sent)
                # A reset, not a good bye.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
                connection.close()
            until(lambda: self.server.metric("quern_http_connections") == 1)  # that of this question

    def test_a_client_that_does_not_read(self):
        with self.server.connect() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.setblocking(False)
            try:
                for _ in range(2000):
                    connection.send(request("/api/documents/long?bytes=200000"))
            except BlockingIOError:
                pass
            for _ in range(20):
                self.assertEqual(self.server.get("/api/search?q=grain")[0], 200)

    def test_slow_headers_are_cut_off(self):
        """A byte now and then holds a connection for ten seconds, not for ever."""
        before = self.server.metric("quern_http_timeouts_total")
        begin = time.monotonic()
        with self.server.connect() as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ")
            while time.monotonic() < begin + PATIENCE:
                try:
                    connection.sendall(b"x")
                    if select.select([connection], [], [], 0.5)[0] and connection.recv(100) == b"":
                        break
                except OSError:
                    break
            else:
                self.fail(f"still open after {PATIENCE} seconds")
        self.assertGreater(time.monotonic() - begin, 9)
        self.assertEqual(self.server.metric("quern_http_timeouts_total"), before + 1)


class Many(unittest.TestCase):
    def test_a_thousand_connections(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
        with Server("--threads", "2") as server:
            held = [server.connect() for _ in range(1000)]
            self.assertEqual(server.metric("quern_http_connections"), 1001)
            for i in range(0, 1000, 7):  # these are closed when they do not go on for ten seconds
                held[i].sendall(request("/api/search?q=grain")[: 1 + i % 60])
            for _ in range(10):
                self.assertEqual(server.get("/api/search?q=grain")[0], 200)
            for connection in held[1::7]:
                connection.sendall(request())
            for connection in held[1::7]:
                self.assertEqual(status_of(read_answer(connection)), 200)
            for connection in held:
                connection.close()

    def test_one_connection_too_many(self):
        with Server("--threads", "1", "--max-connections", "3") as server:
            held = [server.connect() for _ in range(3)]
            for connection in held:
                connection.sendall(request())
                self.assertEqual(status_of(read_answer(connection)), 200)
            for _ in range(5):
                answer = server.raw(request("/api/search?q=grain"))
                self.assertEqual(status_of(answer), 503)
                self.assertIn(b"Retry-After: 1", answer)
                self.assertEqual(json.loads(answer.partition(b"\r\n\r\n")[2])["status"], 503)
            for connection in held:  # who was there is served
                connection.sendall(request("/nothing"))
                self.assertEqual(status_of(read_answer(connection)), 404)
            held.pop().close()
            until(lambda: status_of(server.raw(request())) == 200)  # the place of a client that left becomes free
            self.assertIn("quern_http_connections_refused_total", server.get("/metrics")[2])

    def test_few_files(self):
        """The system's limit is below --max-connections: said, kept to, and no spinning when it is reached."""
        script = 'ulimit -n 200; exec "$QUERN" serve "$STORE" --port 0 --threads 1'
        process = subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "STORE": str(store())})
        url = process.stdout.readline()
        port = int(url.rstrip("/\n").rpartition(":")[2])
        held = [socket.create_connection(("127.0.0.1", port)) for _ in range(300)]
        time.sleep(0.3)
        before = cpu_of(process.pid)
        time.sleep(1)
        used = cpu_of(process.pid) - before
        for connection in held:
            connection.close()
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=PATIENCE)[1]
        self.assertEqual(process.returncode, 130)
        self.assertIn("allows 72 connections, not 1,024", said)
        self.assertLess(used, 0.3)


def long_ids():
    """A store whose answers are long: a title of 100 KB, ids of 20 KB."""
    path = folder() / "long-ids"
    if not path.exists():
        corpus = folder() / "long-ids.jsonl"
        with open(corpus, "w") as out:
            out.write(json.dumps({"id": "title", "title": "ü" * 50_000 + " grain", "text": "barley"}) + "\n")
            for i in range(1000):
                out.write(json.dumps({"id": f"{i:04}" + "x" * 20_000, "text": "grain"}) + "\n")
        subprocess.run([QUERN, "build", corpus, "-o", path, "--skip", "all", "--quiet"], check=True)
    return path


class LongAnswers(unittest.TestCase):
    def test_explanations_of_long_queries(self):
        words = "+".join(["grain", "flour", "bread", *(f"word{i % 40}+w{i}" for i in range(150))])
        with Server() as server:
            target = f"/api/search?explain=1&snippets=0&q={words}&k="
            status, _, body = server.get(target + "1000")
            self.assertEqual(status, 400)
            self.assertIn("explain: ", json.loads(body)["detail"])
            most = int(json.loads(body)["detail"].partition("(at most ")[2].split()[0])
            self.assertEqual(server.get(target + str(most + 1))[0], 400)
            self.assertEqual(server.get(target + str(most))[0], 200)
            self.assertEqual(server.get("/api/search?explain=1&q=grain&k=1000")[0], 200)

    def test_long_titles_are_cut(self):
        with Server(of=long_ids()) as server:
            for answer in (server.json("/api/search", q="barley", parts=1)["hits"][0], server.json("/api/documents", id="title", q="barley")):
                self.assertEqual(answer["title"], "ü" * 1024)
                self.assertEqual("".join(answer["title_parts"]), "ü" * 1024)

    def test_long_answers_are_refused(self):
        with Server(of=long_ids()) as server:
            status, _, body = server.get("/api/search?q=grain&snippets=0&k=1000")
            self.assertEqual(status, 400)
            self.assertIn("fewer results", json.loads(body)["detail"])
            self.assertEqual(len(server.json("/api/search", q="grain", snippets=0, k=700)["hits"]), 700)

    def test_clients_that_do_not_read_hold_a_share_of_the_memory(self):
        with Server("--memory", "150M", of=long_ids()) as server:
            def unread():
                return server.metric("quern_http_unread_bytes")

            asked = []
            for _ in range(4):  # a client has thirty seconds to read its answer
                connection = server.connect()
                connection.sendall(request("/api/search?q=grain&snippets=0&k=700"))
                asked.append(connection)
                self.assertTrue(select.select([connection], [], [], PATIENCE)[0])
                self.assertLessEqual(unread(), 40 << 20)
            self.assertGreater(unread(), 14_000_000)
            statuses = [status_of(connection.recv(100)) for connection in asked]
            self.assertEqual(statuses, [200] * 2 + [503] * 2)
            self.assertEqual(server.get("/api/search?q=grain&snippets=0&k=2")[0], 200)  # short ones pass
            for connection in asked:
                connection.close()
            until(lambda: unread() == 0)
            self.assertEqual(server.get("/api/search?q=grain&snippets=0&k=700")[0], 200)


# Every pair of these words stands in every document, often: a query of pairs in quotes has to look through them all.
PAIR_WORDS = [a + b for a in "bcdfgh" for b in "aeiou"]
SLOW = "/api/search?k=5&q=" + "+".join(f"%22{a}+{b}%22" for a in PAIR_WORDS for b in PAIR_WORDS if a != b)[: 250 * 12 - 1]


def slow_store(documents):
    path = folder() / f"slow-store-{documents}"
    if not path.exists():
        chance = random.Random(7)
        text = " ".join(chance.choices(PAIR_WORDS, k=20_000))
        corpus = folder() / "slow.jsonl"
        with open(corpus, "w") as out:
            for i in range(documents):
                out.write(json.dumps({"id": str(i), "text": text[i:] + text[:i]}) + "\n")
        subprocess.run([QUERN, "build", corpus, "-o", path, "--skip", "all", "--quiet"], check=True)
    return path


class GivenUp(unittest.TestCase):
    """Answers that nobody waits for any more, or for too long."""

    @classmethod
    def setUpClass(cls):
        for documents in (1200, 4800):  # as many as this machine takes a while for, whatever else it does
            cls.store = slow_store(documents)
            with Server("--threads", "1", of=cls.store) as server:
                before = cpu_of(server.process.pid)
                assert server.get(SLOW)[0] == 200
                taken = cpu_of(server.process.pid) - before
            if taken > 0.5:
                return
        raise unittest.SkipTest(f"an answer takes {taken:.2f} s: too fast to be given up")

    def answered(self, server):
        """How many searches got an answer, of any status."""
        return sum(int(count) for count in re.findall(r'\nquern_http_requests_total\{route="/api/search".*\} (\d+)', server.get("/metrics")[2]))

    def ask(self, server, count):
        """Connections whose requests the server has. They wait for its thread, for five seconds at most."""
        before = self.answered(server)
        asked = [server.connect() for _ in range(count)]
        for connection in asked:
            connection.sendall(request(SLOW))
        until(lambda: server.metric("quern_http_requests_in_flight") + self.answered(server) - before >= count)
        return asked

    def test_clients_that_leave_are_not_searched_for(self):
        with Server("--threads", "1", of=self.store) as server:
            for linger in (b"", b"\x01\0\0\0\0\0\0\0"):  # a good bye, a reset
                answered_before, left_before = self.answered(server), server.metric("quern_http_clients_left_total")
                for connection in self.ask(server, 20):
                    if linger:
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                    connection.close()
                answered_at_end = self.answered(server)
                until(lambda: server.metric("quern_http_requests_in_flight") == 0)
                answered, left = self.answered(server), server.metric("quern_http_clients_left_total")
                self.assertLess(answered - answered_at_end, 10)
                self.assertEqual(answered - answered_before + left - left_before, 20)

    def test_who_only_sends_no_more_gets_an_answer(self):
        with Server("--threads", "1", of=self.store) as server:
            answer = server.raw(request(SLOW), interim=True)
            self.assertTrue(answer.startswith(INTERIM + b"HTTP/1.1 200 "), answer[:80])
            self.assertTrue(is_whole(answer))
            self.assertNotIn(b"102", server.raw(request(SLOW, version="HTTP/1.0"), interim=True)[:20])
            two = server.raw(request(SLOW) + request("/nothing"))
            self.assertTrue(0 == two.index(b"HTTP/1.1 200 ") < two.index(b"HTTP/1.1 404 "), two[:80])
            self.assertTrue(is_whole(two))

    def test_calls_of_agents_have_their_time(self):
        query = unquote_plus(SLOW.partition("q=")[2])
        one = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": {"query": query}}}
        with Server("--threads", "1", "--max-seconds", "0.1", of=self.store) as server:
            for message in (one, [one] * 100):  # a batch is stopped as a whole
                status, _, body = server.post("/mcp", json.dumps(message))
                self.assertEqual((status, "exceeded the time limit of this server" in body), (503, True), body)
            self.assertEqual(server.post("/mcp", '{"jsonrpc":"2.0","id":1,"method":"ping"}')[0], 200)

    def test_answers_have_their_time(self):
        with Server("--threads", "1", "--max-seconds", "0.1", of=self.store) as server:
            asked = [server.connect() for _ in range(5)]
            begin = time.monotonic()
            for connection in asked:
                connection.sendall(request(SLOW))
            for connection in asked:
                answer = read_answer(connection)
                self.assertEqual(status_of(answer), 503)
                self.assertTrue(is_whole(answer))
                self.assertIn(b"exceeded the time limit of this server", answer)
                connection.sendall(request("/healthz"))  # the connection goes on
                self.assertEqual(status_of(read_answer(connection)), 200)
                connection.close()
            self.assertGreater(time.monotonic() - begin, 0.09)

    def test_requests_that_wait_when_the_server_ends(self):
        with Server("--threads", "1", of=self.store) as server:
            asked = self.ask(server, 60)
            server.process.send_signal(signal.SIGTERM)
            answers = []
            for connection in asked:
                answers.append(b"")
                try:
                    while piece := connection.recv(65536):
                        answers[-1] += piece
                except ConnectionResetError:
                    pass
                connection.close()
            code, said = server.end()
        self.assertEqual(code, 143, said)
        if ended_in_order(said):
            for answer in answers:
                self.assertTrue(is_whole(answer), answer)
                self.assertIn(status_of(answer), {200, 503})
            self.assertGreater([status_of(answer) for answer in answers].count(503), 30)


def cpu_of(process):
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Program(unittest.TestCase):
    def ends(self, code, *arguments):
        result = subprocess.run([QUERN, "serve", *arguments], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        return result.stderr

    def test_what_cannot_be_served(self):
        self.assertIn("quern serve: ", self.ends(2, folder() / "none"))
        self.assertIn("nowhere.invalid", self.ends(2, store(), "--host", "nowhere.invalid"))
        self.assertIn("'65536'", self.ends(2, store(), "--port", "65536"))
        self.assertIn("cannot listen", self.ends(4, store(), "--host", "192.0.2.1"))
        damaged = folder() / "no-manifest"
        subprocess.run(["cp", "-r", store(), damaged], check=True)
        os.truncate(damaged / "store.json", 10)
        self.ends(5, damaged)

    def test_a_store_is_served_as_it_was_when_it_was_opened(self):
        path, corpus, words = folder() / "replaced", folder() / "replaced.jsonl", folder() / "words.txt"

        def build(stop, *texts):
            words.write_text(stop + "\n")
            corpus.write_text("".join(json.dumps({"id": str(i), "text": text}) + "\n" for i, text in enumerate(texts)))
            subprocess.run([QUERN, "build", corpus, "-o", path, "--skip", "all", "--stop-words", words, "--force", "--quiet"], check=True)

        def asked(server):
            answers = []
            for query in ("the", "red", "the red"):
                answer = server.json("/api/search", q=query)
                answers.append((answer["empty_query"], answer["unknown_words"], answer["hits"]))
            return answers, server.get("/api/store")[2]

        build("the", "the red car", "red red")
        with Server("--threads", "4", of=path) as server:
            before = asked(server)
            self.assertEqual([answer[0] for answer in before[0]], [True, False, False])
            build("red", "the green bus")
            for _ in range(20):
                self.assertEqual(asked(server), before)
            subprocess.run(["rm", "-r", path], check=True)
            for _ in range(20):
                self.assertEqual(asked(server), before)

    def test_help_shows_what_applies(self):
        said = subprocess.run([QUERN, "serve", "--help"], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("--seed", said)
        for name in ("--device", "--gpu-memory", "--threads", "--memory", "--quiet", "--stats", "--config", "--force", "--max-seconds", "--tmp", "--progress"):
            self.assertIn(name, said)
        with Server("--device", "cpu", "--tmp", folder(), "--progress", "never") as server:
            self.assertEqual(server.get("/healthz")[0], 200)  # and what scripts give to every command is taken
        self.assertIn("unknown option --seed", self.ends(2, store(), "--seed", "7"))
        self.assertIn("--gpu-memory requires --dedup", self.ends(2, store(), "--gpu-memory", "7G"))
        for bad in ("0", "-1", "nan", "1e9", "x"):
            self.assertIn("--max-seconds", self.ends(2, store(), "--max-seconds", bad))

    def test_a_port_that_is_taken(self):
        with Server() as server:
            said = self.ends(4, store(), "--port", str(server.port))
            self.assertIn(f"127.0.0.1:{server.port}: cannot listen: Address already in use", said)

    def test_signals_let_answers_finish(self):
        for how, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            server = Server("--threads", "2")
            idle = [server.connect() for _ in range(20)]
            answers, going = [], threading.Event()

            def ask():
                while not going.is_set():
                    try:
                        with server.connect() as connection:
                            connection.sendall(request("/api/search?q=flour+bread+grain&k=900", "Connection: close"))
                            answer = b""
                            while piece := connection.recv(65536):
                                answer += piece
                            answers.append(answer)
                    except OSError:
                        return

            askers = [threading.Thread(target=ask) for _ in range(8)]
            for asker in askers:
                asker.start()
            until(lambda: len(answers) > 20)
            got, said = server.end(how)
            going.set()
            for asker in askers:
                asker.join()
            self.assertEqual(got, code, said)
            if ended_in_order(said):
                self.assertIn("stopped after", said)
                for answer in answers:  # none is half
                    self.assertTrue(not answer or is_whole(answer), answer)
            for connection in idle:
                self.assertEqual(connection.recv(100), b"")
                connection.close()

    def test_a_client_that_does_not_read_does_not_hold_the_end(self):
        record = folder() / "stats-of-the-end.json"
        server = Server("--stats", record, of=long_ids())
        with server.connect() as connection:
            connection.sendall(request("/api/search?q=grain&snippets=0&k=700"))
            self.assertTrue(select.select([connection], [], [], PATIENCE)[0])
            code, said = server.end()
        self.assertEqual(code, 143)
        if ended_in_order(said):
            self.assertIn("stopped after 1 request", said)
            self.assertEqual(json.loads(record.read_text())["counts"]["requests"], 1)

    def test_ipv6(self):
        try:
            with socket.socket(socket.AF_INET6) as probe:
                probe.bind(("::1", 0))
        except OSError:
            self.skipTest("this machine has no IPv6")
        with Server("--host", "::1") as server:
            self.assertTrue(server.url.startswith("http://[::1]:"))
            self.assertEqual(server.get("/healthz")[0], 200)

    def test_ipv4_written_as_ipv6_is_this_machine_too(self):
        try:
            with socket.socket(socket.AF_INET6) as probe:
                probe.bind(("::ffff:127.0.0.1", 0))
        except OSError:
            self.skipTest("this machine has no IPv6")
        with Server("--host", "::ffff:127.0.0.1") as server:
            self.assertEqual(server.get("/healthz")[0], 200)
            for host in ("[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "127.0.0.1"):
                self.assertEqual(status_of(server.raw(request(host="Host: " + host))), 200, host)
            for host in ("evil.example", "[::ffff:7f00:2]"):
                self.assertEqual(status_of(server.raw(request(host="Host: " + host))), 421, host)

    def test_stats(self):
        record = folder() / "stats.json"
        for _ in range(20):
            with Server("--stats", record, "--quiet", "--force") as server:
                server.get("/healthz")
                server.get("/nothing")
                _, said = server.end()
            if ended_in_order(said):
                break
        self.assertEqual(said, "")
        self.assertEqual(json.loads(record.read_text())["counts"]["requests"], 2)


if __name__ == "__main__":
    unittest.main()
