# SPDX-License-Identifier: Apache-2.0
"""make_stubs.py FOLDER OUTPUT: writes the stubs of quern._quern, which is in FOLDER/quern, to OUTPUT.

nanobind writes them from the module. This adds what it leaves out:
- the exceptions, which it takes for imports because users see them as quern.Error and so on;
- __version__;
- the arguments of tuple, list and dict, and the type of __repr__, where a binding leaves them open;
- the imports of names that our signatures use (Any, Literal, Callable, os ...). A name of unknown origin is an error.
"""

from __future__ import annotations

import ast
import builtins
import collections.abc
import importlib
import pathlib
import subprocess
import sys
import tempfile
import types
import typing

MODULES = ("os", "numpy", "pathlib", "types", "datetime")
# Named here, because a wheel is built without NumPy.
TYPES_OF_NUMPY = ("ArrayLike", "DTypeLike", "NDArray")


# Writes stubs without quern/__init__.py, which puts functions of Python in front of those that nanobind reads.
STUBGEN = """
import sys, types
from nanobind import stubgen
package = types.ModuleType("quern")
package.__path__ = [sys.argv[1] + "/quern"]
sys.modules["quern"] = package
stubgen.main(["-q", "-P", "-m", "quern._quern", "-o", sys.argv[2]])
"""


def text_of_nanobind(folder: pathlib.Path) -> str:
    with tempfile.TemporaryDirectory() as scratch:
        output = pathlib.Path(scratch, "stub.pyi")
        subprocess.run([sys.executable, "-c", STUBGEN, folder, output], check=True)
        return output.read_text(encoding="utf-8")


def exceptions(module: types.ModuleType) -> list[type]:
    """Bases before those derived from them."""
    found = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Exception)]
    return sorted(found, key=lambda made: (len(made.__mro__), made.__name__))


def class_text(made: type) -> str:
    bases = ", ".join(base.__name__ for base in made.__bases__)
    lines = [f"class {made.__name__}({bases}):", f'    """{made.__doc__}"""', ""]
    lines += [f"    {name}: {kind}" for name, kind in vars(made).get("__annotations__", {}).items()]
    return "\n".join(lines) + "\n"


def without_imports(text: str, module: str) -> str:
    """The text without its imports from a module."""
    lines: list[str | None] = list(text.splitlines())
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and node.module == module:
            lines[node.lineno - 1 : node.end_lineno] = [None] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    return "\n".join(line for line in lines if line is not None) + "\n"


def with_whole_types(text: str) -> str:
    """tuple[Any, ...] for tuple, list[Any] for list, dict[str, Any] for dict in annotations; `-> str` for __repr__."""
    whole = {"tuple": "tuple[Any, ...]", "list": "list[Any]", "dict": "dict[str, Any]"}
    edits = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef):
            continue
        every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        annotations = [argument.annotation for argument in every if argument.annotation]
        if node.returns:
            annotations.append(node.returns)
            if node.name == "__repr__" and ast.unparse(node.returns) == "object":
                edits.append((node.returns, "str"))
        for annotation in annotations:
            given = {id(inner.value) for inner in ast.walk(annotation) if isinstance(inner, ast.Subscript)}
            for inner in ast.walk(annotation):
                if isinstance(inner, ast.Name) and inner.id in whole and id(inner) not in given:
                    edits.append((inner, whole[inner.id]))
    lines = text.splitlines()
    for node, new in sorted(edits, key=lambda edit: (edit[0].lineno, edit[0].col_offset), reverse=True):
        line = lines[node.lineno - 1].encode()
        lines[node.lineno - 1] = (line[: node.col_offset] + new.encode() + line[node.end_col_offset :]).decode()
    return "\n".join(lines) + "\n"


def unknown_names(tree: ast.Module) -> set[str]:
    known, used = set(dir(builtins)), set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            known |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            known.add(node.name)
        elif isinstance(node, ast.arg):
            known.add(node.arg)
        elif isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else known).add(node.id)
    return used - known


def import_of(name: str, package: types.ModuleType) -> str:
    if name in MODULES:
        return f"import {name}"
    if name in TYPES_OF_NUMPY:
        return f"from numpy.typing import {name}"
    for source in (collections.abc, typing):
        if name in source.__all__:
            return f"from {source.__name__} import {name}"
    found = getattr(package, name, None)
    if isinstance(found, type) and found.__module__.startswith("quern."):
        return f"from {found.__module__} import {name}"
    raise SystemExit(
        f"make_stubs.py: a signature of quern._quern uses '{name}', which is neither a class of quern, nor of typing, "
        f"collections.abc or numpy.typing, nor one of the modules {', '.join(MODULES)}"
    )


def main() -> None:
    folder, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    sys.path.insert(0, str(folder))
    package, module = importlib.import_module("quern"), importlib.import_module("quern._quern")
    text = with_whole_types(without_imports(text_of_nanobind(folder), "quern"))
    tree = ast.parse(text)
    # After the docstring of the module and nanobind's imports.
    head = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    docstring = tree.body[0] if ast.get_docstring(tree) else None
    after = (head[-1] if head else docstring).end_lineno if head or docstring else 0
    lines = text.splitlines()
    own = "\n\n".join(class_text(made) for made in exceptions(module)) + "\n__version__: str\n"
    body = own + "\n".join(lines[after:])
    try:
        whole = ast.parse("\n".join(lines[:after]) + "\n" + body)
    except SyntaxError as why:
        raise SystemExit(f"make_stubs.py: a signature of quern._quern is not Python: {why}: {why.text}") from None
    imports = sorted({import_of(name, package) for name in unknown_names(whole)})
    written = "\n".join([*lines[:after], "", *imports, "", "", body]).rstrip() + "\n"
    output.write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main()
