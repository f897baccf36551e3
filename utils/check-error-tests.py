#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that there is a test of what each pass says when it refuses a program.

A pass FooBar of include/shoal/A/Passes.td can refuse one where it signals failure and
where its file, or one of lib that it includes from there, has an error or asks for the
mesh, of which an error tells where there is none. Its test is a file test/A/foo-bar*, or
one in a folder of the pass's name, that expects an error.

Usage: check-error-tests.py [--list] ROOT     --list: what there is for each pass
Exit code 1 where a test is missing, or where there are no passes.
"""

import argparse
import pathlib
import re
import sys

PASS = re.compile(r'^def (\w+)\s*:\s*Pass<"', re.M)
IMPLEMENTATION = re.compile(r"^struct \w+\s*:\s*(?:\w+::)*(\w+)Base<.*?^};", re.M | re.S)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
ERROR = re.compile(r"\bemit(?:Op)?Error\(|getAnalysis<MeshAnalysis>")
EXPECTED = re.compile(r"expected-error|RUN: not ")


def find_passes(root):
    """The name of each pass, and its folder in include/shoal, lib and test."""
    include = root / "include/shoal"
    for path in sorted(include.rglob("Passes.td")):
        for name in PASS.findall(path.read_text()):
            yield name, path.parent.relative_to(include)


def find_implementations(folder):
    """{pass: (its file, the text of its struct)}."""
    return {
        struct[1]: (path, struct[0])
        for path in sorted(folder.rglob("*.cpp"))
        for struct in IMPLEMENTATION.finditer(path.read_text())
    }


def sources_of(path):
    """The file and, of headers that lie beside it or are named from there, their own and so on."""
    seen, left = set(), [path.resolve()]
    while left:
        source = left.pop()
        if source in seen or not source.exists():
            continue
        seen.add(source)
        for name in INCLUDE.findall(source.read_text()):
            header = (source.parent / name).resolve()
            left += [header, header.with_suffix(".cpp")]
    return seen


def can_refuse(path, struct):
    if "signalPassFailure" not in struct:
        return False
    return any(ERROR.search(source.read_text()) for source in sources_of(path))


def kebab(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def find_tests(folder, name):
    """The files that are named after the pass and expect an error."""
    for path in sorted(folder.rglob("*.mlir")):
        is_named = path.name.startswith(kebab(name)) or name in path.relative_to(folder).parts
        if is_named and EXPECTED.search(path.read_text()):
            yield path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("root", type=pathlib.Path)
    options = parser.parse_args()
    root = options.root

    implementations = find_implementations(root / "lib")
    count = refusing = wrong = 0
    for name, folder in find_passes(root):
        count += 1
        if name not in implementations:
            wrong += 1
            print(f"{name}: lib has no implementation of this pass")
            continue
        if not can_refuse(*implementations[name]):
            if options.list:
                print(f"{name}: cannot refuse a program")
            continue
        refusing += 1
        tests = list(find_tests(root / "test" / folder, name))
        if options.list and tests:
            print(f"{name}: {', '.join(str(test.relative_to(root)) for test in tests)}")
        if not tests:
            wrong += 1
            print(f"{name} can refuse a program: test/{folder}/{kebab(name)}-errors.mlir is missing")
    print(f"{count} passes, {refusing} can refuse a program, {wrong} wrong")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
