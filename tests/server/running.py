# SPDX-License-Identifier: Apache-2.0
"""A server over a small collection of hard cases, for the tests beside this file. The program stands in QUERN."""

import atexit
import base64
import errno
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.parse
from pathlib import Path

QUERN = os.environ["QUERN"]
PATIENCE = 120  # seconds until a test gives up what it waits for: a busy machine makes tests slower, and never fail
INTERIM = b"HTTP/1.1 102 Processing\r\n\r\n"

LONG_TEXT = "Läuft über viele Bytes: äöü € 𝄞 und so weiter. " * 4000
DOCUMENTS = [
    {"id": "plain", "title": "Mill stones", "text": "A quern is a pair of stones for grinding grain.\n\nGrain is ground by hand."},
    {"id": "a/b c", "title": "Slash and blank", "text": "grain in a folder"},
    {"id": "../../etc/passwd", "title": "Not a file", "text": "grain that is no file"},
    {"id": "100%", "title": "Per cent", "text": "grain, all of it"},
    {"id": "%41", "title": "Looks escaped", "text": "grain escaped twice"},
    {"id": "x?y=1&z#w", "title": "Marks of addresses", "text": "grain and marks"},
    {"id": "über/ß €", "title": "Über Mühlen", "text": "Mühle und Korn, grain"},
    {"id": "<img src=x onerror=document.title='hacked'>", "title": "<b>bold</b> & \"quoted\"",
     "text": "<script>document.title='hacked'</script> grain </p><img src=x onerror=alert(1)>"},
    {"id": "untitled", "text": "no title here, but grain"},
    {"id": "long", "title": "Long", "text": LONG_TEXT},
    {"id": ".", "title": "A dot", "text": "grain here"},
    {"id": "..", "title": "Two dots", "text": "grain above"},
    {"id": "tabs", "title": "Tabs\tand\nlines", "text": "one\ttwo\nthree grain \u0000 nul"},
] + [{"id": f"d{i}", "title": f"Number {i}", "text": " ".join(["flour"] * (i % 7 + 1) + ["bread"] * (i % 3) + [f"word{i}"])}
     for i in range(40)]

def rich_documents():
    """Pages of two kinds with links to a few of them, words that are used alike, and near-duplicates of one page, and many of another."""
    chance = random.Random(4)
    things = ("cart", "barn", "field", "river", "bridge", "market", "winter", "morning", "road", "hill")
    made = []
    for i in range(120):
        animals = ("horse", "donkey", "mule") if i % 2 else ("sparrow", "finch", "robin")
        does = ("pulls", "carries", "draws") if i % 2 else ("sings", "nests", "flies")
        text = " ".join(f"The {chance.choice(animals)} {chance.choice(does)} near the {chance.choice(things)}." for _ in range(12))
        made.append({"id": f"page-{i}", "title": f"{'Beasts' if i % 2 else 'Birds'} {i}", "text": text + f" Note {i} of the hippopotamus house.",
                     "links": [f"page-{i % 5}", f"page-{(7 * i + 1) % 120}"],
                     "price": i / 4, "tag": ["even", "small"] if i % 2 == 0 else "odd"})
    original = "The mill at the old ford grinds barley for three villages, and its keeper writes down every sack that comes and goes. " * 3
    made.append({"id": "ford", "title": "The mill at the ford", "text": original, "links": ["page-0"]})
    made.append({"id": "ford-copy", "title": "The mill, again", "text": original.replace("barley", "barly"), "links": []})
    made.append({"id": "ford-other", "title": "", "text": original.replace("old ford", "new ford"), "links": []})
    notice = "Whoever lends a wheelbarrow to the parish has it back by Saturday, washed and with its tyre pumped up, or is told why not. " * 3
    made += [{"id": f"notice-{i}", "title": "A notice", "text": notice, "links": []} for i in range(13)]
    return made


_folder = None


def folder():
    """A folder for this test program, gone at its end."""
    global _folder
    if _folder is None:
        _folder = Path(tempfile.mkdtemp(prefix="quern-serve-"))
        atexit.register(shutil.rmtree, _folder, ignore_errors=True)
    return _folder


def store():
    path = folder() / "store"
    if not path.exists():
        corpus = folder() / "corpus.jsonl"
        corpus.write_text("".join(json.dumps(document) + "\n" for document in DOCUMENTS))
        subprocess.run([QUERN, "build", corpus, "-o", path, "--skip", "all", "--quiet"], check=True)
    return path


def rich_store():
    """A store with everything that a build can make, over both collections."""
    path = folder() / "rich"
    if not path.exists():
        corpus = folder() / "rich.jsonl"
        corpus.write_text("".join(json.dumps(document) + "\n" for document in DOCUMENTS + rich_documents()))
        subprocess.run([QUERN, "build", corpus, "-o", path, "--keep-fields", "price,tag", "--quiet"], check=True)
    return path


def sharded_store():
    """A store, and the same documents as three shards of a sharded store."""
    whole, apart = folder() / "whole", folder() / "apart"
    if not apart.exists():
        documents = [document for pair in zip(rich_documents(), DOCUMENTS * 3) for document in pair]
        documents = list({document["id"]: document for document in documents}.values())
        lines = [json.dumps(document) + "\n" for document in documents]
        third = len(lines) // 3
        names = {"part-0": lines[:third - 5], "part-1": lines[third - 5:2 * third], "part-2": lines[2 * third:], "whole": lines}
        for name, own in names.items():
            (folder() / f"{name}.jsonl").write_text("".join(own))
            subprocess.run([QUERN, "build", folder() / f"{name}.jsonl", "-o", folder() / name, "--skip", "all",
                            "--keep-fields", "price,tag", "--quiet"], check=True)
        subprocess.run([QUERN, "merge", *(folder() / f"part-{i}" for i in range(3)), "-o", apart, "--sharded", "--quiet"], check=True)
    return whole, apart


def fielded_store():
    """A store whose fields are searched."""
    path = folder() / "fielded"
    if not path.exists():
        corpus = folder() / "fielded.jsonl"
        corpus.write_text('{"id":"a","title":"Stones","text":"Of mills.","summary":"How grain is ground.","tags":["hand mill","stone age"]}\n'
                          '{"id":"b","title":"Grain","text":"Grain, and more grain.","summary":"A list.","tags":"water"}\n')
        subprocess.run([QUERN, "build", corpus, "-o", path, "--index-fields", "summary,tags", "--skip", "all", "--quiet"], check=True)
    return path


def weighted_store():
    """A store of words with learned weights."""
    path = folder() / "weighted"
    if not path.exists():
        corpus = folder() / "weighted.jsonl"
        corpus.write_text('{"id":"a","vector":{"mill":2.25,"grain":1.5}}\n{"id":"b","vector":{"mill":0.5,"river":3}}\n')
        subprocess.run([QUERN, "build", corpus, "-o", path, "--quiet"], check=True)
    return path


PICTURE = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGM4EaABRAwQCgAljgUBqTNxyAAAAABJRU5ErkJggg==")
HOSTILE = """<script>document.title = 'hacked'</script><img src=x onerror="document.title='hacked'"><iframe src="/"></iframe>
<a href="javascript:document.title='hacked'">press</a> <b onclick="document.title='hacked'">bold grain</b>
<style>body { display: none }</style><form action="/x"><input name=q></form><svg onload="document.title='hacked'"><a href="/">s</a></svg>
"""


def pages():
    """A folder of documents in several forms, with images, and with what must not be read."""
    path = folder() / "pages"
    if path.exists():
        return path
    (path / "sub").mkdir(parents=True)
    (path / ".hidden").mkdir()
    (path / "mill.md").write_text("# The mill\n\nA *quern* grinds **grain** by hand.\n\n![two stones](sub/stones.png) and ![not there](sub/none.png)\n\n"
                                  "1. [the flour](sub/flour.html#white)\n2. [nothing](nowhere.md)\n3. [elsewhere](https://example.org/x)\n\n"
                                  "| stone | weight |\n|---|---|\n| upper | 20 |\n\n```\nif grain < 3:\n    stop\n```\n\n## Milling\n\nMillers mill.\n")
    (path / "sub" / "flour.html").write_text("<title>Flour</title><h1>Flour</h1><p id=white>White flour of grain.</p><p><a href='../mill.md'>back to the mill</a></p>"
                                             "<ul><li><p>one</p></li></ul><img src='../drawing.svg' alt='a drawing'><img src='http://example.org/far.png' alt='far away'>")
    (path / "hostile.md").write_text("# Hostile\n\n" + HOSTILE)
    (path / "hostile.html").write_text("<h1>Hostile page</h1><p>grain</p>" + HOSTILE)
    (path / "notes.txt").write_text("Notes on grain.\n\nA second paragraph.")
    (path / "code.py").write_text("def grain(x):\n    return x  # <b>\n")
    (path / "sub" / "stones.png").write_bytes(PICTURE)
    (path / "drawing.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg' width='40' height='20'><script>document.title='hacked'</script><rect width='40' height='20'/></svg>")
    (path / ".hidden" / "secret.png").write_bytes(PICTURE)
    (folder() / "outside.png").write_bytes(PICTURE)
    (path / "link.png").symlink_to(folder() / "outside.png")
    return path


def needs(test, what):
    """Skips a test of what this program's builds do not make."""
    if what not in test.server.json("/api/store")["offers"]:
        test.skipTest(f"quern build makes no {what} here")


def until(condition):
    """Waits until a condition holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"does not become true in {PATIENCE} seconds")
        time.sleep(0.01)


def read_answer(connection):
    """One whole answer, of a known length; what is there of it where the server closes before its end."""
    answer = b""
    while not is_whole(answer) and (piece := connection.recv(65536)):
        answer += piece
    return answer


def is_whole(answer):
    """Whether the last answer is there to its end."""
    head, end, body = re.split(rb"HTTP/1\.[01] \d{3} ", answer)[-1].partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    return bool(end and length) and len(body) == int(length[1])


def ended_in_order(said):
    """Whether a server that got a signal ended by itself. One that the machine keeps waiting for more than a second and a
    half is ended by force (apps/cli/signals.cpp), and its last answers are lost."""
    return "the next run removes temporary files" not in said


class Server:
    """Ends with its `with` block, by SIGTERM. Its answers have all the time that they need, if no option says otherwise."""

    def __init__(self, *options, of=None, port=0):  # of: a store or a corpus, or a list of them; "" for none
        if "--max-seconds" not in options:
            options += ("--max-seconds", str(10 * PATIENCE))
        served = of if isinstance(of, list) else [] if of == "" else [of or store()]
        self.process = subprocess.Popen([QUERN, "serve", *served, "--port", str(port), *options],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError(self.process.communicate()[1])
        parts = urllib.parse.urlsplit(self.url)
        self.host, self.port = parts.hostname, parts.port

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self, how=signal.SIGTERM):
        """The exit code and what was said."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        said = self.process.communicate(timeout=PATIENCE)[1]
        return self.process.returncode, said

    def post(self, target, body, kind="application/json", headers=None):
        """Status, headers, body of one POST on a connection of its own."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        try:
            connection.request("POST", target, body, {"Content-Type": kind, **(headers or {})})
            response = connection.getresponse()
            return response.status, response.headers, response.read().decode()
        finally:
            connection.close()

    def get(self, target, method="GET", headers=None, decode=True):
        """Status, headers, body of one request on a connection of its own."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        try:
            connection.request(method, target, headers=headers or {})
            response = connection.getresponse()
            body = response.read()
            return response.status, response.headers, body.decode() if decode else body
        finally:
            connection.close()

    def json(self, path, **parameters):
        status, _, body = self.get(path + ("?" + urllib.parse.urlencode(parameters) if parameters else ""))
        if status != 200:
            raise AssertionError(f"{path} {parameters}: {status} {body}")
        return json.loads(body)

    def connect(self):
        connection = socket.create_connection((self.host, self.port), timeout=PATIENCE)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def metric(self, name):
        return int(self.get("/metrics")[2].partition(f"\n{name} ")[2].split("\n")[0])

    def raw(self, sent, close=True, interim=False):
        """Everything that comes back until the server closes. `close`: we send no more. `interim`: with what comes before
        an answer that takes long.

        A server that refuses a request early still reads the rest of it, but for a second only: a client that is slower
        may find the connection reset and the answer lost. It asks again."""
        for _ in range(20):
            received, is_reset = self._sent_once(sent, close)
            if received or not is_reset:
                break
        return received if interim else received.replace(INTERIM, b"")

    def _sent_once(self, sent, close):
        with self.connect() as connection:
            received, is_reset = b"", False
            try:
                connection.sendall(sent)
                if close:
                    connection.shutdown(socket.SHUT_WR)
            except (ConnectionResetError, BrokenPipeError):
                is_reset = True  # what came before can still be read
            except OSError as failure:
                if failure.errno != errno.ENOTCONN:
                    raise
                is_reset = True
            try:
                while piece := connection.recv(65536):
                    received += piece
            except (ConnectionResetError, BrokenPipeError):
                is_reset = True
            return received, is_reset
