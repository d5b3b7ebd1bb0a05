# SPDX-License-Identifier: Apache-2.0
"""The page in headless Chromium, by clicking and by keys, through chromedriver's own protocol (WebDriver). Where there
is no chromedriver the tests are skipped. QUERN_SCREENSHOTS=FOLDER keeps pictures of what was seen."""

import glob
import json
import os
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from urllib.parse import quote

from browser import DRIVER, Browser
from running import QUERN, Server, fielded_store, needs, pages, rich_store, store, weighted_store

HITS = "document.querySelectorAll('.hit').length"
FOCUS = "document.activeElement.closest('.hit')?.value"
# Whether every width is seen in both colours. Otherwise each width and each colour once: they do not depend on each other.
EVERY_PAIR = "QUERN_LONG" in os.environ or "QUERN_SCREENSHOTS" in os.environ


@unittest.skipUnless(DRIVER, "there is no chromedriver here (packages chromium and chromium-driver)")
class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--threads", "2")
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.server.end()

    def setUp(self):
        self.browser.log()
        self.browser.size(1100, 800)
        self.browser.go(self.server.url)
        self.browser.until("document.getElementById('facts').textContent.includes('documents')")

    def tearDown(self):
        # Refused requests of the tests stand there too; what the content security policy stops would be new.
        for entry in self.browser.log():
            self.assertNotIn("Content Security Policy", entry["message"])
            self.assertNotIn("Uncaught", entry["message"])

    def search(self, words):
        self.browser.script("document.getElementById('q').value = ''")
        self.browser.click("#q")
        self.browser.type(words)
        self.browser.keys("Enter")

    def test_search_by_typing(self):
        self.assertEqual(self.browser.script("return document.activeElement.id"), "q")
        self.browser.picture("home")
        self.browser.type("grain stones")
        self.browser.keys("Enter")
        self.browser.until(f"{HITS} === 10")
        self.assertIn("?q=grain+stones", self.browser.script("return location.href"))
        self.assertEqual(self.browser.script("return document.title"), "grain stones – store")
        expected = self.server.json("/api/search", q="grain stones")["hits"]
        titles = self.browser.script("return [...document.querySelectorAll('.hit h2')].map(h => h.textContent)")
        self.assertEqual(titles, [hit["title"] or hit["id"] for hit in expected])
        scores = self.browser.script("return [...document.querySelectorAll('.hit b')].map(b => b.textContent)")
        self.assertEqual(scores, [f"{hit['score']:.4f}" for hit in expected])
        marks = self.browser.script("return [...document.querySelectorAll('.snippet mark')].map(m => m.textContent.toLowerCase())")
        self.assertEqual(set(marks), {"grain", "stones"})
        self.browser.picture("results")

    def test_results_while_typing(self):
        self.browser.type("flo")
        self.browser.until(f"{HITS} === 10 && document.querySelector('.snippet mark')?.textContent === 'flour'")
        self.assertEqual(self.browser.script("return [document.activeElement.id, q.value, location.search]"), ["q", "flo", "?q=flo"])
        self.browser.until("!document.getElementById('completions').hidden")
        entries = self.browser.script("return history.length")
        self.browser.type("ur bread")
        self.browser.until("location.search === '?q=flour+bread' && document.querySelector('.snippet')?.textContent.includes('bread')")
        expected = [hit["title"] for hit in self.server.json("/api/search", q="flour bread")["hits"]]
        self.browser.until("[...document.querySelectorAll('.hit h2')].map(h => h.textContent).join() === arguments[0]", ",".join(expected))
        self.browser.keys("Enter")
        self.browser.until(f"{FOCUS} === 1")
        self.assertEqual(self.browser.script("return [history.length, document.getElementById('completions').hidden]"), [entries, True])
        total = self.server.json("/api/search", q="flour bread", total=1)["total"]
        self.assertIn(f"Top 10 of {total} results", self.browser.script("return document.getElementById('status').textContent"))
        self.browser.back()
        self.browser.until("document.body.classList.contains('at-home') && q.value === ''")

    def test_completions(self):
        self.browser.type("grain sto")
        expected = [word["query"] for word in self.server.json("/api/complete", q="grain sto", k=6)["words"]]
        shown = "[...document.querySelectorAll('#completions li')].map(li => li.firstChild.textContent).join()"
        self.browser.until(f"!document.getElementById('completions').hidden && {shown} === arguments[0]", ",".join(expected))
        self.browser.keys("Down")
        self.assertEqual(self.browser.script("return document.getElementById(q.getAttribute('aria-activedescendant')).firstChild.textContent"), expected[0])
        self.browser.keys("Enter")
        self.browser.until("q.value === arguments[0] && new URLSearchParams(location.search).get('q') === arguments[0]", expected[0])
        self.browser.until("document.getElementById('completions').hidden")
        self.browser.go(self.server.url)
        self.browser.until("document.activeElement.id === 'q'")
        self.browser.type("bre")
        self.browser.until("!document.getElementById('completions').hidden")
        self.browser.keys("Escape")
        self.assertTrue(self.browser.script("return document.getElementById('completions').hidden"))
        self.assertEqual(self.browser.script("return document.activeElement.id"), "q")

    def test_search_by_the_button(self):
        self.browser.click("#q")
        self.browser.type("bread")
        self.browser.click("#form button[type=submit]")
        self.browser.until(f"{HITS} === 10")
        self.assertFalse(self.browser.script("return document.getElementById('more').hidden"))
        self.browser.click("#more")
        self.browser.until(f"{HITS} === 20")
        self.browser.click("#more")
        self.browser.until(f"{HITS} === {len(self.server.json('/api/search', q='bread', k=100)['hits'])}")
        self.assertTrue(self.browser.script("return document.getElementById('more').hidden"))
        ranks = self.browser.script("return [...document.querySelectorAll('.hit')].map(h => h.value)")
        self.assertEqual(ranks, list(range(1, len(ranks) + 1)))

    def test_no_more_than_the_server_gives(self):
        for limit, pages in ((5, [5]), (15, [10, 15])):
            with Server("--threads", "1", "--max-results", str(limit)) as few:
                self.browser.go(few.url + "?q=flour")
                for count in pages:
                    self.browser.until(f"{HITS} === {count}")
                    self.browser.until("document.getElementById('status').textContent.startsWith('Top " + str(count) + "')")
                    self.assertEqual(self.browser.script("return document.getElementById('more').hidden"), count == limit)
                    if count < limit:
                        self.browser.click("#more")

    def test_a_query_that_is_too_long(self):
        self.search("grain")
        self.browser.until("document.querySelector('.snippet mark')?.textContent === 'grain'")
        address = self.browser.script("return location.href")
        self.browser.script("q.value = 'ж'.repeat(1100); document.querySelector('#form button').click()")
        self.browser.until("document.getElementById('status').textContent.includes('2,200 bytes')")
        self.assertEqual(self.browser.script("return [location.href, q.value.length, document.querySelector('#status.error') !== null]"), [address, 1100, True])
        self.browser.script("q.value = 'ж'.repeat(1024); document.querySelector('#form button').click()")
        self.browser.until("document.getElementById('status').textContent.startsWith('No document contains')")

    def test_the_address_says_what_is_shown(self):
        self.browser.go(self.server.url + "?q=flour&model=dirichlet")
        self.browser.until(f"{HITS} === 10")
        self.assertEqual(self.browser.script("return [q.value, model.value]"), ["flour", "dirichlet"])
        first = self.server.json("/api/search", q="flour", model="dirichlet")["hits"][0]
        self.assertEqual(self.browser.script("return document.querySelector('.hit b').textContent"), f"{first['score']:.4f}")
        self.search("grain")
        self.browser.until("document.querySelector('.hit mark')?.textContent === 'grain' || document.querySelector('.snippet mark')?.textContent === 'grain'")
        self.browser.back()
        self.browser.until("document.querySelector('.snippet mark')?.textContent === 'flour' && q.value === 'flour'")
        self.browser.call("POST", "/forward", {})
        self.browser.until("document.querySelector('.snippet mark')?.textContent === 'grain' && q.value === 'grain'")

    def test_every_id_can_be_opened(self):
        for id, title in ((".", "A dot"), ("..", "Two dots"), ("x?y=1&z#w", "Marks of addresses")):
            self.browser.go(self.server.url + "?doc=" + quote(id, safe=""))
            self.browser.until("document.getElementById('document-title').textContent === arguments[0]", title)

    def test_late_answers_are_not_shown(self):
        self.search("bread")
        self.browser.until(f"{HITS} === 10")
        # The server's answer comes after that to the next search, and whether anyone still waits is not looked at before.
        self.browser.script("""const kept = fetch; window.late = 0; window.held = [];
            window.fetch = async (to, how) => {
              if (!to.includes('offset=10') && !to.includes('explain=1')) return kept(to, how);
              const answer = await kept(to);
              await new Promise((go) => { window.held.push(go); });
              window.late += 1;
              return answer;
            };""")
        self.browser.click(".why-button")
        self.browser.click("#more")
        self.search("flour")
        self.browser.until("document.querySelector('.snippet mark')?.textContent === 'flour'")
        status = self.browser.script("return document.getElementById('status').textContent")
        self.browser.until("window.held.length === 2")
        self.browser.script("window.held.forEach((go) => go())")
        self.browser.until("window.late === 2")
        self.browser.until("!document.getElementById('more').disabled")
        self.assertEqual(self.browser.script(f"return [{HITS}, document.querySelectorAll('.why').length, document.getElementById('status').textContent]"),
                         [10, 0, status])

    def test_every_model_is_offered(self):
        options = {of["name"]: of for of in self.server.json("/api/options")["options"]}
        for name in ("model", "feedback", "dependence"):
            shown = self.browser.script("return [...document.getElementById(arguments[0]).options].map(o => [o.value, o.textContent])", name)
            self.assertEqual(sorted(shown), sorted([of["value"], of["name"]] for of in options[name]["choices"]))
        self.assertEqual(self.browser.script("return document.querySelectorAll('#model optgroup').length"), 3)
        for name, value in (("model", "pl2"), ("feedback", "bo1"), ("dependence", "sdm")):
            self.browser.go(self.server.url + f"?q=flour+bread&{name}={value}")
            self.browser.until(f"{HITS} === 10")
            expected = self.server.json("/api/search", q="flour bread", **{name: value})["hits"]
            self.assertEqual(self.browser.script("return [...document.querySelectorAll('.hit b')].map(b => b.textContent)"), [f"{hit['score']:.4f}" for hit in expected])
            self.assertEqual(self.browser.script("return document.getElementById(arguments[0]).value", name), value)
            explanation = next(of["explanation"] for of in options[name]["choices"] if of["value"] == value)
            self.assertIn(explanation, self.browser.script("return document.getElementById('explanation').textContent"))
        self.browser.script("feedback.value = 'rm3'; feedback.dispatchEvent(new Event('change', {bubbles: true}))")
        self.browser.until("location.search === '?q=flour+bread&feedback=rm3&dependence=sdm'")

    def test_another_model(self):
        self.search("flour")
        self.browser.until(f"{HITS} === 10")
        self.browser.script("model.value = 'ql'; model.dispatchEvent(new Event('change', {bubbles: true}))")
        self.browser.until("location.search.includes('model=ql') && parseFloat(document.querySelector('.hit b')?.textContent) < 0")

    def test_a_document_and_back(self):
        self.search("grain ground")
        self.browser.until(HITS)
        self.browser.click(".hit:first-child h2 a")
        self.browser.until("!document.getElementById('document').hidden")
        self.assertIn("doc=plain", self.browser.script("return location.search"))
        self.assertEqual(self.browser.script("return document.getElementById('document-title').textContent"), "Mill stones")
        self.assertEqual(self.browser.script("return [...document.querySelectorAll('#text p')].map(p => p.textContent)"),
                         ["A quern is a pair of stones for grinding grain.", "Grain is ground by hand."])
        self.assertEqual(self.browser.script("return document.activeElement.id"), "document-title")
        self.browser.picture("document")
        self.assertEqual(self.browser.script("return document.getElementById('status').textContent"), "")
        self.browser.back()
        self.browser.until(f"document.getElementById('document').hidden && {FOCUS} === 1")
        self.assertIn(" in ", self.browser.script("return document.getElementById('status').textContent"))

    def test_keys(self):
        self.search("grain")
        self.browser.until(f"{FOCUS} === 1")
        self.browser.keys("j", "j")
        self.browser.until(f"{FOCUS} === 3")
        self.browser.keys("k", "Down", "Down", "Up")
        self.browser.until(f"{FOCUS} === 3")
        self.browser.keys("w")
        self.browser.until("document.querySelector('.why table')")
        self.browser.keys("Escape")
        self.browser.until("!document.querySelector('.why')")
        self.browser.keys("Enter")
        self.browser.until("!document.getElementById('document').hidden")
        self.browser.keys("Escape")
        self.browser.until(f"document.getElementById('document').hidden && {FOCUS} === 3")
        self.browser.keys("/")
        self.browser.until("document.activeElement.id === 'q'")
        self.browser.type("bread")
        self.browser.until("q.value === 'bread'")  # what was there is replaced; j and k are letters here
        self.browser.keys("Enter")
        self.browser.until("document.querySelector('.snippet mark')?.textContent === 'bread'")

    def test_why(self):
        self.search('"pair of stones" grain')
        self.browser.until(HITS)
        self.browser.click(".hit:first-child .why-button")
        self.browser.until("document.querySelector('.why table')")
        rows = self.browser.script("return [...document.querySelectorAll('.why tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
        hit = self.server.json("/api/search", q='"pair of stones" grain', explain=1)["hits"][0]
        self.assertEqual([row[0] for row in rows], [term["term"] for term in hit["explanation"]])
        self.assertEqual([row[5] for row in rows], [f"{term['score']:.4f}" for term in hit["explanation"]])
        self.assertEqual(self.browser.script("return document.querySelector('.why tfoot').innerText.trim().split(/\\s+/).at(-1)"),
                         f"{hit['score']:.4f}")
        self.browser.picture("why")

    def test_texts_are_no_markup(self):
        self.search("bold hacked")
        self.browser.until(HITS)
        self.assertEqual(self.browser.script("return document.querySelector('.hit h2').textContent"), '<b>bold</b> & "quoted"')
        self.browser.click(".hit h2 a")
        self.browser.until("!document.getElementById('document').hidden")
        self.assertIn("<script>", self.browser.script("return document.getElementById('text').textContent"))
        self.assertEqual(self.browser.script("return document.querySelectorAll('#text img, #text script, h1 b').length"), 0)
        self.assertNotIn("hacked", self.browser.script("return document.title"))

    def test_a_long_text_comes_in_pieces(self):
        self.browser.go(self.server.url + "?doc=long")
        self.browser.until("!document.getElementById('more-text').hidden")
        before = self.browser.script("return document.getElementById('text').textContent.length")
        self.browser.click("#more-text")
        self.browser.until(f"document.getElementById('text').textContent.length > {before}")

    def test_from_match_to_match(self):
        self.browser.size(800, 600)
        self.browser.go(self.server.url + "?q=folgt+weiter&doc=long")
        self.browser.until("document.querySelector('#text p')")
        self.assertEqual(self.browser.script("return document.title"), "Long – store")
        self.browser.until("!document.getElementById('next-match').hidden")
        self.browser.click("#next-match")
        self.browser.keys("n")
        self.browser.until("[...document.querySelectorAll('#text mark')].findIndex(e => e.classList.contains('current')) === 1")
        self.assertTrue(self.browser.script("const at = document.querySelector('.current').getBoundingClientRect(); return at.top >= 0 && at.bottom <= innerHeight"))
        self.browser.go(self.server.url + "?q=quern&doc=plain")
        self.browser.until("document.querySelector('#text p')")
        self.assertTrue(self.browser.script("return document.getElementById('next-match').hidden"))

    def test_what_is_not_there(self):
        self.search("zyzzyva")
        self.browser.until("document.getElementById('status').textContent.includes('No document contains “zyzzyva”')")
        self.browser.go(self.server.url + "?doc=none&q=x")
        self.browser.until("document.getElementById('status').textContent.includes('This collection has no document “none”.')")
        self.browser.go(self.server.url + "?like=none")
        self.browser.until("/^(This collection has no document “none”|The request failed: .*)\\.$/.test(document.getElementById('status').textContent)")
        self.search("zyzzyva grain aardvarks")
        self.browser.until("document.getElementById('status').textContent.includes('No document contains “zyzzyva”, “aardvarks”.')")
        self.browser.go(self.server.url + "?q=grain&model=none")
        self.browser.until("document.getElementById('status').classList.contains('error')")

    def test_a_server_that_is_gone(self):
        with Server("--threads", "1") as other:
            self.browser.go(other.url + "?q=grain")
            self.browser.until(HITS)
        self.search("bread")
        self.browser.until("document.getElementById('status').textContent === 'The server does not respond.'")

    def test_every_width_and_both_colours(self):
        for width, height in ((320, 640), (390, 844), (768, 1024), (1600, 900)):
            self.browser.size(width, height)
            for path in ("", "?q=grain+%C3%BCber", "?q=grain&doc=plain", "?q=grain&doc=long"):
                for scheme in ("light", "dark") if EVERY_PAIR else ("dark" if width == 390 else "light",):
                    self.browser.scheme(scheme)
                    self.browser.go(self.server.url + path)
                    self.browser.until("document.getElementById('facts').textContent || document.querySelector('.hit') || document.querySelector('#text p')")
                    if "doc" not in path and path:
                        self.browser.click(".why-button")
                        self.browser.until("document.querySelector('.why table')")
                    if width in (390, 768):
                        self.browser.picture(f"{width}-{scheme}-{'home' if not path else 'document' if 'doc' in path else 'results'}")
                    self.assertLessEqual(self.browser.script("return document.documentElement.scrollWidth"), width, (path, width))
                    self.assertGreaterEqual(self.contrast("body", "body"), 7, scheme)
                    for soft in ("#status", "footer", ".model label"):
                        self.assertGreaterEqual(self.contrast(soft, "body"), 4.5, (soft, scheme))
        self.browser.scheme("light")

    def contrast(self, text, ground):
        """As WCAG 2 reckons it."""
        def light(selector, property_name):
            colour = self.browser.script("return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]", selector, property_name)
            channels = [int(c) / 255 for c in colour.partition("(")[2].rstrip(")").split(",")[:3]]
            linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
            return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

        one, other = sorted((light(text, "color"), light(ground, "backgroundColor")))
        return (other + 0.05) / (one + 0.05)

    def test_what_a_screen_reader_says(self):
        self.search("grain")
        self.browser.until(HITS)
        self.browser.click(".why-button")
        self.browser.until("document.querySelector('.why table')")
        nodes = self.browser.devtools("Accessibility.getFullAXTree")["nodes"]
        said = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]
        for expected in (("combobox", "Search the collection"), ("button", "Search"), ("combobox", "Ranked by"), ("main", ""), ("search", "")):
            self.assertIn(expected, said)
        for role, name in said:
            if role in ("button", "link", "searchbox", "combobox", "heading"):
                self.assertTrue(name.strip(), f"a {role} without a name")
        self.assertTrue(any(role == "status" for role, _ in said))


@unittest.skipUnless(DRIVER, "there is no chromedriver here (packages chromium and chromium-driver)")
class Lists(unittest.TestCase):
    """What a store has beside its words."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server("--threads", "2", of=rich_store())
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.server.end()

    def setUp(self):
        self.browser.log()
        self.browser.size(1100, 800)

    def tearDown(self):
        for entry in self.browser.log():
            self.assertNotIn("Content Security Policy", entry["message"])
            self.assertNotIn("Uncaught", entry["message"])

    def show(self, query):
        self.browser.go(self.server.url + query)
        self.browser.until(HITS)

    def text(self, selector):
        return self.browser.script("return document.querySelector(arguments[0]).innerText", selector)

    def test_similar_words_beside_the_results(self):
        needs(self, "thesaurus")
        self.show("?q=horse+sings")
        self.browser.until("!document.getElementById('similar').hidden")
        self.browser.click("#similar summary")
        shown = self.browser.script("return [...document.querySelectorAll('#similar dt, #similar dd a')].map(e => e.textContent)")
        expected = [word for of in self.server.json("/api/words", q="horse sings")["words"] for word in [of["word"]] + [near["word"] for near in of["similar"]]]
        self.assertEqual(shown, expected)
        self.browser.picture("similar")
        self.browser.click("#similar dd a")
        self.browser.until("q.value === 'horse sings ' + arguments[0] && location.search.includes(arguments[0])", expected[1])

    def test_similar_words_come_after_the_way_back(self):
        needs(self, "thesaurus")
        self.show("?q=sparrow")
        self.browser.script("""const kept = fetch; window.held = [];
            window.fetch = async (to, how) => {
              if (to.startsWith('/api/words') && window.held) await new Promise((go) => { window.held.push(go); });
              return kept(to, how);
            };
            q.value = 'horse'; document.getElementById('form').requestSubmit();""")
        self.browser.until("document.querySelector('.snippet mark')?.textContent.toLowerCase() === 'horse'")
        self.browser.click(".hit:first-child h2 a")
        self.browser.until("!document.getElementById('document').hidden")
        self.browser.back()
        self.browser.until("document.getElementById('document').hidden")
        self.browser.script("const held = window.held; window.held = null; held.forEach((go) => go())")
        self.browser.until("!document.getElementById('similar').hidden")

    def test_similar_words_in_the_search(self):
        needs(self, "thesaurus")
        self.show("?q=horse")
        self.browser.click("#expand")
        self.browser.until("location.search.includes('expand=') && document.getElementById('status').textContent.includes('Also searched for')")
        words = {word["word"] for word in self.server.json("/api/search", q="horse", expand=3)["similar_words"]}
        self.assertTrue(all(word in self.text("#status") for word in words))
        self.browser.click(".why-button")
        self.browser.until("document.querySelector('.why table')")
        self.assertIn("(similar to horse, weight ", self.text(".why table"))
        self.browser.picture("expand")
        self.browser.click("#expand")
        self.browser.until("!location.search.includes('expand=') && !document.getElementById('status').textContent.includes('Also')")

    def test_links_in_the_search(self):
        for click, prior in ((False, "0"), (True, "0.05")):
            self.show("?q=horse")
            if click:
                self.browser.click("#prior")
                self.browser.until("location.search.includes('prior=0.05')")
            expected = self.server.json("/api/search", q="horse", prior=prior, explain=1)["hits"]
            self.browser.until("[...document.querySelectorAll('.hit h2')].map(h => h.textContent).join() === arguments[0]", ",".join(hit["title"] for hit in expected))
            self.browser.click(".why-button")
            self.browser.until("document.querySelector('.why table')")
            self.assertEqual("× the average)" in self.text(".why table"), click)
            parts = self.browser.script("return [...document.querySelectorAll('.why tbody tr')].map(r => r.cells[5].textContent)")
            self.assertEqual(parts, [f"{part['score']:.4f}" for part in expected[0]["explanation"]])
            self.browser.picture("links" if click else "links-off")

    def test_more_like_it(self):
        needs(self, "document_vectors")
        self.show("?q=sparrow")
        self.browser.keys("j", "l")
        self.browser.until("location.search.startsWith('?like=') && document.getElementById('like').textContent.startsWith('Documents like Birds')")
        self.assertEqual(self.browser.script("return q.value"), "")
        titles = self.browser.script("return [...document.querySelectorAll('.hit h2')].map(h => h.textContent)")
        like = self.browser.script("return new URLSearchParams(location.search).get('like')")
        self.assertEqual(titles, [hit["title"] for hit in self.server.json("/api/search", like=like)["hits"]])
        self.browser.click(".why-button")
        self.browser.until("document.querySelector('.why table')")
        self.assertIn("(cosine ", self.text(".why table"))
        self.browser.picture("like")
        self.browser.click(".hit:nth-child(2) .like-link")
        self.browser.until("!location.search.includes(arguments[0])", "like=" + like + "&")
        self.browser.back()
        self.browser.until("new URLSearchParams(location.search).get('like') === arguments[0] && document.querySelector('.hit h2')?.textContent === arguments[1]", like, titles[0])

    def test_narrowing_and_ordering(self):
        self.show("?q=note")
        self.browser.until("!document.getElementById('narrow').hidden")
        self.browser.click("#narrow summary")
        counts = self.browser.script("return [...document.querySelectorAll('.value')].map(v => [v.children[0].textContent, v.children[2].textContent])")
        facet = self.server.json("/api/search", q="note", facets="tag")["facets"]["tag"]
        self.assertEqual(counts, [[of["value"], str(of["documents"])] for of in facet["values"]])
        self.browser.picture("narrow")
        self.browser.click(".value")
        self.browser.until("document.querySelectorAll('.chip').length === 1 && document.getElementById('status').textContent.includes(arguments[0])",
                           f" of {facet['values'][0]['documents']} results")
        self.assertEqual(self.text(".chip").split("\n"), [f"tag = {facet['values'][0]['value']}", "×"])
        self.browser.script("sort.value = '-price'; sort.dispatchEvent(new Event('change', {bubbles: true}))")
        self.browser.until("location.search.includes('sort=-price')")
        expected = self.server.json("/api/search", q="note", filter=f"tag = {facet['values'][0]['value']}", sort="-price")["hits"]
        self.browser.until("[...document.querySelectorAll('.hit h2')].map(h => h.textContent).join() === arguments[0]", ",".join(hit["title"] for hit in expected))
        self.browser.click(".chip")
        self.browser.until("document.querySelectorAll('.chip').length === 0 && !location.search.includes('f=')")

    def test_a_plot_of_numbers(self):
        self.show("?q=note")
        self.browser.until("document.querySelectorAll('.plot button').length > 1")
        self.browser.click("#narrow summary")
        labels = self.browser.script("return [...document.querySelectorAll('.plot button')].map(b => b.getAttribute('aria-label'))")
        counts = [int(label.rpartition(": ")[2].split()[0]) for label in labels]
        facet = self.server.json("/api/search", q="note", facets="price")["facets"]["price"]
        self.assertEqual(sum(counts), facet["documents"])
        for label, count in zip(labels, counts):
            self.assertEqual(self.server.json("/api/search", q="note", filter=label.rpartition(": ")[0], count=1)["total"], count)
        self.browser.click(".plot button:nth-child(3)")
        self.browser.until("document.querySelectorAll('.chip').length === 1")
        self.browser.until("document.getElementById('status').textContent.includes(arguments[0])", f"{counts[2]} result")

    def test_fields_of_a_document(self):
        self.browser.go(self.server.url + "?doc=page-2")
        self.browser.until("!document.getElementById('document').hidden")
        self.assertEqual(self.browser.script("return [...document.querySelectorAll('#document-fields > *')].map(e => e.textContent)"),
                         ["price", "0.5", "tag", "even, small"])

    def test_statistics(self):
        self.browser.go(self.server.url)
        self.browser.until("document.getElementById('facts').textContent.includes('documents')")
        self.browser.click("nav a[href='/statistics.html']")
        self.browser.until("document.querySelectorAll('#words li').length === 40")
        answer = self.server.json("/api/statistics", words=40)
        self.assertEqual(self.browser.script("return [...document.querySelectorAll('#words a')].map(a => a.textContent)"), [of["word"] for of in answer["words"]])
        self.assertIn(f"{self.server.json('/api/store')['documents']}", self.text("#counts"))
        self.browser.picture("statistics")
        self.browser.click("#words a")
        self.browser.until(HITS)

    def test_the_page_of_near_duplicates(self):
        self.browser.go(self.server.url + "duplicates.html")
        self.browser.until(HITS)
        answer = self.server.json("/api/duplicates")
        self.assertEqual(self.browser.script("return [...document.querySelectorAll('.hit h2')].map(h => h.textContent)"), [of["title"] or of["id"] for of in answer["groups"]])
        self.assertEqual(self.text("#status"), f"{answer['duplicates']} near-duplicates of {answer['total']} documents")
        self.browser.picture("near-duplicates")

    def test_the_thesaurus_as_a_graph(self):
        needs(self, "thesaurus")
        self.browser.go(self.server.url + "thesaurus.html?w=horse")
        self.browser.until("document.querySelectorAll('#near li').length > 0")
        similar = self.server.json("/api/words", q="horse", k=12)["words"][0]["similar"]
        self.assertEqual(self.browser.script("return [...document.querySelectorAll('#near .label')].map(e => e.textContent)"), [of["word"] for of in similar])
        self.assertEqual(self.browser.script("return document.querySelectorAll('#graph .near').length"), len(similar))
        self.browser.picture("thesaurus")
        self.browser.click("#near a")
        self.browser.until("document.getElementById('near-title').textContent.includes(arguments[0])", similar[0]["word"])
        self.browser.back()
        self.browser.until("document.getElementById('near-title').textContent.includes('horse')")
        self.browser.go(self.server.url + "thesaurus.html?w=zyzzyva")
        self.browser.until("document.getElementById('status').textContent.includes('zyzzyva')")

    def test_other_pages_fit_phones(self):
        for page in ("statistics", "duplicates", "thesaurus"):
            for scheme in ("light", "dark"):
                self.browser.size(390, 844)
                self.browser.scheme(scheme)
                self.browser.go(self.server.url + page + ".html")
                self.browser.until("document.querySelector('.bars li, .hit')")
                self.browser.picture(f"390-{scheme}-{page}")
                self.assertLessEqual(self.browser.script("return document.documentElement.scrollWidth"), 390, page)
        self.browser.scheme("light")
        self.browser.size(1100, 800)

    def test_did_you_mean(self):
        self.browser.go(self.server.url + "?q=hipopotamus")
        self.browser.until("!document.getElementById('meant').hidden")
        self.assertEqual(self.text("#meant"), "Showing results for hippopotamus.")
        self.assertIn("No document contains “hipopotamus”.", self.text("#status"))
        self.browser.picture("meant")
        first = self.browser.script(f"return {HITS}")
        self.assertEqual(first, 10)
        self.assertTrue(self.browser.script("return document.querySelector('.snippet mark') !== null"))
        self.browser.click("#more")
        self.browser.until(f"{HITS} > 10")
        self.assertIn("No document contains “hipopotamus”.", self.text("#status"))
        self.browser.click(".hit h2 a")
        self.browser.until("!document.getElementById('document').hidden && document.querySelector('#text mark')")
        self.browser.back()
        self.browser.until("!document.getElementById('meant').hidden")
        self.browser.click("#meant a")
        self.browser.until(f"q.value === 'hippopotamus' && {HITS} === 10 && document.getElementById('meant').hidden")

    def test_duplicates(self):
        self.show("?q=keeper+sack")
        copies = self.server.json("/api/search", q="keeper sack")["hits"][0]["copies"]
        self.assertEqual([copy["id"] for copy in copies], ["ford-copy", "ford-other"])
        self.browser.click(".copies-button")
        self.browser.until("document.querySelector('.copies li')")
        shown = self.browser.script("return [...document.querySelectorAll('.copies li')].map(e => e.textContent)")
        self.assertEqual(shown, [f"{copy['title']} ".lstrip() + f"{copy['id']}, {copy['distance']} byte{'' if copy['distance'] == 1 else 's'} changed" for copy in copies])
        self.browser.picture("duplicates")
        self.browser.click(".copies-button")
        self.browser.until("!document.querySelector('.copies')")
        self.show("?q=wheelbarrow")
        self.assertEqual(self.text(".copies-button"), "12 duplicates")
        self.browser.click(".copies-button")
        self.browser.until("document.querySelectorAll('.copies li').length === 11")
        self.assertEqual(self.browser.script("return document.querySelector('.copies li:last-child').textContent"), "and 2 more")

    def test_similar_documents_of_a_document(self):
        needs(self, "document_vectors")
        self.browser.go(self.server.url + "?doc=page-1")
        self.browser.until("!document.getElementById('alike').hidden")
        titles = self.browser.script("return [...document.querySelectorAll('#alike a')].map(e => e.textContent)")
        self.assertEqual(titles, [hit["title"] for hit in self.server.json("/api/search", like="page-1", k=5)["hits"]])
        self.browser.picture("alike")
        self.browser.click("#alike a")
        self.browser.until("document.getElementById('document-title').textContent === arguments[0]", titles[0])

    def test_every_width(self):
        for width in (320, 390, 768):
            self.browser.size(width, 800)
            offers = self.server.json("/api/store")["offers"]
            for query in ("?q=horse+field+hipopotamus" + ("&expand=3" if "thesaurus" in offers else "") + "&prior=0.5",
                          *(["?like=page-1"] if "document_vectors" in offers else []), "?q=keeper&doc=ford"):
                for scheme in ("light", "dark") if EVERY_PAIR else ("light",):
                    self.browser.scheme(scheme)
                    self.browser.go(self.server.url + query)
                    self.browser.until("document.querySelector('.hit') || document.querySelector('#text p')")
                    self.browser.script("for (const e of document.querySelectorAll('.why-button, .copies-button, #similar:not([hidden]) summary')) e.click()")
                    time.sleep(0.2)
                    self.assertLessEqual(self.browser.script("return document.documentElement.scrollWidth"), width, (query, width))
                    self.browser.picture(f"lists-{width}-{scheme}-{'like' if 'like' in query else 'doc' if 'doc' in query else 'results'}")
        self.browser.scheme("light")

    def test_a_store_without_them_offers_nothing(self):
        with Server("--threads", "1") as plain:
            self.browser.go(plain.url + "?q=grain")
            self.browser.until(HITS)
            hidden = self.browser.script("return ['similar', 'expand-choice', 'prior-choice', 'meant', 'like'].map(id => document.getElementById(id).hidden)")
            self.assertEqual(hidden, [True] * 5)
            self.assertEqual(self.browser.script("return document.querySelectorAll('.like-link, .copies-button').length"), 0)


@unittest.skipUnless(DRIVER, "there is no chromedriver here (packages chromium and chromium-driver)")
class Originals(unittest.TestCase):
    """Documents of a folder as they are written, and a choice of stores."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server("--threads", "2", of=[str(pages()), store()])
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.server.end()

    def setUp(self):
        self.browser.log()

    def tearDown(self):
        for entry in self.browser.log():
            self.assertNotIn("Content Security Policy", entry["message"])
            self.assertNotIn("Uncaught", entry["message"])

    def open(self, id, q="grain"):
        self.browser.go(f"{self.server.url}?q={quote(q)}&doc={quote(id, safe='')}")
        self.browser.until("!document.getElementById('document').hidden")

    def text(self, selector):
        return self.browser.script("return document.querySelector(arguments[0]).textContent", selector)

    def test_markdown_is_formatted(self):
        self.open("mill.md")
        names = self.browser.script("return [...document.querySelectorAll('#text em, #text strong, #text ol, #text table, #text pre, #text :is(h2, h3)')].map(e => e.localName)")
        self.assertEqual(names, ["em", "strong", "ol", "table", "pre", "h2"])  # the heading of the second level follows the title
        self.assertEqual(self.browser.script("return [...document.querySelectorAll('#text mark')].map(m => m.textContent)"), ["grain", "grain"])
        self.assertEqual(self.text("#document-title"), "The mill")
        self.assertFalse(self.browser.script("return [...document.querySelectorAll('#text h2')].some(h => h.textContent === 'The mill')"))
        self.browser.until("document.querySelector('#text img[alt=\"two stones\"]')?.naturalWidth === 2")
        self.browser.until("document.querySelector('#text .missing')?.textContent === 'not there'")
        links = self.browser.script("return [...document.querySelectorAll('#text li')].map(li => [li.textContent, li.querySelector('a')?.getAttribute('href') ?? null])")
        self.assertEqual(links, [["the flour", "/?q=grain&doc=sub%2Fflour.html"], ["nothing", None], ["elsewhere", "https://example.org/x"]])
        self.browser.picture("markdown")
        self.browser.click("#text li a")
        self.browser.until("document.getElementById('document-title').textContent === 'Flour'")
        self.browser.until("document.querySelector('#text img[alt=\"a drawing\"]')?.naturalWidth === 40")
        self.assertEqual(self.text("#text a[href='http://example.org/far.png']"), "far away")
        self.browser.click("#text p a")
        self.browser.until("document.getElementById('document-title').textContent === 'The mill'")

    def test_words_with_typos_are_marked(self):
        self.open("mill.md", "milers")
        self.assertIn("Millers", self.browser.script("return [...document.querySelectorAll('#text mark')].map(m => m.textContent)"))

    def test_what_authors_write_does_nothing(self):
        for id in ("hostile.md", "hostile.html"):
            self.open(id)
            self.browser.until("document.title.startsWith('Hostile')")
            self.assertEqual(self.browser.script("return document.querySelectorAll('#text script, #text iframe, #text style, #text form, #text input, #text svg, #text [onclick], #text [onerror], #text a[href^=javascript]').length"), 0)
            self.assertEqual(self.browser.script("return [...document.querySelectorAll('#text mark')].at(-1).textContent"), "grain")
            self.assertTrue(self.browser.script("return [...document.querySelectorAll('#text span')].some(e => e.textContent === 'press')"))
            self.assertTrue(self.browser.script("return document.title.startsWith('Hostile')"))
        self.browser.go(self.server.url + "files/drawing.svg")
        self.assertNotEqual(self.browser.script("return document.title"), "hacked")
        self.browser.log()  # its script was stopped

    def test_source_code_keeps_its_lines(self):
        self.open("code.py")
        self.assertEqual(self.text("#text pre"), "def grain(x):\n    return x  # <b>\n")
        self.assertEqual(self.text("#text mark"), "grain")
        self.open("notes.txt")
        self.assertEqual(self.browser.script("return document.querySelectorAll('#text > p').length"), 2)
        self.assertEqual(self.browser.script("return document.querySelector('#document-facts a').getAttribute('href')"), "/files/notes.txt")

    def test_another_store(self):
        self.browser.go(self.server.url + "?q=grain")
        self.browser.until("document.querySelectorAll('#store option').length === 2 && document.querySelectorAll('.hit').length > 0")
        self.assertEqual(self.browser.script("return [...document.querySelectorAll('#store option')].map(o => o.value)"), ["pages", "store"])
        self.browser.script("const s = document.getElementById('store'); s.value = 'store'; s.dispatchEvent(new Event('change', {bubbles: true}))")
        self.browser.until("location.search === '?q=grain&store=store' && document.querySelectorAll('.hit').length === 10")
        expected = self.server.json("/api/search", q="grain", store="store")["hits"]
        self.assertEqual(self.browser.script("return [...document.querySelectorAll('.hit h2')].map(h => h.textContent)"), [hit["title"] or hit["id"] for hit in expected])
        self.browser.click("nav a[href^='/statistics.html']")
        self.browser.until("document.title === 'Statistics – store' && location.search === '?store=store'")
        self.browser.click("a.brand")
        self.browser.until("document.getElementById('facts').textContent.includes('store')")
        self.browser.type("flour")
        self.browser.keys("Enter")
        self.browser.until("location.search === '?q=flour&store=store' && document.querySelectorAll('.hit').length === 10")
        self.browser.click(".hit h2 a")
        self.browser.until("!document.getElementById('document').hidden && location.search.includes('store=store')")


@unittest.skipUnless(DRIVER, "there is no chromedriver here (packages chromium and chromium-driver)")
class SearchedFields(unittest.TestCase):
    """Fields of records that are searched: in the completions and in the help."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server("--threads", "1", of=[fielded_store(), weighted_store()])
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.server.end()

    def setUp(self):
        self.browser.log()
        self.browser.go(self.server.url)
        self.browser.until("document.activeElement.id === 'q' && !document.getElementById('query-help').hidden")

    def tearDown(self):
        for entry in self.browser.log():
            self.assertNotIn("Content Security Policy", entry["message"])
            self.assertNotIn("Uncaught", entry["message"])

    def completions(self):
        return self.browser.script("return [...document.querySelectorAll('#completions li')].map(li => [li.firstChild.textContent, li.lastChild.textContent])")

    def test_completions_have_the_names(self):
        self.browser.type("mills +sum")
        self.browser.until("document.querySelector('#completions li')?.firstChild.textContent === 'mills +summary:'")
        self.assertEqual(self.completions(), [["mills +summary:", "field"]])
        self.browser.keys("Down", "Enter")
        self.browser.until("q.value === 'mills +summary:' && document.getElementById('completions').hidden")
        self.assertEqual(self.browser.script("return document.activeElement.id"), "q")
        self.browser.type("grain")
        self.browser.keys("Enter")
        self.browser.until("new URLSearchParams(location.search).get('q') === 'mills +summary:grain' && document.querySelectorAll('.hit').length === 1")
        self.assertEqual(self.browser.script("return document.querySelector('.hit h2').textContent"), "Stones")

    def test_no_field_within_a_word_or_a_field(self):
        for typed in ("xsum", "e-sum", "tags:sum", '"ta'):
            self.browser.go(self.server.url)
            self.browser.until("document.activeElement.id === 'q'")
            self.browser.type(typed)
            self.browser.until("new URLSearchParams(location.search).get('q') === arguments[0] && document.getElementById('status').textContent", typed)
            time.sleep(0.5)
            self.assertEqual(self.browser.script("return [...document.querySelectorAll('#completions:not([hidden]) span')].filter(e => e.textContent === 'field').length"), 0, typed)

    def test_the_help_has_a_button_for_each_field(self):
        self.browser.click("#query-help summary")
        self.assertEqual(self.browser.script("return [...document.querySelectorAll('#fields-to-search button')].map(b => b.textContent)"),
                         ["title:", "text:", "summary:", "tags:"])
        self.browser.picture("query-help")
        self.browser.click("#q")
        self.browser.type("mills")
        self.browser.script("document.querySelectorAll('#fields-to-search button')[3].click()")
        self.assertEqual(self.browser.script("return [q.value, document.activeElement.id]"), ["mills tags:", "q"])
        self.browser.type('"hand mill"')
        self.browser.keys("Enter")
        self.browser.until("document.querySelectorAll('.hit').length === 1 && document.querySelector('.hit h2').textContent === 'Stones'")

    def test_words_with_weights_have_no_help(self):
        self.browser.go(self.server.url + "?store=weighted")
        self.browser.until("document.getElementById('facts').textContent.includes('documents')")
        self.assertTrue(self.browser.script("return document.getElementById('query-help').hidden"))
        self.assertEqual(self.server.json("/api/store", store="weighted")["listed"], "weights")
        self.assertNotIn("listed", self.server.json("/api/store"))


def axe_file():
    """axe-core, from where a system or the wheel axe-playwright-python has it."""
    places = [os.environ.get("QUERN_AXE", ""), "/usr/share/nodejs/axe-core/axe.min.js"]
    places += glob.glob(str(Path(__file__).resolve().parents[2] / ".venv/lib/python3*/site-packages/axe_playwright_python/axe.min.js"))
    return next((Path(place) for place in places if place and Path(place).is_file()), None)


@unittest.skipUnless(DRIVER, "there is no chromedriver here (packages chromium and chromium-driver)")
@unittest.skipUnless(axe_file(), "axe-core is not here (a file in QUERN_AXE, or axe-playwright-python of PyPI in .venv)")
class Accessibility(unittest.TestCase):
    """All rules of axe-core on every page, light and dark, wide and narrow."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server("--threads", "2", of=[rich_store(), str(pages())])
        cls.browser = Browser()
        cls.axe = axe_file().read_text()

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.server.end()

    def check(self, what):
        self.browser.script(self.axe + "; window.axe = axe;")
        found = self.browser.call("POST", "/execute/async", {"script": """
            const done = arguments[arguments.length - 1];
            axe.run(document, {resultTypes: ['violations']}).then((of) => done(of.violations.map((v) =>
              `${v.id} (${v.impact}): ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.target.join(' ') + ' ' + n.html.slice(0, 160) + ' ' + (n.any[0]?.message ?? '')).join(' | ')}`)),
              (failure) => done([String(failure)]));""", "args": []})
        self.assertEqual(found, [], what)

    def test_every_page(self):
        states = {
            "home": ("", "document.getElementById('facts').textContent.includes('documents')", ""),
            "results": ("?q=note+horze&expand=3&prior=0.05", "document.querySelector('.plot button')",
                        "document.querySelectorAll('details').forEach((one) => { one.open = true; }); document.querySelector('.why-button').click()"),
            "filtered": ("?q=note&f=%22tag%22+%3D+%22even%22&sort=-price&feedback=rm3&model=dirichlet", "document.querySelector('.chip') && document.querySelector('.hit')", ""),
            "nothing": ("?q=zyzzyvaxx", "document.getElementById('status').textContent.includes('No document')", ""),
            "error": ("?q=%2B(&syntax=operators", "document.getElementById('status').textContent !== ''", ""),
            "duplicates of a hit": ("?q=wheelbarrow", "document.querySelector('.copies-button')", "document.querySelector('.copies-button').click()"),
            "document": ("?q=grinds+barley&doc=ford", "document.querySelector('#text mark')", ""),
            "markdown": ("?q=grain&doc=mill.md&store=pages", "document.querySelector('#text table')", ""),
            "html": ("?q=grain&doc=sub%2Fflour.html&store=pages", "document.querySelector('#text img')", ""),
            "code": ("?q=grain&doc=code.py&store=pages", "document.querySelector('#text pre')", ""),
            "statistics": ("statistics.html", "document.querySelectorAll('#words li').length > 0", ""),
            "near-duplicates": ("duplicates.html", "document.querySelector('.hit')", ""),
            "thesaurus": ("thesaurus.html?w=horse", "document.querySelectorAll('#near li').length > 0 || document.getElementById('status').textContent !== ''", ""),
        }
        for width, usual in ((1280, "light"), (390, "dark")):
            self.browser.size(width, 900)
            for scheme in ("light", "dark") if EVERY_PAIR else (usual,):
                self.browser.scheme(scheme)
                for name, (address, ready, then) in states.items():
                    with self.subTest(page=name, width=width, scheme=scheme):
                        self.browser.go(self.server.url + address)
                        self.browser.until(ready)
                        if then:
                            self.browser.script(then)
                            time.sleep(0.3)
                        self.browser.picture(f"all-{width}-{scheme}-{name.replace(' ', '-')}")
                        self.assertLessEqual(self.browser.script("return document.documentElement.scrollWidth"), width)
                        self.check(name)
        self.browser.size(1280, 900)
        self.browser.go(self.server.url)
        self.browser.until("document.activeElement.id === 'q'")
        self.browser.type("fl")
        self.browser.until("!document.getElementById('completions').hidden")
        self.check("completions")


@unittest.skipUnless(DRIVER, "there is no chromedriver here (packages chromium and chromium-driver)")
class Reports(unittest.TestCase):
    """The pages of --report, of a corpus whose paths, ids, titles and words are long and do not break by themselves."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        inside = Path(cls.folder.name, "a-folder-with-a-name-" + "of-many-words-" * 12)
        inside.mkdir()
        cls.corpus = inside / ("corpus" * 20 + ".jsonl")
        word = "pneumonoultramicroscopic" * 4
        beasts = ["horse", "donkey", "mule", "ox"]
        lines = []
        for i in range(60):
            text = " ".join(f"The {beasts[(i + j) % 4]} of the {word}{j} drinks from the {word}{i * 31 + j}." for j in range(12))
            of = {"id": f"{i}/" + "x" * 240, "title": "Title" * 60 + str(i), "text": text,
                  "links": [f"{(i * 7 + 1) % 60}/" + "x" * 240]}
            lines += [of, {**of, "id": "copy" * 60 + str(i), "text": text + " Once more."}]
        lines.append({"id": "broken"})
        cls.corpus.write_text("".join(json.dumps(line) + "\n" for line in lines))
        cls.reports = {}
        for name, arguments in (("build", ["-o", str(inside / "store")]), ("dedup", ["-o", os.devnull, "--force"]),
                                ("words", ["-o", str(inside / "space"), "--min-count", "1"])):
            cls.reports[name] = inside / f"{name}.html"
            made = subprocess.run([QUERN, name, str(cls.corpus), *arguments, "--max-errors", "5", "--quiet", "--report", str(cls.reports[name])],
                                  stderr=subprocess.PIPE, text=True)
            if made.returncode != 0:
                raise RuntimeError(made.stderr)
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.folder.cleanup()

    def test_no_report_is_wider_than_the_window(self):
        for name, path in self.reports.items():
            self.browser.go(path.as_uri())
            self.browser.script("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            for width in (320, 390, 768):
                with self.subTest(report=name, width=width):
                    self.browser.size(width, 844)
                    self.assertLessEqual(self.browser.script("return document.documentElement.scrollWidth"), width)
                    self.browser.picture(f"report-{name}-{width}")
                    # Tables break what is long; only plots, whose letters must stay legible, scroll by themselves.
                    wide = self.browser.script("return [...document.querySelectorAll('table')].filter((of) => of.getBoundingClientRect().right > innerWidth + 1).map((of) => of.textContent.slice(0, 60))")
                    self.assertEqual(wide, [])

    def test_stop_words_tell_nothing(self):
        heading = {"build": "Words that distinguish documents", "words": "The most frequent words and their neighbours"}
        for name, wanted in heading.items():
            self.browser.go(self.reports[name].as_uri())
            rows = self.browser.script("""
                const heading = [...document.querySelectorAll('h2')].find((of) => of.textContent === arguments[0]);
                let at = heading;
                while (!at.querySelector('table')) at = at.nextElementSibling;
                return [...at.querySelectorAll('tr')].slice(1).map((row) => [row.cells[0].textContent, row.cells[row.cells.length - 1].textContent]);""", wanted)
            words = [word for word, _ in rows]
            self.assertIn("horse", words)
            near = " ".join(said for _, said in rows).split()
            for stop_word in ("the", "of", "from", "once", "more"):
                self.assertNotIn(stop_word, words, name)
                self.assertNotIn(stop_word, near, name)


if __name__ == "__main__":
    unittest.main()
