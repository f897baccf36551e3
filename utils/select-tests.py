#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says which tests a change can reach: docs/internals/Testing.md has the rules and why they suffice.

Usage: select-tests.py --all
       select-tests.py [--base COMMIT] [--tested FILE] [FILE...]

The change is that of the files named; else all that differs from COMMIT, also what is not
committed. The default is the commit in FILE, which utils/test.sh wrote when all tests passed; else
where the branch left main; else the commit before the last.

Prints a line for each stage of utils/test.sh that has something to run, `NAME: ARGUMENTS`.
"""

from __future__ import annotations

import argparse
import ast
import functools
import importlib.util
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE, TESTS, SUPPORT = "python/shoal", "test/python", "test/python/support"

# Of which every test depends, and what they name no test in particular.
SETUP = {f"{TESTS}/conftest.py", f"{SUPPORT}/paths.py"}
# Where imports are looked for; what is imported is followed.
LOOKED_UP = {"python"}
# Run by hand; what of them a test runs, it names.
BY_HAND = ("test/benchmarks/", "test/conformance/", "test/real-models/", "tools/gpu-check/", "examples/")
PROSE = re.compile(r"docs/|[^/]*\.md$|LICENSE$|\.(gitignore|editorconfig|clang-format|clang-tidy)$")
# The compiler and what is linked with programs. Of a part any file, also what builds it: it may break no other.
PARTS = ("include/", "lib/")
CPP = re.compile(r"(tools|python/native|test/(Unit|Runtime|emulation))/.*\.(h|cpp|cu|c)$")
UNIT_TESTS = ("test/Unit/", "test/Runtime/", "test/emulation/Unit/")

# Folders of test/ whose programs go through the whole compiler, and pages of it.
THROUGH_ALL = ("Docs", "Execution", "Fuzz", "Layouts", "Tools")
# Python tests for every change of C++: each op, way to run a program and kind of sharding, ...
COMPILER = f"{TESTS}/compiler"
# ... and one of each way into the compiler: text, shoal.compile, JAX, a library, a plan.
WAYS_IN = (
    f"{TESTS}/executable/test_executable.py",
    f"{TESTS}/frontend/test_frontend_compile.py",
    f"{TESTS}/jax/test_jax_conformance.py",
    f"{TESTS}/moe/test_frontend_moe.py",
    f"{TESTS}/planning/test_plan.py",
)
# Names of the package that are no functions of arrays, and so not meant where it is handed on.
FORECASTS = "python/shoal/planning/"
# Folders and files of test/python about a part of C++, beside compiler/.
ABOUT = {
    "LinearAlgebra": ("jax/test_jax_lapack.py",),
    "Machine": ("planning", "simulation"),
    "Simulation": ("planning", "simulation"),
    "Runtime": ("executable", "devices"),
    "Target": ("executable",),
    "Compiler": ("executable",),
    "native": ("executable",),
}
# Parts in which programs for CUDA differ from those for CPUs.
FOR_CUDA = {"Calls", "Products", "Conversion", "Target", "Runtime", "emulation"}


def load_check_includes():
    """The module of utils/check-includes.py, which knows the order of parts."""
    spec = importlib.util.spec_from_file_location("check_includes", ROOT / "utils/check-includes.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


INCLUDES = load_check_includes()


def git(*words: str) -> str:
    ended = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    return ended.stdout.strip() if ended.returncode == 0 else ""


@functools.cache
def files() -> frozenset[str]:
    """Those of the repository, also new ones."""
    listed = git("ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    return frozenset(path for path in listed if (ROOT / path).is_file())


@functools.cache
def folders() -> dict[str, list[str]]:
    """The files below each folder."""
    found: dict[str, list[str]] = {}
    for path in sorted(files()):
        for folder in list(Path(path).parents)[:-1]:
            found.setdefault(folder.as_posix(), []).append(path)
    return found


@dataclass
class Selection:
    """What to run. None: all that there is."""

    why: str = ""
    build: bool = False
    cpp: bool = False
    package: bool = False
    cuda: bool = False
    ctest: bool = False
    lit: set[str] | None = field(default_factory=set)
    python: set[str] | None = field(default_factory=set)


EVERYTHING = Selection("", True, True, True, True, True, None, None)


# C++: by the order of check-includes.py


def part_of(path: str) -> str:
    """The part of a file: Transforms of lib/Transforms/..., test/Unit/Transforms/..."""
    parts = path.split("/")
    if path.startswith("include/shoal/"):
        return parts[2] if len(parts) > 3 else "."
    if path.startswith("test/Unit/"):
        return parts[2]
    return parts[1] if parts[0] in ("lib", "python", "test") else parts[0]


def parts_with(part: str) -> set[str]:
    """The part, and where it may be included by what programs are linked with, that."""
    return {part} | {apart for apart, seen in INCLUDES.APART.items() if part in seen}


def parts_behind(part: str) -> set[str]:
    """The parts that may include this one, and itself."""
    behind = INCLUDES.ORDER[INCLUDES.ORDER.index(part) :] if part in INCLUDES.ORDER else ()
    return {*behind, *parts_with(part)}


def select_cpp(path: str, selection: Selection) -> bool:
    part = part_of(path)
    is_known = part in {*INCLUDES.ORDER, *INCLUDES.APART} and path != "include/shoal/CMakeLists.txt"
    if path.startswith(PARTS) and not is_known:
        return False
    selection.build = selection.cpp = selection.ctest = True
    if path.startswith(UNIT_TESTS):
        return True
    selection.cuda |= not FOR_CUDA.isdisjoint(parts_with(part))
    selection.lit |= {f"test/{name}" for name in (*parts_behind(part), *THROUGH_ALL) if has_lit(f"test/{name}")}
    selection.python |= {*tests_below(COMPILER), *WAYS_IN}
    for about in parts_with(part):
        for name in ABOUT.get(about, ()):
            selection.python |= set(tests_of(f"{TESTS}/{name}"))
    return True


# Python: by imports, and by the paths and programs in strings


def tests_below(folder: str) -> list[str]:
    return [path for path in folders().get(folder, ()) if re.search(r"/test_\w+\.py$", path)]


def tests_of(path: str) -> list[str]:
    """A file of tests, or those below a folder."""
    return [path] if path.endswith(".py") and (ROOT / path).exists() else tests_below(path)


@functools.cache
def parse(path: str) -> ast.Module | None:
    try:
        return ast.parse((ROOT / path).read_text())
    except (OSError, SyntaxError, UnicodeDecodeError):
        return None


def module_file(name: str) -> str | None:
    """The file of a dotted name below python/."""
    base = "python/" + name.replace(".", "/")
    for path in (f"{base}.py", f"{base}/__init__.py"):
        if path in files():
            return path
    return None


@functools.cache
def exports(module: str) -> dict[str, str]:
    """Where the names of the package itself come from: {"einsum": python/shoal/frontend/contraction.py}."""
    found: dict[str, str] = {}
    tree = parse(module_file(module) or "")
    for node in tree.body if tree else ():
        if isinstance(node, ast.ImportFrom) and node.module and (source := module_file(node.module)):
            for alias in node.names:
                if alias.name == "*":
                    found |= dict.fromkeys(names_of(source), source)
                else:
                    found[alias.asname or alias.name] = module_file(f"{node.module}.{alias.name}") or source
    return found


def names_of(path: str) -> list[str]:
    """Those of `__all__`."""
    for node in parse(path).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return [item.value for item in ast.walk(node.value) if isinstance(item, ast.Constant)]
    return []


@functools.cache
def subpackages() -> dict[str, str]:
    return {name: path for name, path in exports("shoal").items() if path.endswith(f"{name}/__init__.py")}


class Reader:
    """What one file, or a program in a string of it, depends on."""

    def __init__(self, path: str):
        self.path, self.folder = path, path.rpartition("/")[0]
        self.found: set[str] = set()

    def read(self, tree: ast.Module) -> None:
        # The package does not use its own root's names by what it imports.
        nodes = list(ast.walk(tree))
        self.modules = {alias.asname or alias.name for node in nodes
                        if isinstance(node, ast.Import) for alias in node.names}  # fmt: skip
        self.prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        attributes = {id(node.value): node for node in nodes if isinstance(node, ast.Attribute)}
        inner = {id(node.left) for node in nodes if isinstance(node, ast.BinOp)}
        in_joined: set[int] = set()
        for node in nodes:  # a joined string in front of its parts
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self.add_module(alias.name)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                self.add_names(node.module, [alias.name for alias in node.names])
            elif isinstance(node, ast.Name) and node.id == "shoal":
                self.add_use(attributes.get(id(node)))
            elif isinstance(node, ast.Attribute) and node.attr in subpackages():
                self.add_attribute(node)
            elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and id(node) not in inner:
                self.add_path(joined(node))
            elif isinstance(node, ast.List):
                self.add_command([getattr(item, "value", None) for item in node.elts])
            elif isinstance(node, ast.JoinedStr):
                self.add_program("".join(part.value if isinstance(part, ast.Constant) else "0" for part in node.values))
                in_joined |= set(map(id, node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in self.prose:
                self.add_string(node.value, id(node) in in_joined)

    def add_module(self, name: str) -> None:
        if name == "shoal":
            return  # what is used of it: add_use
        if name.split(".")[0] in ("shoal", "shoal_reference"):
            names = name.split(".")
            inner = [".".join(names[:end]) for end in range(2, len(names) + 1)] or [name]
            self.found |= {file for file in map(module_file, inner) if file}
            if names[0] != "shoal":
                self.found.add(f"python/{names[0]}/__init__.py")
            return
        for folder in (self.folder, SUPPORT):
            if f"{folder}/{name}.py" in files():
                self.found.add(f"{folder}/{name}.py")

    def add_names(self, module: str, names: list[str]) -> None:
        self.add_module(module)
        for name in names:
            if module == "shoal":
                self.add_export(name)
            elif module and (file := module_file(f"{module}.{name}")) and file.startswith("python/shoal"):
                self.found.add(file)

    def add_export(self, name: str) -> None:
        if file := exports("shoal").get(name) or module_file(f"shoal.{name}"):
            self.found.add(file)
        else:
            self.found.add(PACKAGE)

    def add_use(self, attribute: ast.Attribute | None) -> None:
        """`shoal.NAME`, or the package itself, handed on to what takes functions of it."""
        if attribute is not None:
            self.add_export(attribute.attr) if not attribute.attr.startswith("__") else None
        else:
            named = set(exports("shoal").values()) - set(subpackages().values())
            self.found |= {path for path in named if not path.startswith(FORECASTS)}

    def add_attribute(self, node: ast.Attribute) -> None:
        """`xp.moe`, where xp may be the package: is no module that is imported under this name."""
        base = node.value
        if isinstance(base, ast.Name) and base.id not in self.modules and not base.id.isupper():
            self.found.add(subpackages()[node.attr])

    def add_string(self, text: str, is_part: bool) -> None:
        if not is_part and self.add_program(text):
            return
        for word in text.split() if len(text) < 300 else ():
            if "/" in word or "." in word:
                self.add_path(word)

    def add_command(self, words: list[object]) -> None:
        """[..., "-m", "shoal", ...]."""
        for flag, name in zip(words, words[1:], strict=False):
            if flag == "-m" and (main := module_file(f"{name}.__main__")):
                self.found.add(main)

    def add_program(self, text: str) -> bool:
        """Whether the string is one that imports the package: for a process of its own."""
        if not re.search(r"^\s*(import|from)\b.*\bshoal\b", text, re.MULTILINE):
            return False
        more = Reader(self.path)
        try:
            more.read(ast.parse(textwrap.dedent(text)))
        except SyntaxError:
            more.found = {PACKAGE}
        self.found |= more.found
        return True

    def add_path(self, text: str) -> None:
        """What of the repository a string names, from its root, from examples/ or a helper's file."""
        if self.path.startswith("python/"):
            return  # the package reads what is installed with it
        text = text.strip("/\"'`,;:()")
        if f"{SUPPORT}/{text}" in files():
            self.found.add(f"{SUPPORT}/{text}")
        for start in ("", "examples/"):
            path = start + text.split("*")[0].strip("/")
            if path in LOOKED_UP:
                continue
            folder = path.rpartition("/")[0]
            if path in files() or path in folders():
                self.found.add(path)
            elif "/" in folder and folder in folders():  # the rest is a variable's, or a pattern's
                self.found.add(folder)


def joined(node: ast.AST) -> str:
    """"a/b" of X / "a" / "b", where all but the first are strings. A folder of the root's alone has
    many namesakes: it counts where X is a constant, as ROOT."""
    words: list[str] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        if not (isinstance(node.right, ast.Constant) and isinstance(node.right.value, str)):
            words = []
        else:
            words.insert(0, node.right.value)
        node = node.left
    is_constant = isinstance(node, ast.Name) and node.id.isupper()
    return "/".join(words) if is_constant or len(words) > 1 or "/" in "".join(words) else ""


@functools.cache
def dependencies(path: str) -> frozenset[str]:
    """What a file names or imports; of a folder, the programs in it."""
    if path in SETUP:
        return frozenset()
    if path in folders():
        return frozenset(inner for inner in folders()[path] if inner.endswith((".py", ".md", ".ipynb")))
    if path.endswith((".md", ".ipynb")):
        return frozenset({PACKAGE} if "import shoal" in (ROOT / path).read_text() else ())
    if not path.endswith(".py"):
        return frozenset()
    if (tree := parse(path)) is None:
        return frozenset({PACKAGE})
    reader = Reader(path)
    reader.read(tree)
    return frozenset(reader.found - {path})


@functools.cache
def reach_of(test: str) -> frozenset[str]:
    """All files and folders that a test depends on."""
    found, open_ = {test}, [test]
    while open_:
        for path in dependencies(open_.pop()):
            if path not in found:
                found.add(path)
                open_.append(path)
    return frozenset(found)


def reaches(test: str, changed: str) -> bool:
    names = changed.split("/")
    return any("/".join(names[:end]) in reach_of(test) for end in range(1, len(names) + 1))


def reaching(changed: str) -> set[str]:
    """The test files that depend on a file."""
    return {test for test in tests_below(TESTS) if reaches(test, changed)}


# Other files


def has_lit(folder: str) -> bool:
    return any(path.startswith(f"{folder}/") for path in lit_files())


@functools.cache
def lit_files() -> dict[str, str]:
    paths = (path for path in folders()["test"] if path.endswith((".mlir", ".test")))
    return {path: (ROOT / path).read_text(errors="replace") for path in paths}


def lit_naming(changed: str) -> set[str]:
    """The lit tests that name a file by its path from the root."""
    return {path for path, text in lit_files().items() if f"shoal_src_root/{changed}" in text}


def select_lit(path: str, selection: Selection) -> bool:
    """A test of lit's, or what lies in a folder Inputs: the tests around it."""
    top = path.split("/")[1]
    if path.endswith((".mlir", ".test")) and "/Inputs/" not in path and path in files():
        selection.lit.add(path)
    elif f"test/{top}" in folders():
        selection.lit.add(f"test/{top}")
    else:
        return False
    return True


def select_file(path: str, selection: Selection) -> bool:
    """Adds what a change of this file can reach; False where that is not known."""
    if path in SETUP:
        return False
    if path not in files():
        selection.lit.add("test/Docs")  # a page may still name it
    named = reaching(path)
    if path.startswith("python/shoal"):
        # What is no module is read by some around it; those that imported one which is gone may be among them.
        is_module = path in files() and path.endswith(".py")
        around = () if is_module else folders().get(path.rpartition("/")[0], ())
        selection.python |= named.union(*map(reaching, around))
        selection.lit.add("test/Docs")  # its docstrings are pages
        selection.build = selection.package = True
        return is_module or bool(around)
    selection.python |= named
    if PROSE.match(path):
        selection.lit.add("test/Docs")
        return True
    if path.startswith(BY_HAND):
        selection.lit |= {"test/Docs", *lit_naming(path)}
        return True
    if path.startswith(PARTS) or CPP.match(path):
        return select_cpp(path, selection)
    if path.startswith(TESTS):
        selection.lit |= lit_naming(path)
        return bool(named) if path in files() else not path.startswith(SUPPORT)
    if path.startswith("test/"):
        return select_lit(path, selection)
    return False


def select(changed: Iterable[str]) -> Selection:
    selection = Selection()
    for path in changed:
        if not select_file(path, selection):
            return Selection(**{**vars(EVERYTHING), "why": f"{path}: may reach everything"})
    return selection


# What changed


def default_base(tested: Path | None) -> str:
    commit = tested.read_text().strip() if tested and tested.is_file() else ""
    if commit and git("merge-base", commit, "HEAD") == commit:
        return commit
    head, fork = git("rev-parse", "HEAD"), git("merge-base", "main", "HEAD")
    return fork if fork and fork != head else "HEAD~1"


def changed_since(base: str) -> list[str] | None:
    """Committed or not; None where there is no such commit. Both names of a file that moved."""
    if not git("rev-parse", "--verify", "--quiet", f"{base}^{{commit}}"):
        return None
    names = git("diff", "--name-only", "--no-renames", base)
    new = git("ls-files", "--others", "--exclude-standard")
    return sorted({*names.splitlines(), *new.splitlines()})


# Output


def is_alone(test: str) -> str:
    """Whether tests of a file are marked `alone`: "all", "some" or "none"."""
    text = (ROOT / test).read_text()
    if re.search(r"^pytestmark = .*mark\.alone", text, re.MULTILINE):
        return "all"
    return "some" if re.search(r"^@pytest\.mark\.alone$", text, re.MULTILINE) else "none"


def lines_of(selection: Selection, base: str | None = None) -> Iterator[str]:
    """`NAME: ARGUMENTS` of each stage that has something to run."""
    python = tests_below(TESTS) if selection.python is None else sorted(selection.python)
    alone = {test: is_alone(test) for test in python}
    lit = ["test"] if selection.lit is None else outermost(selection.lit)
    stages = {
        "build": ["all"] if selection.build or lit or python else [],
        "format": ["all"],
        "includes": ["all"] if selection.cpp else [],
        "tidy": ["--changed", *filter(None, [base])] if selection.cpp else [],
        "ctest": ["all"] if selection.ctest else [],
        "lit": lit,
        "python": [TESTS] if selection.python is None else [test for test in python if alone[test] != "all"],
        "alone": [test for test in python if alone[test] != "none"],
        "package": ["all"] if selection.package else [],
        "cuda": [f"{COMPILER}/execution"] if selection.cuda else [],
    }
    for name, arguments in stages.items():
        if arguments:
            yield f"{name}: {' '.join(arguments)}"


def outermost(paths: set[str]) -> list[str]:
    """Without what lies in another one."""
    return sorted(p for p in paths if not any(p.startswith(f"{other}/") for other in paths))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--base", metavar="COMMIT")
    parser.add_argument("--tested", metavar="FILE", type=Path)
    parser.add_argument("files", nargs="*", metavar="FILE")
    options = parser.parse_args()
    base, changed = None, options.files
    if not (options.all or changed):
        base = options.base or default_base(options.tested)
        if (changed := changed_since(base)) is None:
            print(f"select-tests: there is no commit {base}", file=sys.stderr)
            return 1
        print(f"# {len(changed)} files changed since {base}")
    selection = EVERYTHING if options.all else select(changed)
    if selection.why:
        print(f"# {selection.why}")
    print("\n".join(lines_of(selection, base)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
