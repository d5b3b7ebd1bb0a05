# SPDX-License-Identifier: Apache-2.0
"""PDF files of a few pages, for tests: whole, with a password, cut off, without text, and such as do harm."""

import hashlib
import pathlib
import sys
import zlib

PADDING = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")


def rc4(key: bytes, data: bytes) -> bytes:
    state, j = list(range(256)), 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out, i, j = bytearray(), 0, 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)


class Lock:
    """The standard security handler, revision 2 (ISO 32000, 7.6.3)."""

    def __init__(self, password: str) -> None:
        user = (password.encode() + PADDING)[:32]
        self.identifier = b"0123456789abcdef"
        self.owner = rc4(hashlib.md5(user).digest()[:5], user)
        self.key = hashlib.md5(user + self.owner + b"\xfc\xff\xff\xff" + self.identifier).digest()[:5]

    def locked(self, number: int, data: bytes) -> bytes:
        return rc4(hashlib.md5(self.key + number.to_bytes(3, "little") + b"\0\0").digest()[:10], data)

    def entry(self) -> bytes:
        return b"<</Filter/Standard/V 1/R 2/P -4/O <%s>/U <%s>>>" % (
            self.owner.hex().encode(), rc4(self.key, PADDING).hex().encode())


def written(text: str) -> bytes:
    return text.encode("cp1252").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def content_of(lines: list[str]) -> bytes:
    shown = b"".join(b"(%s) Tj T*\n" % written(line) for line in lines)
    return b"BT /F1 12 Tf 72 720 Td 14 TL\n" + shown + b"ET"


def pdf(pages: list[bytes], title: str = "", lock: Lock | None = None, kids: str = "") -> bytes:
    """`pages`: their content streams. `kids`: other children of the tree of pages."""
    locked = lock.locked if lock else lambda number, data: data
    numbers = [5 + 2 * page for page in range(len(pages))]
    kids = kids or " ".join(f"{number} 0 R" for number in numbers)
    objects = {
        1: b"<</Type/Catalog/Pages 2 0 R>>",
        2: f"<</Type/Pages/Count {len(pages)}/Kids[{kids}]>>".encode(),
        3: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        4: b"<</Title <%s>>>" % locked(4, title.encode("cp1252")).hex().encode(),
    }
    for number, content in zip(numbers, pages):
        packed = locked(number + 1, zlib.compress(content, 9))
        objects[number] = (b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>"
                           b"/Contents %d 0 R>>" % (number + 1))
        objects[number + 1] = b"<</Length %d/Filter/FlateDecode>>\nstream\n%s\nendstream" % (len(packed), packed)
    more = b""
    if lock:
        number = max(objects) + 1
        objects[number] = lock.entry()
        more = b"/Encrypt %d 0 R/ID[<%s><%s>]" % (number, lock.identifier.hex().encode(), lock.identifier.hex().encode())
    out, places = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"), []
    for number in sorted(objects):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, objects[number])
    begin = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<</Size %d/Root 1 0 R/Info 4 0 R%s>>\nstartxref\n%d\n%%%%EOF\n" % (len(places) + 1, more, begin)
    return bytes(out)


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    first = content_of(["The miller grinds barley (and rye) & <oats>.", "Caf\u00e9 \u2013 the stones are dres-", "sed every week."])
    whole = pdf([first, content_of([]), content_of(["The third page has the toll."])], "On <mills> & tolls")
    made = {
        "whole.pdf": whole,
        "nameless.pdf": pdf([content_of(["A page without a title."])]),
        "locked.pdf": pdf([first], "Secret", Lock("secret")),
        "open.pdf": pdf([first], "Open to all", Lock("")),
        "cut.pdf": whole[: len(whole) * 2 // 3],
        "noise.pdf": b"%PDF-1.4\n" + bytes(range(256)) * 20,
        "pictures.pdf": pdf([b"0 0 100 100 re f"], "Of pictures"),
        "empty.pdf": b"",
        "loop.pdf": pdf([first], "A loop", kids="2 0 R 5 0 R"),
        "bomb.pdf": pdf([b"BT /F1 12 Tf 72 720 Td 0 TL\n" + b"(bomb ) Tj T*\n" * 20_000_000 + b"ET"], "A bomb"),
    }
    for name, data in made.items():
        if len(sys.argv) == 2 or name in sys.argv[2:]:
            (folder / name).write_bytes(data)


main()
