# SPDX-License-Identifier: Apache-2.0
"""POST /mcp: the answers of `quern mcp`, statuses, versions, other sites, limits, a lost store, and that /openapi.json says so."""

import json
import os
import shutil
import subprocess
import unittest
from concurrent.futures import ThreadPoolExecutor

from running import PATIENCE, QUERN, Server, folder, needs, rich_store, store
from test_api import conforms

INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize",
              "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def request(method, number=1, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, **({"params": params} if params else {})}


def call(tool, number=1, **arguments):
    return request("tools/call", number, name=tool, arguments=arguments)


class Mcp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--threads", "2", of=rich_store())

    @classmethod
    def tearDownClass(cls):
        code, said = cls.server.end()
        assert code == 143, (code, said)

    def send(self, message, status=200, headers=None, kind="application/json", server=None):
        body = message if isinstance(message, (str, bytes)) else json.dumps(message)
        got, answered, text = (server or self.server).post("/mcp", body, kind, headers)
        self.assertEqual(got, status, text)
        self.assertEqual(answered["Cache-Control"], "no-store")
        self.assertEqual(answered["X-Content-Type-Options"], "nosniff")
        return json.loads(text) if text else None

    def test_the_same_answers_as_the_program(self):
        needs(self, "thesaurus")
        needs(self, "document_vectors")
        messages = [INITIALIZE, request("ping"), request("tools/list"), call("search", query="grain \"old ford\"", k=3, expand=2, prior=0.05),
                    call("read_document", id="long", offset=90_000, length=50), call("count_phrase", phrase="the old ford", k=1),
                    call("similar_words", word="horse"), call("like_document", id="ford", k=2), call("read_document", id="none"),
                    call("search", query=3), request("no/such"), call("search", "a string")]
        lines = "".join(json.dumps(message) + "\n" for message in messages)
        said = subprocess.run([QUERN, "mcp", rich_store()], input=lines, capture_output=True, text=True, timeout=PATIENCE, check=True)
        answers = said.stdout.splitlines()
        self.assertEqual(len(answers), len(messages))
        for message, line in zip(messages, answers):
            status, _, body = self.server.post("/mcp", json.dumps(message))
            self.assertEqual((status, body), (200, line), message)
        self.assertEqual(json.loads(answers[3])["result"]["structuredContent"]["hits"][0]["id"], "ford")

    def test_results_are_those_of_the_api(self):
        hits = self.server.json("/api/search", q="keeper sack", k=2)["hits"]
        self.assertEqual(self.send(call("search", query="keeper sack", k=2))["result"]["structuredContent"]["hits"], hits)
        text = self.server.json("/api/documents/long")["text"]
        piece = self.send(call("read_document", id="long", offset=17, length=20))["result"]["structuredContent"]
        self.assertEqual((piece["text"], piece["next_offset"]), (text[17:37], 37))

    def test_what_gets_no_answer(self):
        for message in (INITIALIZED, {"jsonrpc": "2.0", "id": 1, "result": {}}):
            status, headers, body = self.server.post("/mcp", json.dumps(message))
            self.assertEqual((status, body, headers["Content-Length"], headers["Content-Type"]), (202, "", "0", None))

    def test_what_is_no_message(self):
        for body, code in (("", -32700), ("hello", -32700), (b"\xff", -32700), ("[" * 1000, -32700), ("{}", -32600), ("[]", -32600),
                           ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600)):
            answer = self.send(body, 400)
            self.assertEqual((answer["id"], answer["error"]["code"]), (None, code), body)
        self.assertEqual(self.send(request("no/such"))["error"]["code"], -32601)
        self.assertEqual(self.send(call("no_such"))["error"]["code"], -32602)

    def test_versions(self):
        batch = [request("ping", 1), INITIALIZED, request("ping", "b")]
        self.assertEqual([answer["id"] for answer in self.send(batch)], [1, "b"])  # as the transport says: 2025-03-26
        self.assertEqual(len(self.send(batch, headers={"MCP-Protocol-Version": "2025-03-26"})), 2)
        for version in ("2024-11-05", "2025-06-18"):
            answer = self.send(batch, 400, {"mcp-protocol-version": version})
            self.assertIn("no batches", answer["error"]["message"])
            self.assertEqual(self.send(request("ping"), headers={"MCP-Protocol-Version": version})["result"], {})
        for version in ("2026-01-01", ""):
            detail = self.send(request("ping"), 400, {"MCP-Protocol-Version": version})["detail"]
            self.assertEqual(detail, "unsupported MCP-Protocol-Version (expected one of 2024-11-05, 2025-03-26, 2025-06-18)", version)

    def test_pages_of_other_sites_are_refused(self):
        port = self.server.port
        own = (f"http://127.0.0.1:{port}", f"http://localhost:{port}", "http://localhost:6274", "http://[::1]:1", "HTTPS://LOCALHOST")
        for origin in own:
            self.send(request("ping"), headers={"Origin": origin})
        for origin in ("http://evil.example", "null", "", "localhost", "http://", "http://localhost.evil.example", "http://localhost@evil.example",
                       "http://evil.example/localhost", "file://"):
            self.assertIn("Origin", self.send(request("ping"), 403, {"Origin": origin})["detail"], origin)
        self.send(request("ping"), 421, {"Host": "evil.example", "Origin": "http://evil.example"})
        with Server("--name", "search.example", of=rich_store()) as server:
            self.send(request("ping"), headers={"Origin": "https://search.example"}, server=server)
            self.send(request("ping"), 403, {"Origin": "https://other.example"}, server=server)
        with Server("--host", "0.0.0.0", of=rich_store()) as server:  # without names: only pages of the address in use
            self.send(request("ping"), headers={"Host": "any.example:1", "Origin": "http://any.example:1"}, server=server)
            self.send(request("ping"), 403, {"Host": "any.example:1", "Origin": "http://localhost"}, server=server)

    def test_other_methods_types_and_addresses(self):
        for method in ("GET", "HEAD"):
            status, headers, _ = self.server.get("/mcp", method)
            self.assertEqual((status, headers["Allow"]), (405, "POST"))
        for method in ("DELETE", "PUT", "OPTIONS"):
            status, headers, _ = self.server.get("/mcp", method)
            self.assertEqual(status, 405)
            self.assertIsNone(headers["Access-Control-Allow-Origin"])
        for kind in ("text/plain", "application/x-www-form-urlencoded", "", "application/x-ndjson"):
            self.send(request("ping"), 415, kind=kind)
        self.send(request("ping"), kind="Application/JSON ; charset=utf-8")
        self.assertEqual(self.server.post("/mcp?x=1", json.dumps(request("ping")))[0], 400)
        self.assertEqual(self.server.post("/mcp/", json.dumps(request("ping")))[0], 413)  # no such address takes a body

    def test_limits(self):
        whole = json.dumps(request("ping"))
        self.send(whole + " " * (262_144 - len(whole)))
        self.send(whole + " " * (262_145 - len(whole)), 413)
        post = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        self.assertIn(b" 413 ", self.server.raw(post + b"Content-Length: 99999999999\r\n\r\n").partition(b"\r\n")[0])
        chunked = post + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(whole), whole.encode())
        self.assertIn(b" 200 ", self.server.raw(chunked).partition(b"\r\n")[0])
        with Server("--max-results", "5", of=store()) as server:
            self.assertIn("from 1 to 5", self.send(call("search", query="grain", k=6), server=server)["error"]["message"])
            failed = self.send(call("search", query="grain", k=5, offset=1), server=server)["result"]
            self.assertEqual((failed["isError"], "at most 5" in failed["content"][0]["text"]), (True, True))

    def test_many_clients_at_once(self):
        expected = {word: self.send(call("search", query=word))["result"] for word in ("horse", "grain", "sparrow", "zyzzyva")}
        words = list(expected) * 25
        with ThreadPoolExecutor(8) as clients:
            answers = list(clients.map(lambda i: self.server.post("/mcp", json.dumps(call("search", i, query=words[i]))), range(len(words))))
        for i, (status, _, body) in enumerate(answers):
            self.assertEqual(status, 200)
            self.assertEqual(json.loads(body), {"jsonrpc": "2.0", "id": i, "result": expected[words[i]]})

    def test_a_server_without_a_store_has_no_tools(self):
        with Server("--dedup", folder() / "seen", of="") as server:
            self.assertEqual(server.post("/mcp", json.dumps(request("ping")))[0], 413)
            self.assertEqual(server.get("/mcp")[0], 404)

    def test_a_store_that_was_changed_in_place_is_not_read(self):
        changed = folder() / "changed"
        shutil.copytree(store(), changed)
        with Server(of=changed) as server:
            self.send(call("search", query="grain"), server=server)
            os.truncate(changed / "postings.section", 0)
            self.assertIn("changed or damaged", self.send(call("search", query="grain"), 503, server=server)["detail"])

    def test_the_description(self):
        api = self.server.json("/openapi.json")
        described, schemas = api["paths"]["/mcp"]["post"], api["components"]["schemas"]
        versions = described["parameters"][0]["schema"]
        self.assertEqual(described["parameters"][0]["name"], "MCP-Protocol-Version")
        for version in versions["enum"]:
            self.send(request("ping"), headers={"MCP-Protocol-Version": version})
        for message, status in ((INITIALIZED, "202"), (request("no/such"), "200"), ("x", "400")):
            self.assertIn(status, described["responses"])
            answer = self.send(message, int(status))
            if answer is not None:
                conforms(answer, schemas["RpcAnswer"], schemas)
        conforms(INITIALIZED, schemas["RpcMessage"], schemas)
        for status, headers, kind in ((403, {"Origin": "null"}, "application/json"), (415, {}, "text/plain")):
            self.assertIn(str(status), described["responses"])
            conforms(self.send(request("ping"), status, headers, kind), schemas["Problem"], schemas)


if __name__ == "__main__":
    unittest.main()
