#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_formats.py OLD NEW: two folders of stores and files that quern wrote of one sample have the same files and bytes.

Three things may differ, as docs/formats.md says: compressed frames (what is in them may not), the version of the Unicode data
with the checksums of what names it, and stats.json and *.log. Exit 1 with a line for each difference.
"""
import json
import pathlib
import re
import struct
import subprocess
import sys

COMPRESSED = {"texts": "text_blocks", "fields": "field_blocks"}  # of a store: frames of zstd, and where they end
OPEN = {*COMPRESSED, *COMPRESSED.values()}
FOOTER = 48
WHAT_TO_DO = """
The format of 1.0 is frozen (docs/formats.md, "What 1.0 promises"). If the change was not meant, undo it. If it was, it needs a
new format version, and this program must go on reading the old one: docs/formats.md, "A new format version"."""


def payload(file):
    data = file.read_bytes()
    return data[:struct.unpack_from("<Q", data, len(data) - FOOTER + 16)[0]]


def frames(file):
    """What is in a compressed section, and the first document of each of its frames."""
    compressed, blocks = payload(file), payload(file.with_name(COMPRESSED[file.stem] + ".section"))
    ends, first = zip(*struct.iter_unpack("<QQ", blocks)) if blocks else ((0,), ())
    assert list(ends) == sorted(set(ends)) and ends[-1] == len(compressed), f"{file}: frames that do not fit"
    return subprocess.run(["zstd", "-dcq"], input=compressed, capture_output=True, check=True).stdout, first


def manifest(file):
    """Without what may differ."""
    def closed(value):
        if isinstance(value, list):
            return [closed(member) for member in value]
        return {k: closed(v) for k, v in value.items() if k != "unicode"} if isinstance(value, dict) else value

    made = closed(json.loads(file.read_text()))
    del made["checksum"]
    if file.name == "store.json":
        made.get("thesaurus", {}).pop("checksum", None)  # of its space.json
        for name in OPEN & set(made["sections"]):
            made["sections"][name] = None
    if file.name == "shards.json":
        for shard in made["shards"]:
            del shard["checksum"]  # of its store.json
    return made


def content(file):
    in_store = (file.parent / "store.json").exists()
    if file.suffix == ".json":
        return manifest(file)
    if in_store and file.stem in COMPRESSED:
        return frames(file)
    if in_store and file.stem in OPEN:
        return None
    if file.read_bytes().startswith(b"QUERNDIC"):
        return re.sub(rb'"unicode":"[^"]*"', b"", payload(file))
    return file.read_bytes()


def files(folder):
    return {file.relative_to(folder): file for file in folder.rglob("*")
            if file.is_file() and file.name != "stats.json" and file.suffix != ".log"}


def main():
    old, new = (files(pathlib.Path(folder)) for folder in sys.argv[1:])
    said = [f"{name}: {'is missing' if name in old else 'is new'}" for name in sorted(old.keys() ^ new.keys())]
    said += [f"{name}: differs" for name in sorted(old.keys() & new.keys()) if content(old[name]) != content(new[name])]
    if said:
        sys.exit("\n".join(said) + WHAT_TO_DO)


if __name__ == "__main__":
    main()
