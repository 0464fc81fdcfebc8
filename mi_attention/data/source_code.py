"""First paragraphs of docstrings, read by parsing the source of installed packages."""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import importlib.util
import inspect
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

__all__ = ["first_paragraphs", "installed_version", "source_files"]

# Folders whose functions are not the package's public face.
NOT_PUBLIC = frozenset({"tests", "test", "testing", "_testing", "externals", "_external", "_vendored", "conftest.py"})

DISTRIBUTIONS = {"sklearn": "scikit-learn"}

PARAGRAPH_END = re.compile(r"\n[ \t]*\n")


def installed_version(package: str) -> str:
    """Version of an installed package.

    Raises:
        ValueError: if it is not installed.
    """
    distribution = DISTRIBUTIONS.get(package, package)
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        raise ValueError(f"package {package!r} is not installed; pip install {distribution}") from None


def source_files(package: str) -> list[Path]:
    """Source files of an installed package in the order of a hash of their place in it.

    The package is located, not imported. Hash order makes the first files a fair sample of its modules.

    Raises:
        ValueError: if it is not installed.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ValueError(f"package {package!r} is not installed; pip install {DISTRIBUTIONS.get(package, package)}")
    root = Path(next(iter(spec.submodule_search_locations)))
    places = {path.relative_to(root).as_posix(): path for path in root.rglob("*.py")}
    public = [place for place in places if not NOT_PUBLIC & set(place.split("/"))]
    public.sort(key=lambda place: hashlib.sha256(f"{package}/{place}".encode()).digest())
    return [places[place] for place in public]


def first_paragraphs(path: Path) -> Iterator[str]:
    """First paragraph of every public function and of every public method of a public class.

    Public means that the name has no leading underscore. White space is folded to single spaces.

    Raises:
        ValueError: if the file does not parse.
    """
    with warnings.catch_warnings():
        # Old escapes in other people's strings are none of our caller's business.
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(path.read_bytes())
        except SyntaxError as error:
            raise ValueError(f"{path.name} does not parse: {error.msg}") from error
    yield from _paragraphs(tree.body)


def _paragraphs(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        if isinstance(node, ast.ClassDef):
            yield from _paragraphs(node.body)
            continue
        docstring = ast.get_docstring(node, clean=False)
        if docstring:
            paragraph = PARAGRAPH_END.split(inspect.cleandoc(docstring), maxsplit=1)[0]
            if paragraph.strip():
                yield " ".join(paragraph.split())
