# SPDX-License-Identifier: Apache-2.0
"""The package as a whole: its names, stubs, types, start and program."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable

import numpy
import pytest
import quern
from quern import _quern

SETTINGS = os.path.join(os.environ["QUERN_SOURCE"], "pyproject.toml")
PACKAGE = pathlib.Path(quern.__file__).parent
STUBS = ast.parse((PACKAGE / "_quern.pyi").read_text(encoding="utf-8"))
PROPERTIES = {
    node.name: {
        inner.name for inner in node.body if isinstance(inner, ast.FunctionDef) and inner.decorator_list
        and "staticmethod" not in map(ast.unparse, inner.decorator_list)
    }
    for node in STUBS.body if isinstance(node, ast.ClassDef)
}


def public(names: object) -> set[str]:
    return {name for name in dir(names) if not name.startswith("_") and not inspect.ismodule(getattr(names, name))}


def members(kind: type) -> list[str]:
    return [name for name in vars(kind) if not name.startswith("_")]


def test_all_names_every_public_object() -> None:
    assert len(set(quern.__all__)) == len(quern.__all__)
    assert public(quern) - {"annotations"} == set(quern.__all__) - {"__version__"}


def test_every_name_of_the_module_is_in_the_stubs() -> None:
    stubs = {node.name: node for node in STUBS.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert {name for name in stubs if not name.startswith("_")} == public(_quern)
    for name, node in stubs.items():
        if isinstance(node, ast.ClassDef) and not name.startswith("_"):
            declared = {
                inner.name if isinstance(inner, ast.FunctionDef) else inner.target.id
                for inner in node.body
                if isinstance(inner, ast.FunctionDef)
                or (isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name))
            }
            assert set(members(getattr(_quern, name))) <= declared, name


def test_every_parameter_of_the_stubs_has_a_type() -> None:
    untyped = [
        f"{function.name}({argument.arg})"
        for function in ast.walk(STUBS)
        if isinstance(function, ast.FunctionDef)
        for argument in [*function.args.args, *function.args.kwonlyargs]
        if argument.annotation is None and argument.arg != "self"
    ]
    assert untyped == []


def mypy(*arguments: str | pathlib.Path, folder: pathlib.Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent)}
    command = [sys.executable, "-m", "mypy", "--config-file", SETTINGS, "--cache-dir", folder, *arguments]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)


def test_types_are_strict(tmp_path: pathlib.Path) -> None:
    uses = pathlib.Path(__file__).parent / "typing_uses.py"
    found = mypy("--package", "quern", folder=tmp_path)
    assert found.returncode == 0, found.stdout
    found = mypy(uses, folder=tmp_path)
    assert found.returncode == 0, found.stdout


def test_wrong_types_are_found(tmp_path: pathlib.Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import quern\nquern.doctor(threads='two')\nquern.doctor(treads=2)\nquern.no_such_function()\n")
    found = mypy(wrong, folder=tmp_path)
    assert [line for line in (2, 3, 4) if f"wrong.py:{line}: error" not in found.stdout] == [], found.stdout


def test_import_reads_only_the_standard_library() -> None:
    # What the start of Python itself loads does not count.
    code = """import sys
sys.path.insert(0, sys.argv[1])
before = set(sys.modules)
import quern
print({name.split(".")[0] for name in set(sys.modules) - before} - sys.stdlib_module_names)"""
    command = [sys.executable, "-I", "-c", code, str(PACKAGE.parent)]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert ast.literal_eval(loaded) == {"quern"}


def test_version_is_that_of_the_program() -> None:
    said = subprocess.run([os.environ["QUERN"], "--version"], capture_output=True, text=True, check=True).stdout
    assert said.split()[1].replace("-", "") == quern.__version__  # 1.0.0-rc1 is 1.0.0rc1 in Python


@pytest.mark.parametrize("name", ["Dictionary", "Graph", "LanguageModel", "NgramModel", "Store", "Thesaurus"])
def test_a_class_without_a_constructor_names_what_makes_it(name: str) -> None:
    with pytest.raises(TypeError, match="is (made|opened) by"):
        getattr(quern, name)("folder")


def test_the_entry_point_becomes_the_program(tmp_path: pathlib.Path) -> None:
    package = tmp_path / "quern"
    shutil.copytree(PACKAGE, package)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def start(argument: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "quern", argument]
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)

    missing = start("--version")
    assert missing.returncode == 1
    assert str(package / "bin" / "quern") in missing.stderr and "pip install" in missing.stderr
    (package / "bin").mkdir()
    (package / "bin" / "quern").symlink_to(os.environ["QUERN"])
    said = start("--version")
    assert (said.returncode, said.stdout.replace("-", "")) == (0, f"quern {quern.__version__}\n")
    assert start("no-such-command").returncode == 2


# Modules for other libraries: the module that each needs, and its package.
NEEDED = {
    "quern.langchain": ("langchain_core", "langchain-core"),
    "quern.llama_index": ("llama_index.core", "llama-index-core"),
    "quern.pyterrier": ("pyterrier", "python-terrier"),
}


def test_every_file_of_the_package_imports() -> None:
    for file in PACKAGE.rglob("*.py"):
        if file.name != "__main__.py":
            name = ".".join(("quern", *file.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
            if name not in NEEDED or importlib.util.find_spec(NEEDED[name][0].split(".")[0]):
                importlib.import_module(name)


@pytest.mark.parametrize("name", NEEDED)
def test_a_missing_library_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    needs, package = NEEDED[name]
    monkeypatch.delitem(sys.modules, name, raising=False)
    for loaded in [module for module in sys.modules if f"{module}.".startswith(f"{needs}.")]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, needs, None)
    with pytest.raises(ImportError, match=f"{name} needs .*: pip install {package}"):
        importlib.import_module(name)


def declared(node: ast.FunctionDef, method: bool) -> list[str]:
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg]
    return [argument.arg for argument in every if argument][1 if method else 0 :]


def test_signatures_are_those_of_the_stubs() -> None:
    for node in STUBS.body:
        if node.__class__ is ast.FunctionDef and node.name in quern.__all__:
            assert list(inspect.signature(getattr(quern, node.name)).parameters) == declared(node, False), node.name
        for inner in node.body if isinstance(node, ast.ClassDef) and node.name in quern.__all__ else []:
            made = getattr(quern, node.name)
            if not isinstance(inner, ast.FunctionDef) or issubclass(made, Exception):
                continue
            if inner.name == "__init__":
                assert list(inspect.signature(made).parameters) == declared(inner, True), node.name
            elif not inner.name.startswith("_") and inner.name not in PROPERTIES[node.name]:
                static = isinstance(vars(made)[inner.name], staticmethod)
                found = list(inspect.signature(getattr(made, inner.name)).parameters)
                assert found == declared(inner, False), f"{node.name}.{inner.name}"
                assert static or found[0] == "self"


def test_methods_have_signatures() -> None:
    search = inspect.signature(quern.Store.search)
    assert list(search.parameters)[:2] == ["self", "query"] and search.parameters["k"].default == 10
    vectors = quern.VectorSet(numpy.ones((3, 2)))
    assert list(inspect.signature(vectors.search).parameters)[:2] == ["queries", "k"]
    assert list(inspect.signature(quern.SparseMatrix.multiply).parameters)[:2] == ["self", "x"]
    assert quern.Store.search.__qualname__ == "Store.search" and quern.Store.search.__module__ == "quern"
    assert pickle.loads(pickle.dumps(quern.SparseMatrix.multiply)) is quern.SparseMatrix.multiply


def test_the_argument_of_a_constructor_may_be_named() -> None:
    assert quern.Run(source={"t": {"a": 1.0}})["t"] == {"a": 1.0}
    assert quern.VectorSet(x=numpy.ones((1, 2), dtype="float32"), metric="l2").search(numpy.ones((1, 2), dtype="float32"), k=1)


def test_signatures_have_defaults_and_types() -> None:
    threshold = inspect.signature(quern.dedup).parameters["threshold"]
    assert threshold.default == 0.05 and threshold.kind is threshold.KEYWORD_ONLY and "float" in threshold.annotation
    assert quern.dedup.__name__ == "dedup" and quern.dedup.__module__ == "quern" and "edit rate" in quern.dedup.__doc__
    assert pickle.loads(pickle.dumps(quern.dedup)) is quern.dedup

    class Own(quern.DuplicateStream):
        def __init__(self, path: str) -> None:
            super().__init__()

    assert list(inspect.signature(Own).parameters) == ["path"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: quern.build(["a"]), "build(): missing a required argument: 'store'"),
        (lambda: quern.filter_rules(3), "filter_rules(): too many positional arguments"),
        (lambda: quern.open(None), "open(): path: None is not accepted (expected str | os.PathLike[str])"),
        (lambda: quern.Dictionary.build(["a"]), "Dictionary.build(): missing a required argument: 'path'"),
        (lambda: quern.SparseMatrix(), "SparseMatrix(): missing a required argument: 'matrix'"),
        (lambda: quern.VectorSet(metric="l2"), "VectorSet(): missing a required argument: 'x'"),
        (lambda: quern.RankedLists([], []), "RankedLists(): too many positional arguments"),
        (lambda: quern.Run({}, source={}), "Run(): multiple values for argument 'source'"),
        (lambda: quern.SourceFolder("mill", follow=True), "SourceFolder(): got an unexpected keyword argument 'follow'"),
        (lambda: quern.DuplicateStream("a"), "DuplicateStream(): too many positional arguments"),
        (lambda: quern.Hits(), "Hits has no constructor: functions and methods of quern return such an object"),
        (
            lambda: quern.DuplicateStream().add_many(5),
            "DuplicateStream.add_many(): an argument has a wrong type: got documents: int "
            "(expected documents: Iterable[str | tuple[str | int | None, str]])",
        ),
    ],
)
def test_a_call_that_does_not_fit_is_told_why(call: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError) as refused:
        call()
    assert str(refused.value) == message
