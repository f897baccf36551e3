# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The modules of the package import each other in layers: no circle, also none that an import
inside of a function, or one for type checkers alone, hides."""

import ast
import inspect

import shoal
from paths import ROOT

SHOAL = ROOT / "python/shoal"


def modules_of(package):
    """The file of each module of a package by its dotted name."""
    files = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package.parent).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return files


def imports_of(path, modules):
    """What a module imports anywhere in it, of these modules."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            parts = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= parts & modules.keys() or {node.module}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            found |= {ast.literal_eval(node.args[0])}
    return found & modules.keys()


def circle_in(graph):
    """The names along a circle, or None."""
    done = set()

    def search(name, path):
        if name in path:
            return path[path.index(name) :]
        if name in done:
            return None
        circles = (search(other, [*path, name]) for other in sorted(graph[name]))
        circle = next((circle for circle in circles if circle), None)
        done.add(name)
        return circle

    return next((circle for name in sorted(graph) if (circle := search(name, []))), None)


def import_circle(package):
    modules = modules_of(package)
    return circle_in({name: imports_of(path, modules) for name, path in modules.items()})


def test_no_circle():
    assert len(modules_of(SHOAL)) > 80
    assert import_circle(SHOAL) is None


def test_circles_are_found(tmp_path):
    package = tmp_path / "p"
    package.mkdir()
    (package / "__init__.py").write_text("from p import a\n")
    (package / "a.py").write_text("from p.b import f\n")
    (package / "c.py").write_text("from typing import TYPE_CHECKING\n")
    (package / "b.py").write_text("def f():\n    from p.c import g\n    return g\n")
    assert import_circle(package) is None
    (package / "c.py").write_text("if TYPE_CHECKING:\n    import p.a\n")
    assert import_circle(package) == ["p.a", "p.b", "p.c"]


def stub_of_value():
    text = (SHOAL / "frontend/value.pyi").read_text()
    (stub,) = [
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef) and node.name == "Value"
    ]
    return {node.name: node.args for node in stub.body if isinstance(node, ast.FunctionDef)}


def test_type_checkers_see_what_is_attached_to_values():
    stub = stub_of_value()
    members = {
        name: member.fget if isinstance(member, property) else member
        for name, member in vars(shoal.Value).items()
        if inspect.isfunction(member) or isinstance(member, property)
    }
    assert stub.keys() == members.keys()
    for name, member in members.items():
        code, args = member.__code__, stub[name]
        listed = [arg.arg for arg in [*args.args, *args.kwonlyargs, args.vararg, args.kwarg] if arg]
        assert listed == list(code.co_varnames[: len(listed)]), name
        assert len(args.defaults) == len(member.__defaults__ or ()), name
