# SPDX-License-Identifier: Apache-2.0
"""The examples of the modules for other libraries and of their page; those of a missing library are skipped."""

from __future__ import annotations

import importlib
import inspect
import pathlib
import re
import types

import pytest
from test_docs import run

LIBRARIES = {"ir": "ir_measures", "langchain": "langchain_core", "llama_index": "llama_index.core",
             "pyterrier": "pyterrier"}
PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "python" / "integrations.md"
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.M | re.S))


def examples(module: types.ModuleType) -> dict[str, str]:
    found = {module.__name__: module.__doc__ or ""}
    for name in module.__all__:
        value = getattr(module, name)
        found[name] = inspect.getdoc(value) or ""
        if inspect.isclass(value):
            for member, inner in vars(value).items():
                if not member.startswith("_") and (callable(inner) or isinstance(inner, property)):
                    found[f"{name}.{member}"] = inspect.getdoc(inner) or ""
    return found


@pytest.mark.parametrize("name", LIBRARIES)
def test_examples_of_docstrings(name, sample, monkeypatch):
    try:
        importlib.import_module(LIBRARIES[name])
    except ImportError:
        if name != "ir":
            pytest.skip(f"needs {LIBRARIES[name]}")
        monkeypatch.setattr("quern.ir.__all__", ["documents", "qrels", "topics"])  # those that need no library
    written = examples(importlib.import_module(f"quern.{name}"))
    assert all(text.strip() for text in written.values()), written
    shown = [place for place, text in written.items() if ">>>" in text]
    assert len(shown) >= 2
    for place in shown:
        run(written[place], place)


@pytest.mark.parametrize("section", [name for name, text in SECTIONS.items() if ">>>" in text])
def test_examples_of_the_page(section, sample):
    text = SECTIONS[section]
    for line in re.findall(r"^>>> (?:import|from) (.*)", text, re.M):
        for library in line.split(" import ")[0].split(","):
            name = library.split(" as ")[0].strip()
            if name.split(".")[0] != "quern":
                pytest.importorskip(name)
    needed = re.search(r"^>>> from quern\.(\w+) import", text, re.M)
    if needed:
        pytest.importorskip(LIBRARIES[needed[1]])
    run(text, section)


def test_the_page_has_a_section_for_each_library():
    assert len([name for name, text in SECTIONS.items() if ">>>" in text]) == 8
