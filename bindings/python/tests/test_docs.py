# SPDX-License-Identifier: Apache-2.0
"""Every example in the docstrings and in docs/python runs and shows what is written."""

import doctest
import inspect
import pathlib

import pytest
import quern


def documented() -> dict[str, str]:
    found = {}
    for name in quern.__all__:
        value = getattr(quern, name)
        found[name] = inspect.getdoc(value) or ""
        if inspect.isclass(value):
            for member, inner in vars(value).items():
                if not member.startswith("_"):
                    found[f"{name}.{member}"] = inspect.getdoc(inner) or ""
    return found


@pytest.mark.parametrize("name", [n for n, doc in documented().items() if ">>>" in doc])
def test_examples_of_docstrings(name, sample):
    run(documented()[name], name)


@pytest.mark.parametrize("name", documented())
def test_everything_has_a_docstring(name):
    assert documented()[name].strip()


PAGES = sorted((pathlib.Path(__file__).resolve().parents[3] / "docs" / "python").glob("*.md"))
PAGES = [page for page in PAGES if page.stem != "integrations"]  # test_integrations.py


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_of_pages(page, sample):
    run(page.read_text(), page.name)


def run(text: str, name: str) -> None:
    test = doctest.DocTestParser().get_doctest(text.replace("```", "\n```"), {}, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False)
    output: list[str] = []
    runner.run(test, out=output.append)
    assert runner.failures == 0, "".join(output)
