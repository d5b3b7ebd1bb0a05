# SPDX-License-Identifier: Apache-2.0
"""The folder that a store was built from."""

import pickle

import pytest
import quern

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "notes"
    (place / "pages").mkdir(parents=True)
    (place / "pages" / "mill.html").write_text('<p>Grain &amp; <a href="rye.md#top">rye</a> <img src="../wheel.png"></p>')
    (place / "pages" / "rye.md").write_text("# Rye\n\n*Bread* of rye.\n")
    (place / "grind.py").write_text("def grind():\n    pass\n")
    (place / "plain.txt").write_text("Salt of the sea.")
    (place / "wheel.png").write_bytes(PNG)
    (place / ".hidden.txt").write_text("secret")
    (tmp_path / "outside.txt").write_text("secret")
    (place / "link.txt").symlink_to(tmp_path / "outside.txt")
    return place


def test_documents_are_shown_as_they_are(folder, tmp_path):
    store = quern.build(folder, tmp_path / "store", skip="all").store
    files = quern.SourceFolder(folder)
    forms = {id: files.document(id).form for id in store.ids if files.document(id) is not None}
    assert forms == {"grind.py": "verbatim", "pages/mill.html": "html", "pages/rye.md": "html", "plain.txt": "text"}
    page = files.document("pages/mill.html")
    assert page.text == (folder / "pages" / "mill.html").read_text()
    assert page.links.to_dicts() == [{"address": "rye.md#top", "path": "pages/rye.md"},
                                     {"address": "../wheel.png", "path": "wheel.png"}]
    assert "<em>Bread</em>" in files.document("pages/rye.md").text
    assert files.document("grind.py").text == "def grind():\n    pass\n"
    assert repr(files.document("plain.txt")) == "SourceDocument('text', 16 characters, 0 links)"
    assert pickle.loads(pickle.dumps(files)).document("plain.txt").text == "Salt of the sea."


def test_images_and_files(folder):
    files = quern.SourceFolder(str(folder))
    assert files.image("wheel.png") == ("image/png", PNG) and files.image("plain.txt") is None
    assert files.read("wheel.png") == PNG
    assert repr(files) == f"SourceFolder({str(folder)!r})" and files.path == str(folder)
    assert repr(files.image("wheel.png")) == "SourceImage('image/png', 28 bytes)"


def test_nothing_outside_is_read(folder):
    files = quern.SourceFolder(folder)
    for path in ("../outside.txt", "link.txt", ".hidden.txt", "pages/../plain.txt", "pages//mill.html", "/etc/passwd",
                 "pages", "", "absent.txt", "a\0b"):
        assert files.read(path) is None and files.document(path) is None and files.image(path) is None


def test_refused(folder):
    files = quern.SourceFolder(folder)
    assert files.read("plain.txt", max_bytes=15) is None and files.read("plain.txt", max_bytes="1K") is not None
    for make, error, words in (
        (lambda: quern.SourceFolder(folder / "absent"), quern.UsageError, "is not a folder that can be read"),
        (lambda: quern.SourceFolder(folder / "plain.txt"), quern.UsageError, "is not a folder that can be read"),
        (lambda: quern.SourceFolder(3), quern.UsageError, "expected a text or a path"),
        (lambda: files.document(3), TypeError, "id must be a str|expected a str"),
        (lambda: files.read("plain.txt", max_bytes="x"), quern.UsageError, "max_bytes"),
        (lambda: files.read("plain.txt", bytes=3), TypeError, "unexpected keyword"),
    ):
        with pytest.raises(error, match=words):
            make()
