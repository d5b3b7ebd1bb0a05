# SPDX-License-Identifier: Apache-2.0
"""A server over a small collection of hard cases, for the tests beside this file. The program stands in QUERN."""

import atexit
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import urllib.parse
from pathlib import Path

QUERN = os.environ["QUERN"]

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
    {"id": "tabs", "title": "Tabs\tand\nlines", "text": "one\ttwo\nthree grain \u0000 nul"},
] + [{"id": f"d{i}", "title": f"Number {i}", "text": " ".join(["flour"] * (i % 7 + 1) + ["bread"] * (i % 3) + [f"word{i}"])}
     for i in range(40)]

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


class Server:
    """Ends with its `with` block, by SIGTERM."""

    def __init__(self, *options, of=None):
        self.process = subprocess.Popen([QUERN, "serve", of or store(), "--port", "0", *options],
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
        said = self.process.communicate(timeout=30)[1]
        return self.process.returncode, said

    def get(self, target, method="GET", headers=None, decode=True):
        """Status, headers, body of one request on a connection of its own."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=20)
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
        connection = socket.create_connection((self.host, self.port), timeout=20)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def raw(self, sent, close=True):
        """Everything that comes back until the server closes; `close`: we send no more."""
        with self.connect() as connection:
            received = b""
            try:
                connection.sendall(sent)
                if close:
                    connection.shutdown(socket.SHUT_WR)
                while piece := connection.recv(65536):
                    received += piece
            except (ConnectionResetError, BrokenPipeError):
                pass
            return received
