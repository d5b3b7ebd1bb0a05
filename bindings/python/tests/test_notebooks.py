# SPDX-License-Identifier: Apache-2.0
"""The code of docs/notebooks runs, in order, beside a copy of docs/sample, and its assertions hold."""

from __future__ import annotations

import ast
import json
import pathlib
import shutil
import sys
import types

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def code_of(notebook: pathlib.Path) -> list[str]:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def run(notebook: pathlib.Path) -> None:
    """As a notebook does: one namespace; the value of a cell's last expression is shown."""
    module = types.ModuleType("__main__")
    for number, code in enumerate(code_of(notebook), 1):
        name = f"{notebook.name}, code cell {number}"
        tree = ast.parse(code, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), module.__dict__)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), module.__dict__)
            assert repr(value)
            if hasattr(value, "_repr_html_"):
                assert value._repr_html_()


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_the_notebook_runs(notebook, source, tmp_path, monkeypatch, capsys):
    shutil.copytree(source / "docs" / "sample", tmp_path / "sample")
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "work"))
    run(notebook)
    assert list((tmp_path / "notebooks").iterdir()) == []
    names = [sorted(file.name for file in folder.iterdir()) for folder in (tmp_path / "sample", source / "docs/sample")]
    assert names[0] == names[1]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_the_notebook_is_plain(notebook):
    """No stored outputs, few libraries, code that asserts what the text says."""
    book = json.loads(notebook.read_text(encoding="utf-8"))
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None
    trees = [ast.parse(code) for code in code_of(notebook)]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    imported = {name.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for name in node.names}
    assert imported - sys.stdlib_module_names <= {"numpy", "quern"}
    assert sum(isinstance(node, ast.Assert) for node in nodes) >= 4


def test_there_are_notebooks():
    assert len(NOTEBOOKS) == 4
