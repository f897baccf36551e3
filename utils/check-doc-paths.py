#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that the files which pages name are there.

A path is text between backticks that begins with a folder of the repository's root.
In it, {a,b} stands for both, * and <Family> for anything: some file must match. What
is to be made has Foo or foo in its name and is not looked for.

Usage: check-doc-paths.py PAGE...
Exit code 1 where a path leads nowhere, or where there is none at all.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATH = re.compile(r"`((?:cmake|docs|examples|include|lib|python|test|tools|utils)/[^`\s]*)`")


def expand(path):
    """The paths that one with braces stands for."""
    if not (braces := re.search(r"\{([^}]*)\}", path)):
        return [path]
    before, behind = path[: braces.start()], path[braces.end() :]
    return [p for part in braces[1].split(",") for p in expand(before + part + behind)]


def exists(path):
    pattern = re.sub(r"<[A-Za-z]+>", "*", path.rstrip("/"))
    return "foo" in pattern.lower() or any(ROOT.glob(pattern))


def find_wrong(page):
    """How many paths the page names, and a line for each that leads nowhere."""
    text = page.read_text()
    paths = list(PATH.finditer(text))
    wrong = []
    for match in paths:
        line = text.count("\n", 0, match.start()) + 1
        for path in expand(match.group(1)):
            if not exists(path):
                wrong.append(f"{page}:{line}: there is no {path}")
    return len(paths), wrong


def main():
    count, wrong = 0, []
    for page in map(pathlib.Path, sys.argv[1:]):
        own, lines = find_wrong(page)
        count += own
        wrong += lines
    print("\n".join([*wrong, f"{count} paths, {len(wrong)} wrong"]))
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
