# SPDX-License-Identifier: Apache-2.0
"""The texts of a corpus in one file, for programs that read no JSON."""

import json
import struct
import subprocess


def flatten(corpus, folder):
    """The concatenated texts, and their offsets."""
    texts, offsets = folder / "texts", folder / "offsets"
    if not offsets.exists():
        lines = subprocess.run(["zstdcat", corpus], check=True, stdout=subprocess.PIPE).stdout.splitlines()
        at, begins = 0, [0]
        with texts.open("wb") as out:
            for line in lines:
                text = json.loads(line)["text"].encode()
                out.write(text)
                at += len(text)
                begins.append(at)
        offsets.write_bytes(struct.pack(f"{len(begins)}Q", *begins))
    return texts, offsets
