# SPDX-License-Identifier: Apache-2.0
"""The JSON API: the results of `quern search`, documents, errors, headers, metrics, and that /openapi.json says so."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from urllib.parse import quote, urlencode

from running import DOCUMENTS, LONG_TEXT, PATIENCE, PICTURE, QUERN, Server, fielded_store, folder, needs, pages, rich_store, sharded_store, store

NEEDS = {"prior": "link_ranks", "expand": "thesaurus", "like": "document_vectors", "vector": "vectors"}  # parameters, and what a store must have for them
BY_ID = {document["id"]: document for document in DOCUMENTS}


def conforms(value, schema, schemas, where="answer"):
    """Raises where a value is not as a schema of OpenAPI 3.1 says; of JSON Schema, what ours use."""
    if "$ref" in schema:
        return conforms(value, schemas[schema["$ref"].rsplit("/", 1)[1]], schemas, where)
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float), "null": type(None)}
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(isinstance(value, kinds[t]) and not (isinstance(value, bool) and t != "boolean") for t in types):
        raise AssertionError(f"{where}: {value!r} is no {types}")
    if "enum" in schema and value not in schema["enum"]:
        raise AssertionError(f"{where}: {value!r} is none of {schema['enum']}")
    if isinstance(value, dict):
        for name in schema.get("required", []):
            if name not in value:
                raise AssertionError(f"{where}: no {name}")
        for name, member in value.items():
            own = schema.get("properties", {}).get(name, schema.get("additionalProperties", True if "properties" not in schema else None))
            if own is None:
                raise AssertionError(f"{where}: {name} is not described")
            if own is not True:
                conforms(member, own, schemas, f"{where}.{name}")
    if isinstance(value, list):
        for i, item in enumerate(value):
            conforms(item, schema["items"], schemas, f"{where}[{i}]")
    return None


class Api(unittest.TestCase):
    store = staticmethod(store)

    @classmethod
    def setUpClass(cls):
        cls.server = Server("--threads", "2", "--max-results", "50", of=cls.store())

    @classmethod
    def tearDownClass(cls):
        code, said = cls.server.end()
        assert code == 143, (code, said)

    def refused(self, target, status=400, method="GET"):
        got, headers, body = self.server.get(target, method)
        self.assertEqual(got, status, (target, body))
        self.assertEqual(headers["Content-Type"], "application/problem+json")
        problem = json.loads(body)
        self.assertEqual(set(problem), {"type", "title", "status", "detail"})
        self.assertEqual(problem["status"], status)
        return problem["detail"]


class Search(Api):
    def same_as_program(self, query, parameters, options):
        lines = subprocess.run([QUERN, "search", store(), query, "--format", "jsonl", *options], capture_output=True, text=True).stdout
        status, _, body = self.server.get("/api/search?" + urlencode({"q": query, **parameters}))
        self.assertEqual(status, 200, body)
        answer = json.loads(body)
        self.assertEqual(len(answer["hits"]), len(lines.splitlines()))
        for line in lines.splitlines():  # as text: the same digits and the same escapes
            self.assertIn(line[:-1], body)
        return answer

    def test_same_bytes_as_the_program(self):
        for query in ("grain", "Grain stones", "flour bread word7", "mühle", "b bold script", "nothing-like-it", "\"quoted\" &",
                      "\"pair of stones\" grain", "a quern is a pair of stones", "\"stones of pair\""):
            for parameters, options in (
                ({}, []),
                ({"k": 3}, ["-k", "3"]),
                ({"model": "ql", "lambda": "0.3"}, ["--model", "ql", "--lambda", "0.3"]),
                ({"model": "dirichlet", "mu": "50"}, ["--model", "dirichlet", "--mu", "50"]),
                ({"model": "two-stage", "title_weight": "0"}, ["--model", "two-stage", "--title-weight", "0"]),
                ({"explain": "1"}, ["--explain"]),
                ({"phrases": "0"}, ["--phrases", "off"]),
                ({"model": "ql", "order": "3", "explain": "true"}, ["--model", "ql", "--order", "3", "--explain"]),
                ({"k1": "1.2", "b": "0.75", "title_weight": "1.5"}, ["--k1", "1.2", "--b", "0.75", "--title-weight", "1.5"]),
                ({"field_weights": "title=3,text=0.5", "explain": "1"}, ["--field-weights", "title=3,text=0.5", "--explain"]),
                ({"field_b": "title=0"}, ["--field-b", "title=0"]),
            ):
                with self.subTest(query=query, options=options):
                    self.same_as_program(query, parameters, options)

    def test_operators(self):
        for query in ("+grain -stones", "gra* OR flour", "grain AND (stones OR flour)", "\"pair stones\"~2", "title:grain"):
            with self.subTest(query=query):
                answer = self.same_as_program(query, {"syntax": "operators"}, ["--syntax", "operators"])
                self.assertEqual(answer["syntax"], "operators")
                self.assertEqual(self.same_as_program(query, {}, [])["syntax"], "operators")
        answer = self.server.json("/api/search", q="grain OR")
        self.assertEqual(answer["syntax"], "words")
        self.assertIn("character 7", answer["syntax_note"])
        self.assertIsNone(self.server.json("/api/search", q="grain stones")["syntax_note"])

    def test_operators_that_are_not_understood(self):
        status, _, body = self.server.get("/api/search?" + urlencode({"q": "grain (stones", "syntax": "operators"}))
        self.assertEqual(status, 400)
        problem = json.loads(body)
        self.assertEqual(problem["position"], 6)
        self.assertIn("this parenthesis is not closed", problem["detail"])

    def test_totals(self):
        answer = self.server.json("/api/search", q="flour bread", k=3, total=1)
        self.assertEqual(len(answer["hits"]), 3)
        self.assertEqual(answer["total"], len(self.server.json("/api/search", q="flour bread", k=50)["hits"]))
        counted = self.server.json("/api/search", q="flour bread", count=1)
        self.assertEqual((counted["total"], counted["hits"], counted["more"]), (answer["total"], [], False))
        self.assertIsNone(self.server.json("/api/search", q="flour")["total"])

    def test_pages_are_the_whole(self):
        whole = self.server.json("/api/search", q="flour bread", k=50)["hits"]
        self.assertEqual(len(whole), 40)
        pages = []
        for offset in range(0, 44, 4):
            page = self.server.json("/api/search", q="flour bread", k=4, offset=offset)
            self.assertEqual(page["more"], offset + 4 < 40)
            pages += page["hits"]
        self.assertEqual(pages, whole)

    def test_more_is_what_may_be_asked_for(self):
        for limit in (1, 5, 39, 40, 41):
            with Server("--max-results", str(limit)) as server:
                got = 0
                while True:
                    page = server.json("/api/search", q="flour", k=min(4, limit - got), offset=got)
                    got += len(page["hits"])
                    if not page["more"]:
                        break
                self.assertEqual(got, min(limit, 40))

    def test_parts_are_the_text(self):
        for hit in self.server.json("/api/search", q="GRAIN stones", parts=1, k=20)["hits"]:
            for name in ("title", "snippet"):
                parts = hit[name + "_parts"]
                self.assertEqual("".join(parts), hit[name])
                self.assertTrue(all(word.lower() in ("grain", "stones") for word in parts[1::2]), parts)
            self.assertIn("grain", [word.lower() for word in hit["snippet_parts"][1::2]])

    def test_without_snippets(self):
        hits = self.server.json("/api/search", q="grain", snippets=0, parts=1)["hits"]
        self.assertTrue(hits)
        self.assertTrue(all("snippet" not in hit and "snippet_parts" not in hit for hit in hits))

    def test_what_is_unknown(self):
        answer = self.server.json("/api/search", q="grain zyzzyva")
        self.assertEqual(answer["unknown_words"], ["zyzzyva"])
        self.assertTrue(answer["hits"])
        answer = self.server.json("/api/search", q="?!")
        self.assertTrue(answer["empty_query"])
        self.assertEqual(answer["hits"], [])

    def test_bytes_that_are_no_text(self):
        for query in ("%00", "gr%00ain", "%ff%fe", "%c3", "%ed%a0%80", "%F0%9F%8D%9E", "a" * 2048):
            status, _, body = self.server.get("/api/search?q=" + query)
            self.assertEqual(status, 200, body)
            json.loads(body)

    def test_refusals(self):
        self.assertIn("missing", self.refused("/api/search"))
        self.assertIn("missing", self.refused("/api/search?k=3"))
        for bad in ("k=0", "k=51", "k=-1", "k=1e1", "k=", "k=99999999999999999999", "offset=50", "model=best", "k1=x", "k1=-1", "k1=nan",
                    "b=2", "mu=0", "lambda=1", "title_weight=101", "field_weights=titel%3D2", "field_b=title%3D2", "snippets=yes", "parts=2", "explain=", "phrases=on", "order=0", "order=33", "order=2", "q=again", "qq=1", "%zz=1", "b=%4", "b=%"):
            with self.subTest(bad=bad):
                self.refused("/api/search?q=grain&" + bad)
        self.assertIn("2048", self.refused("/api/search?q=" + "a" * 2049))
        self.assertIn("together", self.refused("/api/search?q=grain&k=50&offset=1"))


class Fields(Api):
    store = staticmethod(rich_store)

    def test_a_filter_is_asked_for_as_a_filter(self):
        status, _, body = self.server.get("/api/search?q=grain&filter=+")
        self.assertEqual(status, 400)
        self.assertIn("filter: an empty expression (expected a comparison", json.loads(body)["detail"])
        note = self.server.json("/api/search", q="grain tag:odd")["syntax_note"]
        self.assertEqual(note, "tag is a kept field: use a filter, 'tag = odd'")

    def test_filters_orders_and_facets_are_those_of_the_program(self):
        for given, options in (
                ({"q": "hippopotamus", "filter": "price < 10 AND tag = odd"}, ["--filter", "price < 10 AND tag = odd"]),
                ({"q": "*", "filter": "price BETWEEN 3 AND 4.5", "sort": "-price"}, ["--filter", "price BETWEEN 3 AND 4.5", "--sort", "-price"]),
                ({"q": "grain", "filter": "price NOT EXISTS"}, ["--filter", "price NOT EXISTS"]),
                ({"q": "grain page", "sort": "tag2"}, None)):
            if options is None:
                status, _, body = self.server.get("/api/search?" + urlencode(given))
                self.assertEqual(status, 400)
                self.assertIn("sort: there is no field 'tag2'; did you mean 'tag'?", json.loads(body)["detail"])
                continue
            answer = self.server.json("/api/search", total=1, **given)
            lines = subprocess.run([QUERN, "search", rich_store(), given["q"], *options, "--format", "jsonl", "--quiet"],
                                   capture_output=True, text=True, check=True).stdout
            expected = [json.loads(line) for line in lines.splitlines()]
            self.assertTrue(expected)
            self.assertEqual([hit["id"] for hit in answer["hits"]], [row["id"] for row in expected])
            self.assertEqual([hit["score"] for hit in answer["hits"]], [row["score"] for row in expected])

    def test_a_filter_alone_finds_all_documents_that_pass(self):
        answer = self.server.json("/api/search", filter="tag IN (even, odd)", total=1, k=3, facets="tag,price", facet_values=1)
        self.assertEqual((answer["total"], len(answer["hits"]), answer["more"], answer["empty_query"]), (120, 3, True, False))
        self.assertEqual(answer["facets"]["tag"], {"type": "list", "documents": 120, "distinct": 3, "values": [{"value": "even", "documents": 60}]})
        self.assertEqual((answer["facets"]["price"]["min"], answer["facets"]["price"]["max"]), (0, 29.75))
        self.assertIsNone(self.server.json("/api/search", q="grain")["facets"])

    def test_a_filter_that_is_not_understood(self):
        for filter, position, reason in (("prise < 1", 0, "did you mean 'price'?"), ("price < abc", 8, "'abc' is not a number"),
                                         ("price <", 7, "expected a value"), ("x" * 3000, None, "too long")):
            status, _, body = self.server.get("/api/search?" + urlencode({"q": "grain", "filter": filter}))
            self.assertEqual(status, 400)
            problem = json.loads(body)
            self.assertEqual(problem.get("position"), position)
            self.assertIn(reason, problem["detail"])


class IndexedFields(Api):
    store = staticmethod(fielded_store)

    def test_words_of_a_field_and_weights(self):
        self.assertEqual(self.server.json("/api/store")["indexed_fields"], ["summary", "tags"])
        for given, expected in (({"q": "summary:grain"}, ["a"]), ({"q": 'tags:"mill stone"'}, []), ({"q": "tags:wat*"}, ["b"]),
                                ({"q": "grain", "field_weights": "summary=50"}, ["a", "b"]),
                                ({"q": "grain", "field_weights": "summary=0.01", "field_b": "tags=0"}, ["b", "a"])):
            self.assertEqual([hit["id"] for hit in self.server.json("/api/search", **given)["hits"]], expected, given)
        self.assertIn("(expected title, summary, tags or text)", self.refused("/api/search?q=grain&field_weights=abstract%3D2"))


class Shards(Api):
    """A sharded store answers with the bytes of one store of all its documents, and refuses what it lacks by name."""

    store = staticmethod(lambda: list(sharded_store()))

    def bodies(self, path, **parameters):
        """The answers of the store and of the sharded store, without the time they took."""
        answers = [self.server.get(f"{path}?" + urlencode({**parameters, "store": name})) for name in ("whole", "apart")]
        self.assertEqual([status for status, _, _ in answers], [200, 200], answers)
        return [re.sub(r'"seconds":[^,]*,', "", body) for _, _, body in answers]

    def test_searches(self):
        for query in ("grain", "horse field", "hrose feild", "\"near the\" barn -cart", "wor* flour", "title:birds sparow~1", "absent", "*"):
            for options in ({}, {"model": "dirichlet", "explain": 1, "total": 1}, {"typos": "2", "parts": 1}, {"prefix_last": 1, "parts": 1, "k": 30},
                            {"fold": "accents", "sort": "-price", "k": 5, "offset": 3}, {"facets": "tag,price", "filter": "price < 20", "total": 1},
                            {"correct": 1, "typos": "never", "suggestions": 3}, {"count": 1}, {"dependence": "sdm", "model": "ql"}):
                with self.subTest(query=query, options=options):
                    one, other = self.bodies("/api/search", q=query, **options)
                    self.assertEqual(other, one)

    def test_documents_completions_and_statistics(self):
        for path, parameters in (("/api/documents", {"id": "ford", "q": "mil grinds"}), ("/api/documents", {"id": "über/ß €"}),
                                 ("/api/documents", {"id": "page-100", "q": "ho", "prefix_last": 1}), ("/api/complete", {"q": "the ho"}),
                                 ("/api/complete", {"q": "spar", "k": 2}), ("/api/complete", {"q": "hrose"}), ("/api/statistics", {}),
                                 ("/api/statistics", {"words": 500}), ("/api/duplicates", {}), ("/api/words", {"q": "grain"})):
            with self.subTest(path=path, parameters=parameters):
                one, other = self.bodies(path, **parameters)
                self.assertEqual(other, one)
        self.refused("/api/documents?id=none&store=apart", 404)

    def test_what_it_lacks(self):
        described = self.server.json("/api/store", store="apart")
        self.assertEqual((described["shards"], described["offers"]), (3, []))
        self.assertNotIn("shards", self.server.json("/api/store", store="whole"))
        for name, value, reason in (("feedback", "rm3", "(feedback)"), ("field_weights", "title=3", "(field_weights, field_b)"),
                                    ("prior", "0.1", "prior: the store has no link ranks"), ("expand", "2", "expand: the store has no thesaurus"),
                                    ("like", "ford", "like: the store has no document vectors"), ("vector", "[1]", "vector: the store has no vectors"),
                                    ("order_model", "history", "(order_model)")):
            more = "&model=ql&order=2" if name == "order_model" else ""
            self.assertIn(reason, self.refused(f"/api/search?store=apart&q=grain&{name}={quote(value)}{more}"))
        offered = {option["name"]: option for option in self.server.json("/api/options", store="apart")["options"]}
        self.assertEqual([choice["value"] for choice in offered["feedback"]["choices"]], ["none"])
        self.assertEqual(offered["order_model"]["schema"]["enum"], ["interpolated"])
        self.assertEqual(len(offered["dependence"]["choices"]), 2)

    def test_tools_of_agents(self):
        def answers(name):
            messages = [("search", {"query": "grain hrose", "k": 4}), ("read_document", {"id": "ford"}), ("count_phrase", {"phrase": "near the", "k": 3}),
                        ("complete", {"query": "the ho"})]
            sent = [json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {**of, "store": name}}})
                    for tool, of in messages]
            return [self.server.post("/mcp", message)[2] for message in sent]
        self.assertEqual(answers("apart"), answers("whole"))
        self.assertNotIn('"isError":true', "".join(answers("apart")))


class Lists(Api):
    """What a store has beside its words: similar words, links, vectors of documents, duplicates."""

    store = staticmethod(rich_store)

    def program(self, *arguments):
        lines = subprocess.run([QUERN, *map(str, arguments), "--format", "jsonl", "--quiet"], capture_output=True, text=True, check=True).stdout
        return [json.loads(line) for line in lines.splitlines()]

    def test_the_same_hits_as_the_program(self):
        for parameters, options in (
            ({}, []),
            ({"prior": "0.5"}, ["--prior", "0.5"]),
            ({"prior": "0"}, ["--prior", "0"]),
            ({"expand": "3"}, ["--expand", "3"]),
            ({"expand": "2", "expand_weight": "0.7", "prior": "2"}, ["--expand", "2", "--expand-weight", "0.7", "--prior", "2"]),
            ({"like": "page-1"}, ["--like", "page-1"]),
            ({"like": "page-1", "like_weight": "3", "expand": "1"}, ["--like", "page-1", "--like-weight", "3", "--expand", "1"]),
        ):
            for query in ("horse field", "sparrow"):
                with self.subTest(query=query, options=options):
                    needs(self, "thesaurus" if "expand" in parameters else "document_vectors" if "like" in parameters else "link_ranks")
                    expected = self.program("search", rich_store(), query, "--explain", *options)
                    got = self.server.json("/api/search", q=query, explain=1, **parameters)["hits"]
                    self.assertEqual([(hit["id"], hit["score"], hit["explanation"]) for hit in got],
                                     [(hit["id"], hit["score"], hit["explanation"]) for hit in expected])
                    self.assertTrue(got)

    def test_parts_add_up(self):
        needs(self, "document_vectors")
        answer = self.server.json("/api/search", q="horse", expand=3, prior=1, like="page-1", explain=1, parts=1)
        lists = set()
        for hit in answer["hits"]:
            self.assertEqual(sum(part["score"] for part in hit["explanation"]), hit["score"])
            lists |= {part["list"] for part in hit["explanation"]}
        self.assertEqual(lists, {"text", "prior", "like"})
        self.assertEqual(answer["like"], "page-1")
        self.assertNotIn("page-1", [hit["id"] for hit in answer["hits"]])
        similar = {word["word"] for word in answer["similar_words"]}
        self.assertTrue(similar & {"donkey", "mule"}, similar)
        marked = {piece.lower() for hit in answer["hits"] for piece in hit["snippet_parts"][1::2]}
        self.assertTrue(marked & similar, marked)  # what was looked for is marked, too

    def test_duplicates(self):
        hit = self.server.json("/api/search", q="keeper sack")["hits"][0]
        self.assertEqual((hit["id"], hit["copies"]), ("ford", self.program("search", rich_store(), "keeper sack")[0]["copies"]))
        self.assertEqual([(copy["id"], copy["title"]) for copy in hit["copies"]], [("ford-copy", "The mill, again"), ("ford-other", "")])
        self.assertEqual(hit["copy_count"], 2)
        self.assertTrue(all(0 < copy["distance"] < 20 for copy in hit["copies"]))
        self.assertEqual(self.server.json("/api/search", q="plain quern", k=1)["hits"][0]["copies"], [])
        many = self.server.json("/api/search", q="wheelbarrow", k=1)["hits"][0]
        self.assertEqual(([copy["id"] for copy in many["copies"]], many["copy_count"]), ([f"notice-{i}" for i in range(1, 11)], 12))

    def test_like_needs_no_query(self):
        needs(self, "document_vectors")
        hits = self.server.json("/api/search", like="page-1")["hits"]
        self.assertEqual(len(hits), 10)
        self.assertTrue(all(hit["title"].startswith("Beasts") for hit in hits), hits)
        self.assertIn("missing", self.refused("/api/search?like_weight=1"))

    def test_did_you_mean(self):
        answer = self.server.json("/api/search", q='the Hipopotamus, "old frod"')
        self.assertEqual(answer["did_you_mean"], 'the hippopotamus, "old ford"')
        self.assertEqual([of["unknown"] for of in answer["suggestions"]], ["frod", "hipopotamus"])
        self.assertEqual(answer["suggestions"][1]["words"][0], {"word": "hippopotamus", "distance": 1, "documents": 120})
        self.assertIsNone(self.server.json("/api/search", q="horse")["did_you_mean"])
        answer = self.server.json("/api/search", q="hipopotamus", suggestions=0, typos="never")
        self.assertEqual((answer["did_you_mean"], answer["suggestions"]), (None, []))

    def test_words_with_typos_are_found(self):
        ids = lambda answer: [hit["id"] for hit in answer["hits"]]
        answer = self.server.json("/api/search", q="hipopotamus", parts=1)
        (variants,) = answer["variants"]
        self.assertEqual((variants["word"], variants["total"]), ("hipopotamus", len(variants["words"])))
        self.assertIn("hippopotamus", [of["word"] for of in variants["words"]])
        self.assertIn("hippopotamus", answer["hits"][0]["snippet_parts"][1].lower())
        self.assertEqual(self.server.json("/api/search", q="hippopotamus")["variants"], [])
        typed = self.server.json("/api/search", q="hippop", prefix_last=1, typos="never", parts=1)
        self.assertEqual(ids(typed)[0], ids(self.server.json("/api/search", q="hippop*"))[0])
        self.refused("/api/search?q=x&typos=3")

    def test_completions(self):
        answer = self.server.json("/api/complete", q="a hippop", k=3)
        self.assertEqual((answer["query"], answer["beginning"]), ("a hippop", "hippop"))
        best = answer["words"][0]
        self.assertEqual((best["word"], best["query"], best["distance"]), ("hippopotamus", "a hippopotamus", 0))
        self.assertEqual(best["documents"], self.server.json("/api/search", q="hippopotamus", total=1)["total"])
        self.assertGreaterEqual(answer["total"], len(answer["words"]))
        self.assertEqual(self.server.json("/api/complete", q="hpipop")["words"][0]["word"], "hippopotamus")
        self.assertEqual(self.server.json("/api/complete", q="hpipop", typos="never")["words"], [])
        for typed in ("", "hippop ", "..."):
            self.assertEqual(self.server.json("/api/complete", q=typed)["words"], [])
        for bad in ("", "k=3", "q=a&k=0", "q=a&k=101", "q=a&typos=3", "q=" + "a" * 2049):
            self.refused("/api/complete?" + bad)

    def test_statistics(self):
        store = self.server.json("/api/store")
        answer = self.server.json("/api/statistics", words=1000)
        lengths = answer["lengths"]
        self.assertEqual(sum(of["documents"] for of in lengths["documents"]), store["documents"])
        self.assertEqual([of["from"] for of in lengths["documents"]][:4], [0, 1, 2, 4])
        words = [self.server.json("/api/documents", id=id)["words"] for id in ("long", "plain", "ford")]
        self.assertEqual(lengths["longest"], max(words))
        self.assertLessEqual(lengths["shortest"], lengths["median"])
        counts = [of["occurrences"] for of in answer["words"]]
        self.assertEqual(counts, sorted(counts, reverse=True))
        for of in answer["words"][:5]:
            self.assertEqual(self.server.json("/api/search", q=of["word"], total=1, typos="never", title_weight=0)["total"], of["documents"])
        if "link_ranks" in store["offers"]:
            ranks = [of["rank"] for of in answer["linked"]]
            self.assertEqual(ranks, sorted(ranks, reverse=True))
            self.assertEqual(len(ranks), 10)
        self.refused("/api/statistics?words=1001")

    def test_fields_of_the_store(self):
        fields = {field["name"]: field for field in self.server.json("/api/store")["fields"]}
        self.assertEqual({name: field["type"] for name, field in fields.items()}, {"price": "number", "tag": "list"})
        for name, field in fields.items():
            self.assertEqual(field["documents"], self.server.json("/api/search", filter=f"{name} EXISTS", count=1)["total"])

    def test_documents_with_duplicates(self):
        answer = self.server.json("/api/duplicates", copies=100)
        counts = [of["copy_count"] for of in answer["groups"]]
        self.assertEqual(counts, sorted(counts, reverse=True))
        self.assertEqual((answer["total"], answer["duplicates"]), (len(counts), sum(counts)))
        self.assertEqual(answer["duplicates"], self.server.json("/api/store")["copies"])
        by_id = {of["id"]: of for of in answer["groups"]}
        self.assertEqual([copy["id"] for copy in by_id["ford"]["copies"]], ["ford-copy", "ford-other"])
        self.assertEqual(by_id["notice-0"]["copy_count"], 12)
        second = self.server.json("/api/duplicates", k=1, offset=1, copies=1)
        self.assertEqual([of["id"] for of in second["groups"]], [answer["groups"][1]["id"]])
        self.assertEqual(self.server.json("/api/duplicates", offset=1000)["groups"], [])
        for bad in ("k=0", "k=1001", "q=x"):
            self.refused("/api/duplicates?" + bad)

    def test_a_corrected_query_is_answered_where_that_is_asked_for(self):
        ids = lambda answer: [hit["id"] for hit in answer["hits"]]
        meant = self.server.json("/api/search", q="hippopotamus")
        plain = self.server.json("/api/search", q="hipopotamus", typos="never")
        self.assertEqual((plain["corrected_query"], plain["hits"]), (None, []))
        answer = self.server.json("/api/search", q="hipopotamus", correct=1, parts=1)
        self.assertEqual((answer["query"], answer["corrected_query"]), ("hipopotamus", "hippopotamus"))
        self.assertEqual(answer["unknown_words"], ["hipopotamus"])
        self.assertEqual(ids(answer), ids(meant))
        self.assertIn("hippopotamus", answer["hits"][0]["snippet_parts"][1].lower())
        self.assertEqual(ids(self.server.json("/api/search", q="hipopotamus", correct=1, offset=10)),
                         ids(self.server.json("/api/search", q="hippopotamus", offset=10)))
        behind = self.server.json("/api/search", q="frod", correct=1, offset=40, k=10)
        self.assertEqual((behind["corrected_query"], behind["hits"]), ("ford", []))
        none = self.server.json("/api/search", q='"hipopotamus zyzzyva"', correct=1)  # no document holds that either
        self.assertEqual((none["corrected_query"], none["hits"]), (None, []))
        self.assertIsNone(self.server.json("/api/search", q="horse", correct=1)["corrected_query"])

    def test_similar_words(self):
        needs(self, "thesaurus")
        answer = self.server.json("/api/words", q="Horse zyzzyva horse, \"sparrow sings\"", k=3)
        self.assertTrue(answer["thesaurus"])
        self.assertEqual([of["word"] for of in answer["words"]], ["horse", "zyzzyva", "sparrow", "sings"])
        for of in answer["words"]:
            if of["word"] == "zyzzyva":
                self.assertEqual(of["similar"], [])
                continue
            expected = self.program("similar", rich_store(), of["word"], "--top", "3")
            self.assertEqual([(near["word"], near["score"]) for near in of["similar"]], [(near["word"], near["score"]) for near in expected])
            self.assertTrue(of["similar"])
        self.assertEqual(self.server.json("/api/words", q="")["words"], [])
        for bad in ("", "q=x&k=0", "q=x&k=101", "q=" + "a" * 2049, "q=x&top=3", "q=%zz"):
            self.refused("/api/words?" + bad)

    def test_refusals(self):
        for bad in ("prior=-1", "prior=101", "prior=nan", "prior=", "expand=21", "expand=-1", "expand=1.5", "expand=1&expand_weight=0", "expand=1&expand_weight=1.1",
                    "like=none", "like=", "like=page-1&like_weight=0", "like=page-1&like_weight=101", "suggestions=21", "like=%ff"):
            with self.subTest(bad=bad):
                self.refused("/api/search?q=horse&" + bad)

    def test_a_store_without_them(self):
        with Server("--threads", "1") as plain:
            for given, lacks in (("prior=1", "link ranks"), ("expand=1", "thesaurus"), ("like=plain", "document vectors")):
                status, _, body = plain.get("/api/search?q=grain&" + given)
                self.assertEqual(status, 400)
                self.assertIn(lacks, body)
                self.assertNotIn(str(folder()), body)  # where the store lies is nobody's business
            self.assertEqual(plain.json("/api/store")["offers"], [])
            self.assertEqual(plain.json("/api/words", q="grain"), {"query": "grain", "thesaurus": False, "words": []})
        self.assertIn("link_ranks", self.server.json("/api/store")["offers"])


class Documents(Api):
    def test_every_document(self):
        for document in DOCUMENTS:
            got = self.server.json("/api/documents/" + quote(document["id"], safe=""))
            self.assertEqual(got["id"], document["id"])
            self.assertEqual(got["title"], document.get("title", ""))
            if document["id"] != "long":
                self.assertEqual(got["text"], document["text"])
                self.assertIsNone(got["next_offset"])
            self.assertEqual(self.server.json("/api/documents", id=document["id"]), got)

    def test_slashes_may_stand_as_they_are(self):
        self.assertEqual(self.server.json("/api/documents/a/b%20c")["id"], "a/b c")
        self.assertEqual(self.server.json("/api/documents/../../etc/passwd")["title"], "Not a file")
        self.assertEqual(self.server.json("/api/documents/a%2fb c".replace(" ", "%20"))["id"], "a/b c")

    def test_pieces_are_the_text(self):
        for size in (4, 7, 1000, 65536):
            text, offset = "", 0
            while offset is not None and len(text) < 20000:
                piece = self.server.json("/api/documents/long", offset=offset, bytes=size)
                self.assertEqual(piece["offset"], offset)
                self.assertNotIn("\ufffd", piece["text"])
                self.assertLessEqual(len(piece["text"].encode()), size)
                text += piece["text"]
                offset = piece["next_offset"]
                if size < 1000 and len(text) > 300:
                    break
            self.assertEqual(text, LONG_TEXT[: len(text)])
            self.assertTrue(len(text) > 300)
        self.assertEqual(piece["text_bytes"], len(LONG_TEXT.encode()))

    def test_an_offset_inside_a_character_goes_back(self):
        at = LONG_TEXT.encode().index("€".encode())
        for inside in (at + 1, at + 2):
            self.assertEqual(self.server.json("/api/documents/long", offset=inside, bytes=4)["offset"], at)

    def test_marks(self):
        got = self.server.json("/api/documents/plain", q="GRAIN")
        self.assertEqual("".join(got["text_parts"]), BY_ID["plain"]["text"])
        self.assertEqual(got["text_parts"][1::2], ["grain", "Grain"])

    def test_marks_of_words_with_typos_and_beginnings(self):
        def marks(**given):
            return self.server.json("/api/documents/plain", **given)["text_parts"][1::2]

        self.assertEqual(marks(q="graiin"), ["grain", "Grain"])
        self.assertEqual(marks(q="graiin", typos="never"), [])
        self.assertEqual(marks(q="sto", typos="never"), [])
        self.assertEqual(marks(q="sto", prefix_last=1), ["stones"])
        hit = self.server.json("/api/search", q="graiin", parts=1)["hits"][0]
        self.assertEqual(marks(q="graiin"), [part for part in self.server.json("/api/documents", id="plain", q="grain")["text_parts"][1::2]], hit)

    def test_refusals(self):
        self.refused("/api/documents/none", 404)
        self.refused("/api/documents/", 404)
        self.assertIn("missing", self.refused("/api/documents"))
        self.refused("/api/documents?id=", 404)
        self.refused("/api/documents?id=none", 404)
        self.refused("/api/documents/plain?id=plain")
        self.refused("/api/documents/Plain", 404)  # ids are bytes
        for bad in ("/api/documents/%", "/api/documents/%4", "/api/documents/%4g", "/api/documents/plain?k=1",
                    "/api/documents/plain?offset=-1", "/api/documents/plain?offset=100000", "/api/documents/plain?bytes=3",
                    "/api/documents/plain?bytes=1048577"):
            with self.subTest(bad=bad):
                self.refused(bad)


class Rest(Api):
    def test_store_is_what_info_says(self):
        lines = subprocess.run([QUERN, "info", store(), "--format", "jsonl"], capture_output=True, text=True, check=True).stdout
        said = {row["property"]: row["value"] for row in map(json.loads, lines.splitlines())}
        got = self.server.json("/api/store")
        for section in got.pop("sections"):
            self.assertEqual(said.pop(f"section.{section['name']}.bytes"), section["bytes"])
            self.assertEqual(said.pop(f"section.{section['name']}.checksum"), section["checksum"])
        self.assertEqual(said.pop("kind"), "store")
        self.assertEqual(got.pop("name"), store().name)
        self.assertEqual(got.pop("stores"), [{"name": store().name, "documents": len(DOCUMENTS)}])
        got.pop("offers")  # for pages; the sections say it too
        self.assertEqual(got.pop("limits"), {"results": 50, "query_bytes": 2048})
        self.assertEqual(got.pop("fields"), [])
        self.assertEqual(got.pop("indexed_fields"), [])
        self.assertEqual(got, said)

    def test_head_is_get_without_a_body(self):
        for path in ("/", "/app.js", "/api/search?q=grain", "/api/documents/plain", "/healthz", "/nothing", "/api/search"):
            status, headers, body = self.server.get(path)
            head_status, head_headers, head_body = self.server.get(path, "HEAD")
            self.assertEqual((status, headers["Content-Type"]), (head_status, head_headers["Content-Type"]))
            self.assertEqual(head_body, "")
            if "seconds" not in body:
                self.assertEqual(int(head_headers["Content-Length"]), len(body.encode()))

    def test_other_methods(self):
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"):
            for path, allowed in (("/api/words?q=grain", "GET, HEAD"), ("/nothing", "GET, HEAD"), ("/api/search?q=grain", "GET, HEAD, POST"), ("/mcp", "POST")):
                if method not in allowed:
                    got, headers, _ = self.server.get(path, method)
                    self.assertEqual((got, headers["Allow"]), (405, allowed), (method, path))

    def test_nothing_there(self):
        for path in ("/x", "/index.html", "/../etc/passwd", "//", "/api", "/api/", "/app.js/", "/api/search/", "/%2e%2e/", "/style.css%00"):
            self.refused(path, 404)

    def test_every_answer_is_guarded(self):
        for path in ("/", "/app.js", "/style.css", "/quern.svg", "/openapi.json", "/api/search?q=grain", "/api/search", "/nothing", "/healthz", "/metrics"):
            _, headers, _ = self.server.get(path)
            self.assertTrue(headers["Content-Security-Policy"].startswith("default-src 'none';"), path)
            self.assertNotIn("unsafe", headers["Content-Security-Policy"])
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(headers["Referrer-Policy"], "no-referrer")
            self.assertEqual(headers["Cross-Origin-Resource-Policy"], "same-origin")
            self.assertNotIn("Access-Control-Allow-Origin", headers)

    def test_pages_are_kept_by_their_tags(self):
        for path in ("/", "/app.js", "/style.css", "/quern.svg", "/openapi.json"):
            status, headers, body = self.server.get(path)
            self.assertEqual(status, 200)
            tag = headers["ETag"]
            for given in (tag, "W/" + tag, f'"other", {tag}', "*"):
                status, headers, empty = self.server.get(path, headers={"If-None-Match": given})
                self.assertEqual((status, empty, headers["ETag"]), (304, "", tag))
            self.assertEqual(self.server.get(path, headers={"If-None-Match": '"other"'})[2], body)

    def test_pages_use_nothing_from_elsewhere(self):
        for path in ("/", "/app.js", "/style.css", "/quern.svg"):
            body = self.server.get(path)[2].replace("http://www.w3.org/2000/svg", "")
            self.assertNotRegex(body, r"https?://|@import|url\(")

    def test_metrics(self):
        def now():
            text = self.server.get("/metrics")[2]
            for line in text.splitlines():
                self.assertRegex(line, r"^(# (HELP|TYPE) \w+ .+|\w+(\{\w+=\"[^\"]*\"(,\w+=\"[^\"]*\")*\})? [0-9.e+-]+)$")
            return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in text.splitlines() if not line.startswith("#")}

        before = now()
        for path in ["/api/search?q=grain"] * 3 + ["/api/search", "/api/documents/plain", "/api/documents/none", "/hidden\"}"]:
            self.server.get(path)
        after = now()
        rises = {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0)}
        self.assertEqual(rises['quern_http_requests_total{route="/api/search",status="200"}'], 3)
        self.assertEqual(rises['quern_http_requests_total{route="/api/search",status="400"}'], 1)
        self.assertEqual(rises['quern_http_requests_total{route="/api/documents/{id}",status="404"}'], 1)
        self.assertEqual(rises['quern_http_requests_total{route="other",status="404"}'], 1)
        self.assertEqual(rises['quern_http_request_duration_seconds_count{route="/api/search"}'], 4)
        self.assertEqual(rises['quern_http_request_duration_seconds_bucket{route="/api/search",le="+Inf"}'], 4)
        self.assertEqual(after["quern_store_documents"], len(DOCUMENTS))
        self.assertEqual(after["quern_http_requests_in_flight"], 0)

    def test_damage_is_an_error_of_the_server(self):
        damaged = folder() / "damaged"
        shutil.copytree(store(), damaged)
        texts = bytearray((damaged / "texts.section").read_bytes())
        texts[len(texts) // 8] ^= 0x40
        (damaged / "texts.section").write_bytes(texts)
        with Server(of=damaged) as server:
            answers = [server.get("/api/documents/" + quote(document["id"], safe=""))[::2] for document in DOCUMENTS]
            bad = [json.loads(body)["detail"] for status, body in answers if status == 500]
            self.assertTrue(bad)
            self.assertEqual(set(bad), {"the server failed to process this request"})
            self.assertEqual(server.json("/healthz"), {"status": "ok"})
            _, said = server.end()
        self.assertIn(f"warning: {damaged}", said)  # for whoever runs the server, once
        self.assertTrue(0 < said.count("section texts") < len(bad), said)

    def test_refusals_name_nothing_of_this_machine(self):
        for target in ("/api/search?q=grain&expand=3", "/api/search?q=grain&prior=1", "/api/search?q=grain&like=plain", "/api/search?q=grain&k1=-1",
                       "/api/documents/none", "/api/search?q=grain&order=2"):
            status, _, body = self.server.get(target)
            self.assertIn(status, (400, 404), target)
            self.assertNotIn(str(folder()), body)


class Description(Api):
    store = staticmethod(rich_store)

    def setUp(self):
        self.api = self.server.json("/openapi.json")
        self.schemas = self.api["components"]["schemas"]
        self.gets = {path: item for path, item in self.api["paths"].items() if path not in ("/api/dedup", "/api/shard", "/mcp", "/files/{path}")}  # test_dedup.py, test_shards.py, test_mcp.py, Folders

    def test_every_route_is_described_and_none_else(self):
        for path in ("/", "/app.js", "/api/search?q=x", "/api/words?q=x", "/api/complete?q=x", "/api/documents/plain", "/api/documents?id=plain", "/api/statistics", "/api/duplicates", "/api/store", "/api/options", "/files/plain", "/healthz", "/metrics", "/openapi.json", "/api/dedup", "/api/shard", "/mcp"):
            self.server.get(path)
        routes = set(re.findall(r'quern_http_requests_total\{route="([^"]+)"', self.server.get("/metrics")[2]))
        pages = {"/", "/app.js", "/style.css", "/quern.svg", "/openapi.json", "other"}
        self.assertEqual(routes - pages, set(self.api["paths"]))

    def test_examples_are_answered_as_described(self):
        for path, item in self.gets.items():
            self.assertEqual(set(item), {"get", "post"} if path == "/api/search" else {"get"}, path)
            parameters = item["get"].get("parameters", [])
            target = path
            for parameter in parameters:
                if parameter["in"] == "path":
                    self.assertEqual(parameter["example"], "plain")
                    target = target.replace("{" + parameter["name"] + "}", parameter["example"])
            offers = self.server.json("/api/store")["offers"]
            examples = {p["name"]: p["example"] for p in parameters if p["in"] == "query" and NEEDS.get(p["name"]) in (None, *offers)}
            for given in [examples] + [{n: v for n, v in examples.items() if n in ("q", "id", name)} for name in examples]:
                status, headers, body = self.server.get(target + ("?" + urlencode(given) if given else ""))
                self.assertEqual(status, 200, (path, given, body))
                content = item["get"]["responses"]["200"]["content"]
                kind = headers["Content-Type"]
                self.assertIn(kind.split(";")[0], content)
                if kind == "application/json":
                    conforms(json.loads(body), content[kind]["schema"], self.schemas)

    def test_every_parameter_is_described_and_none_else(self):
        for path, item in self.gets.items():
            described = {p["name"] for p in item["get"].get("parameters", []) if p["in"] == "query"}
            detail = self.refused(path.replace("{id}", "plain") + "?no_such_parameter=1")
            known = set(detail.partition("(expected one of ")[2].rstrip(")").split(", ")) - {""}
            self.assertEqual(known, described, path)

    def test_refusals_are_as_described(self):
        for path, item in self.gets.items():
            for status, target in (("400", path.replace("{id}", "plain") + "?no_such_parameter=1"), ("404", path.replace("{id}", "none"))):
                if status == "404" and "{id}" not in path:
                    continue
                _, headers, body = self.server.get(target)
                self.assertIn(status, item["get"]["responses"])
                self.assertEqual(headers["Content-Type"], "application/problem+json")
                conforms(json.loads(body), self.schemas["Problem"], self.schemas)

    def test_bounds_are_those_of_the_command_line(self):
        own = {"k", "offset", "expand", "suggestions", "facet_values", "feedback_documents", "feedback_terms", "fusion_depth"}  # limits of the server, and parameters of its own
        checked = 0
        for parameter in self.api["paths"]["/api/search"]["get"]["parameters"]:
            name, schema = parameter["name"], parameter["schema"]
            if name in own or schema["type"] not in ("number", "integer"):
                continue
            outside = [schema[bound] - 1 for bound in ("minimum",) if bound in schema]
            outside += [schema[bound] for bound in ("exclusiveMinimum", "exclusiveMaximum") if bound in schema]
            outside += [2 * schema[bound] for bound in ("maximum",) if bound in schema]
            self.assertTrue(outside, name)
            for value in outside:
                with self.subTest(name=name, value=value):
                    said = self.refused(f"/api/search?q=grain&{name}={quote(str(value))}")
                    self.assertTrue(said.startswith(f"{name}: invalid value '{value}' (expected "), said)
                    option = "--" + name.replace("_", "-")
                    refused = subprocess.run([QUERN, "search", store(), "grain", f"{option}={value}"], capture_output=True, text=True)
                    self.assertEqual((refused.returncode, refused.stderr), (2, f"quern search: --{said}\n".replace("--" + name, option)))
                    checked += 1
        self.assertGreater(checked, 10)

    def test_file_is_the_one_of_the_sources_with_parameters(self):
        source = json.loads((Path(__file__).resolve().parents[2] / "web" / "openapi.json").read_text())
        said = subprocess.run([QUERN, "--version"], capture_output=True, text=True, check=True).stdout
        source["info"]["version"] = said.split()[1]
        body = source["paths"]["/api/search"].pop("post")
        described = self.api["paths"]["/api/search"].pop("post")
        self.assertEqual((body["parameters"], body["requestBody"]["content"]["application/json"]["schema"]), ("parameters of /api/store", "body of /api/search"))
        self.assertEqual({**body, "parameters": 0, "requestBody": 0}, {**described, "parameters": 0, "requestBody": 0})
        for path, item in source["paths"].items():
            for method, operation in item.items():
                if "parameters" in operation and path != "/mcp":  # whose parameter is a header
                    self.assertEqual(operation["parameters"], f"parameters of {path}")
                    operation["parameters"] = self.api["paths"][path][method]["parameters"]
        self.assertEqual(self.api, source)

    def test_a_search_as_a_body_is_described(self):
        get, post = (self.api["paths"]["/api/search"][method] for method in ("get", "post"))
        body = post["requestBody"]["content"]["application/json"]
        self.assertEqual(list(body["schema"]["properties"]), [p["name"] for p in get["parameters"]])
        self.assertFalse(body["schema"]["additionalProperties"])
        self.assertEqual([p["name"] for p in post["parameters"]], ["store"])
        status, _, said = self.server.post("/api/search", json.dumps(body["example"]))
        self.assertEqual(status, 200)
        conforms(json.loads(said), post["responses"]["200"]["content"]["application/json"]["schema"], self.schemas)


class Bodies(Api):
    """POST /api/search: the parameters as members of a JSON object."""
    store = staticmethod(rich_store)

    def said(self, body, target="/api/search", **how):
        status, headers, text = self.server.post(target, body if isinstance(body, str) else json.dumps(body), **how)
        return status, headers, json.loads(text)

    def test_answers_are_those_of_an_address(self):
        for given in ({"q": "grain"}, {"q": "grain stones", "k": 3, "offset": 1, "b": 0.75, "snippets": False, "total": True},
                      {"q": "grain", "model": "ql", "lambda": 0.4, "explain": True}, {"filter": "price < 10", "sort": "-price", "k": 2.0}):
            status, headers, said = self.said(given)
            self.assertEqual((status, headers["Cache-Control"]), (200, "no-store"), said)
            plain = {name: int(value) if isinstance(value, (bool, float)) and name != "lambda" and name != "b" else value for name, value in given.items()}
            expected = self.server.json("/api/search", **plain)
            self.assertEqual({**said, "seconds": 0}, {**expected, "seconds": 0})

    def test_what_is_not_understood_is_named(self):
        for body, detail in (("", "invalid JSON at byte 1 of the body (expected an object of parameters)"), ("{", "invalid JSON at byte 2"),
                             ('{"q":"x"}\0]', "invalid JSON at byte 10 of the body"), ('{"q":"x\0"}', "invalid JSON at byte "),
                             ("[]", "the body must be a JSON object with the parameters"), ('{"q":{"a":{"b":1}}}', "the body is nested too deeply"),
                             ({"query": "x"}, "unknown parameter 'query' (expected one of q, k, "), ({"q": 1}, "q must be a string"),
                             ({"q": None}, "q must be a string"), ({"q": "x", "k": "5"}, "k must be a whole number"), ({"q": "x", "k": 1.5}, "k must be a whole number"),
                             ({"q": "x", "k": 0}, "k: invalid value '0' (expected "), ({"q": "x", "snippets": 1}, "snippets must be true or false"),
                             ({"q": "x", "k1": True}, "k1 must be a number"), ({"vector": "[1]"}, "vector must be a list of numbers"),
                             ({"vector": [1, "a"]}, "vector must be a list of numbers"), ({"vector": [1]}, "vector: the store has no vectors of documents"),
                             ('{"q":"a","q":"b"}', "q is given twice"), ({}, "q (the query) is missing"), ('{"q":"\xff"}', "invalid JSON at byte "),
                             ('{"k":1e999}', "invalid JSON in the body: a number is too large"), ({"q": "x", "store": "none"}, "store: there is no store 'none'")):
            with self.subTest(body=body):
                status, headers, said = self.said(body)
                self.assertEqual((status, headers["Content-Type"]), (400, "application/problem+json"))
                self.assertTrue(said["detail"].startswith(detail), said["detail"])

    def test_the_store_is_named_once(self):
        name = self.server.json("/api/store")["name"]
        for target, body in ((f"/api/search?store={name}", {"q": "grain"}), ("/api/search", {"q": "grain", "store": name})):
            self.assertEqual(self.said(body, target)[0], 200)
        self.assertEqual(self.said({"q": "grain", "store": name}, f"/api/search?store={name}")[2]["detail"], "store is given twice")
        self.assertEqual(self.said({"q": "grain"}, "/api/search?k=5")[2]["detail"], "unknown parameter 'k' (expected one of store)")

    def test_only_json_of_a_limited_length(self):
        self.assertEqual(self.said({"q": "grain"}, kind="text/plain")[0], 415)
        self.assertEqual(self.said({"q": "grain"}, kind="application/x-www-form-urlencoded")[0], 415)
        self.assertEqual(self.said({"q": "grain"}, kind="Application/JSON; charset=utf-8")[0], 200)
        self.assertEqual(self.said({"q": "grain"}, headers={"Content-Encoding": "Identity"})[0], 200)
        status, _, said = self.said({"q": "grain"}, headers={"Content-Encoding": "gzip"})
        self.assertEqual((status, said["detail"]), (415, "unsupported Content-Encoding (expected a body that is not compressed)"))
        self.assertEqual(self.said('{"q":"grain"' + " " * ((1 << 20) - 13) + "}")[0], 200)
        self.assertEqual(self.said('{"q":"grain"' + " " * (1 << 20) + "}")[0], 413)
        self.assertEqual(self.said({"q": "x" * 2049})[2]["detail"], "q is too long (at most 2048 bytes)")


class Vectors(unittest.TestCase):
    def test_a_long_vector(self):
        rows = [[float((d + 1) * (i % 7 - 3)) for i in range(768)] for d in range(len(DOCUMENTS))]
        rows[1][5] += 1.5
        (folder() / "vectors.jsonl").write_text("".join(json.dumps({"id": document["id"], "vector": row}) + "\n" for document, row in zip(DOCUMENTS, rows)))
        store()
        hybrid = folder() / "hybrid"
        subprocess.run([QUERN, "build", folder() / "corpus.jsonl", "-o", hybrid, "--skip", "all", "--quiet", "--vectors", folder() / "vectors.jsonl"], check=True)
        query = [x + 0.123456789 for x in rows[1]]
        (folder() / "query.jsonl").write_text(json.dumps({"id": "1", "vector": query}) + "\n")
        found = subprocess.run([QUERN, "search", hybrid, "grain", "--query-vector", folder() / "query.jsonl", "--format", "jsonl", "--quiet", "-k", "3"],
                               capture_output=True, text=True, check=True).stdout
        expected = [(hit["id"], hit["score"]) for hit in map(json.loads, found.splitlines())]
        with Server("--threads", "1", of=hybrid) as server:
            status, _, said = server.post("/api/search", json.dumps({"q": "grain", "k": 3, "vector": query}))
            self.assertEqual(status, 200, said)
            self.assertEqual([(hit["id"], hit["score"]) for hit in json.loads(said)["hits"]], expected)
            status, _, said = server.post("/api/search", json.dumps({"vector": query[1:]}))
            self.assertEqual(status, 400, said)
            self.assertTrue(json.loads(said)["detail"].startswith("vector: "), said)


del Api  # its tests are those of its heirs

class Options(unittest.TestCase):
    def test_options_are_the_parameters_with_their_choices(self):
        with Server("--threads", "1") as server:
            options = server.json("/api/options")["options"]
            described = server.json("/openapi.json")["paths"]["/api/search"]["get"]["parameters"]
            self.assertEqual([(of["name"], of["description"]) for of in options], [(of["name"], of["description"]) for of in described])
            for of, parameter in zip(options, described):
                if of["name"] not in ("store", "model"):  # whose names are those of this server, and of the store
                    self.assertEqual(of["schema"], parameter["schema"])
                if of["choices"]:
                    self.assertEqual([choice["value"] for choice in of["choices"]], of["schema"]["enum"])
                    self.assertEqual(len({choice["name"] for choice in of["choices"]}), len(of["choices"]))
                    self.assertTrue(all(choice["explanation"] for choice in of["choices"]))
            self.assertEqual([of["name"] for of in options if of["choices"]], ["model", "dependence", "feedback"])
            model = next(of for of in options if of["name"] == "model")
            every = next(of for of in described if of["name"] == "model")["schema"]
            self.assertEqual(model["schema"], {**every, "enum": [name for name in every["enum"] if name != "impact"]})
            said = subprocess.run([QUERN, "search", store(), "x", "--model", "none"], capture_output=True, text=True).stderr
            for choice in model["choices"]:
                self.assertIn(choice["value"], said)


class Stores(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        other = folder() / "elsewhere" / "store"
        if not other.exists():
            other.parent.mkdir()
            (folder() / "other.jsonl").write_text(json.dumps({"id": "plain", "title": "Other", "text": "Only grain is here."}) + "\n")
            subprocess.run([QUERN, "build", folder() / "other.jsonl", "-o", other, "--skip", "all", "--quiet"], check=True)
        cls.server = Server("--threads", "2", of=[store(), other, pages()])

    @classmethod
    def tearDownClass(cls):
        cls.server.end()

    def test_each_by_its_name(self):
        names = [of["name"] for of in self.server.json("/api/store")["stores"]]
        self.assertEqual(names, ["store", "store-2", "pages"])
        for name, count in (("store", len(DOCUMENTS)), ("store-2", 1), ("pages", 6)):
            said = self.server.json("/api/store", store=name)
            self.assertEqual((said["name"], said["documents"]), (name, count))
        self.assertEqual(self.server.json("/api/store")["name"], "store")
        self.assertEqual([hit["id"] for hit in self.server.json("/api/search", q="grain", store="store-2")["hits"]], ["plain"])
        self.assertEqual(self.server.json("/api/documents/plain", store="store-2")["title"], "Other")
        self.assertEqual(self.server.json("/api/documents/plain")["title"], "Mill stones")
        self.assertEqual(self.server.json("/api/complete", q="onl", store="store-2")["words"][0]["word"], "only")
        self.assertEqual(self.server.json("/api/statistics", store="store-2")["lengths"]["longest"], 5)
        self.assertEqual(self.server.json("/api/duplicates", store="pages")["total"], 0)
        self.assertEqual(self.server.json("/api/words", q="grain", store="store-2")["words"], [])
        alone = [hit["score"] for hit in self.server.json("/api/search", q="grain")["hits"]]
        with Server("--threads", "1") as one:
            self.assertEqual([hit["score"] for hit in one.json("/api/search", q="grain")["hits"]], alone)

    def test_other_names_are_refused(self):
        for target in ("/api/search?q=x&store=none", "/api/store?store=", "/api/documents/plain?store=STORE", "/files/x.png?store=none"):
            status, _, body = self.server.get(target)
            self.assertEqual((status, json.loads(body)["detail"].endswith("(expected one of store, store-2, pages)")), (400, True), body)
        self.assertEqual(self.server.get("/api/search?q=x&store=store&store=store")[0], 400)

    def test_the_description_has_the_names(self):
        for path, item in self.server.json("/openapi.json")["paths"].items():
            for parameter in item.get("get", {}).get("parameters", []):
                if parameter["name"] == "store":
                    self.assertEqual(parameter["schema"]["enum"], ["store", "store-2", "pages"])

    def test_tools_of_agents(self):
        def call(**arguments):
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": arguments}}
            return json.loads(self.server.post("/mcp", json.dumps(message))[2])

        said = call(store="store-2", query="grain")["result"]["structuredContent"]
        self.assertEqual([hit["title"] for hit in said["hits"]], ["Other"])
        self.assertIn("error", call(query="grain"))


class Folders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--threads", "2", of=str(pages()))

    @classmethod
    def tearDownClass(cls):
        cls.server.end()

    def test_documents_as_their_folder_has_them(self):
        self.assertIn("folder", self.server.json("/api/store")["offers"])
        source = self.server.json("/api/documents", id="mill.md", source=1)["source"]
        self.assertEqual(source["form"], "html")
        self.assertIn("<strong>grain</strong>", source["text"])
        self.assertEqual({(of["address"], of["path"], of["document"]) for of in source["links"]},
                         {("sub/stones.png", "sub/stones.png", False), ("sub/none.png", "sub/none.png", False),
                          ("sub/flour.html#white", "sub/flour.html", True), ("nowhere.md", "nowhere.md", False)})
        self.assertEqual(self.server.json("/api/documents", id="code.py", source=1)["source"]["form"], "verbatim")
        self.assertEqual(self.server.json("/api/documents", id="notes.txt", source=1)["source"]["form"], "text")
        self.assertNotIn("source", self.server.json("/api/documents", id="mill.md"))
        schemas = self.server.json("/openapi.json")["components"]["schemas"]
        conforms(self.server.json("/api/documents", id="mill.md", source=1), schemas["Document"], schemas)

    def test_images_are_shown_and_documents_kept(self):
        status, headers, body = self.server.get("/files/sub/stones.png", decode=False)
        self.assertEqual((status, headers["Content-Type"], body), (200, "image/png", PICTURE))
        status, headers, _ = self.server.get("/files/drawing.svg")
        self.assertEqual((status, headers["Content-Type"]), (200, "image/svg+xml"))
        self.assertEqual(headers["Content-Security-Policy"], "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'")
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        status, headers, body = self.server.get("/files/hostile.html")
        self.assertEqual((status, headers["Content-Type"], body), (200, "application/octet-stream", (pages() / "hostile.html").read_text()))
        self.assertEqual(headers["Content-Disposition"], "attachment; filename*=UTF-8''hostile.html")
        self.assertEqual(self.server.get("/files/sub%2Fstones.png", method="HEAD")[0], 200)

    def test_nothing_else_of_the_machine(self):
        for path in ("/files/", "/files/none.png", "/files/link.png", "/files/.hidden/secret.png", "/files/../outside.png", "/files/..%2Foutside.png",
                     "/files/%2Fetc%2Fpasswd", "/files//etc/passwd", "/files/sub/../../outside.png", "/files/sub", "/files/%00", "/files/sub/./stones.png"):
            self.assertEqual(self.server.get(path)[0], 404, path)
        self.assertEqual(self.server.get("/files/%")[0], 400)
        self.assertEqual(self.server.get("/files/drawing.svg?x=1")[0], 400)

    def test_only_with_a_folder(self):
        with Server("--folder", "none", of=str(pages())) as closed:
            self.assertNotIn("folder", closed.json("/api/store")["offers"])
            self.assertIsNone(closed.json("/api/documents", id="mill.md", source=1)["source"])
            self.assertEqual(closed.get("/files/drawing.svg")[0], 404)
        built = folder() / "pages-store"
        subprocess.run([QUERN, "build", pages(), "-o", built, "--skip", "all", "--quiet"], check=True)
        with Server(of=[built, store()]) as closed:
            self.assertIsNone(closed.json("/api/documents", id="mill.md", source=1)["source"])
        with Server("--folder", f"pages-store={pages()}", of=[built, store()]) as opened:
            self.assertEqual(opened.json("/api/documents", id="mill.md", source=1)["source"]["form"], "html")
            self.assertIsNone(opened.json("/api/documents", id="plain", source=1, store="store")["source"])
        for options, reason in ((["--folder", "x=/tmp"], "expected NAME=DIR with NAME one of pages-store, store"), (["--folder", "pages-store=/no/such"], "is not a folder")):
            refused = subprocess.run([QUERN, "serve", built, store(), "--port", "0", *options], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual((refused.returncode, reason in refused.stderr), (2, True), refused.stderr)


class Corpus(unittest.TestCase):
    def test_a_corpus_is_served_as_it_is_searched(self):
        with tempfile.TemporaryDirectory() as folder:
            notes = Path(folder, "notes")
            notes.mkdir()
            (notes / "garden.md").write_text("# Garden\nBeans and peas.\n")
            os.environ["QUERN_CACHE"] = cache = str(Path(folder, "cache"))
            self.addCleanup(os.environ.pop, "QUERN_CACHE", None)
            for said in ("building a store in " + cache, "using the store kept in " + cache):
                server = Server(of=str(notes))
                self.assertEqual(server.json("/api/store")["name"], "notes")
                self.assertEqual([hit["id"] for hit in server.json("/api/search", q="beans")["hits"]], ["garden.md"])
                self.assertIn(said, server.end()[1])
            found = subprocess.run([QUERN, "search", str(notes), "peas"], capture_output=True, text=True)
            self.assertIn("using the store kept in", found.stderr)  # one cache for both
            with Server("--stem", "porter", of=str(notes)) as server:
                self.assertEqual(server.json("/api/store")["stem"], "porter")

    def test_text_options_and_paths_that_fit_nothing_are_refused(self):
        for arguments, reason in (([store(), "--stem", "porter"], "text options require a corpus"),
                                  (["/no/such/thing"], "no such file or folder")):
            refused = subprocess.run([QUERN, "serve", *arguments, "--port", "0"], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual((refused.returncode, reason in refused.stderr), (2, True), refused.stderr)


if __name__ == "__main__":
    unittest.main()
