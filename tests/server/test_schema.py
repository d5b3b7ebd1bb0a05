# SPDX-License-Identifier: Apache-2.0
"""Requests that schemathesis makes from openapi.json, to a server: every answer is as the file says, and none is a fault of the
server. Requests that the file allows may be refused: whether a filter or a vector fits depends on the store; and a GET with a body
is refused for its body (413) before its method. test_mcp.py tests /mcp. Skipped where there is no schemathesis (PyPI); QUERN_SCHEMA_EXAMPLES is the number of requests for each operation."""

import os
import shutil
import subprocess
import unittest
from pathlib import Path

from running import PATIENCE, Server, fielded_store, folder, rich_store


def schemathesis():
    own = Path(__file__).resolve().parents[2] / ".venv/bin/schemathesis"
    return str(own) if own.is_file() else shutil.which("schemathesis")


@unittest.skipUnless(schemathesis(), "schemathesis is not here (PyPI, in .venv or in PATH)")
class Schema(unittest.TestCase):
    def test_every_answer_is_as_described(self):
        examples = os.environ.get("QUERN_SCHEMA_EXAMPLES", "15")
        with Server("--threads", "1", "--dedup", str(folder() / "seen"), of=[rich_store(), fielded_store()]) as server:
            done = subprocess.run([schemathesis(), "run", server.url + "openapi.json", "--max-examples", examples, "--seed", "7",
                                   "--request-timeout", str(PATIENCE), "--no-color", "--exclude-checks", "positive_data_acceptance,unsupported_method",
                                   "--exclude-path", "/mcp"], capture_output=True, text=True, cwd=folder())
        self.assertEqual(done.returncode, 0, done.stdout[-20_000:] + done.stderr)


if __name__ == "__main__":
    unittest.main()
