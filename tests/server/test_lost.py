# SPDX-License-Identifier: Apache-2.0
"""Stores that are cut or written over while they are served: the server lives on, and gives no answer from them any more."""

import os
import shutil
import subprocess
import unittest

from running import PATIENCE, QUERN, Server, folder, rich_store

ASKED = (
    "/api/search?q=grain",
    "/api/search?q=horse+bridge&k=50&explain=true",
    "/api/search?q=%22the+old+ford%22",
    "/api/search?q=flour&model=dirichlet",
    "/api/documents?id=long",
    "/api/documents/page-7",
    "/api/words?q=horse",
    "/api/words?q=mule&k=3",
    "/healthz",
)


def cut_away(path):
    os.truncate(path, 0)


def cut_in_half(path):
    os.truncate(path, os.path.getsize(path) // 2)


def write_over(path):
    """As cp does: the same file, cut and written again."""
    size = os.path.getsize(path)
    with open(path, "wb") as file:
        file.write(bytes(reversed(range(256))) * (size // 256 + 1))


def sections(store):
    return sorted(os.path.join(inner, name) for inner, _, names in os.walk(store) for name in names
                  if name.endswith(".section") and os.path.getsize(os.path.join(inner, name)) > 0)


# What a server does not keep open.
NOT_SERVED = ("link_ends.section", "links.section", "thesaurus/singular_values.section")


class Lost(unittest.TestCase):
    def served(self, name):
        path = folder() / name
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(rich_store(), path)
        return path

    def statuses(self, server):
        return [server.get(target)[0] for target in ASKED]

    def test_every_section_cut_alone(self):
        served = [s for s in (os.path.relpath(s, rich_store()) for s in sections(rich_store())) if s not in NOT_SERVED]
        for number, section in enumerate(served):
            harm = (cut_away, cut_in_half, write_over)[number % 3]
            with self.subTest(section=section, harm=harm.__name__):
                store = self.served("cut")
                with Server("--threads", "2", of=store) as server:
                    if number % 2 == 0:  # else with nothing read before
                        self.assertNotIn(503, self.statuses(server))
                    harm(store / section)
                    self.assertEqual(self.statuses(server), [503] * len(ASKED))
                    self.assertEqual(server.get("/metrics")[0], 200)
                    code, said = server.end()
                self.assertEqual(code, 143, said)
                self.assertEqual(said.count("while it was in use"), 1, said)

    def test_all_of_them_at_once(self):
        for harm in (cut_away, cut_in_half, write_over):
            for warm in (False, True):
                with self.subTest(harm=harm.__name__, warm=warm):
                    store = self.served("cut")
                    with Server("--threads", "2", of=store) as server:
                        if warm:
                            self.statuses(server)
                        for section in sections(store):
                            harm(section)
                        for _ in range(3):
                            self.assertEqual(self.statuses(server), [503] * len(ASKED))
                        self.assertEqual(server.end()[0], 143)

    def test_a_store_that_is_replaced_by_name_is_served_on(self):
        store = self.served("cut")
        with Server("--threads", "2", of=store) as server:
            before = self.statuses(server)
            other = self.served("other")
            os.rename(store, folder() / "aside")
            os.rename(other, store)
            self.assertEqual(self.statuses(server), before)
            shutil.rmtree(folder() / "aside")
            self.assertEqual(self.statuses(server), before)


class Program(unittest.TestCase):
    def test_a_search_under_way(self):
        for harm in (cut_away, cut_in_half, write_over):
            with self.subTest(harm=harm.__name__):
                store = folder() / "searched"
                shutil.rmtree(store, ignore_errors=True)
                shutil.copytree(rich_store(), store)
                with subprocess.Popen([QUERN, "search", store, "--format", "tsv"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True) as search:
                    search.stdin.write("grain\n")
                    search.stdin.flush()
                    self.assertTrue(search.stdout.readline())
                    for section in sections(store):
                        harm(section)
                    out, said = search.communicate("horse bridge\n", timeout=PATIENCE)
                self.assertEqual(search.returncode, 5, said)
                self.assertIn("while it was in use", said)
                self.assertNotIn("1\t1\t", out)


if __name__ == "__main__":
    unittest.main()
