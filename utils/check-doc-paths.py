#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that the files which pages name, and the sections they link to, are there.

A path is text between backticks that begins with a folder of the repository's root.
In it, {a,b} stands for both, * and <Family> for anything: some file must match. What
is to be made has Foo or foo in its name and is not looked for.

A link is [text](target), where the target is relative to the page. Behind # stands a
heading of the target as GitHub spells it in addresses.

Usage: check-doc-paths.py PAGE_OR_FOLDER...
Exit code 1 where a path or a link leads nowhere, or where there is none at all.
"""

import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATH = re.compile(r"`((?:cmake|docs|examples|include|lib|python|test|tools|utils)/[^`\s]*)`")
LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]*))?\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)


def expand(path):
    """The paths that one with braces stands for."""
    if not (braces := re.search(r"\{([^}]*)\}", path)):
        return [path]
    before, behind = path[: braces.start()], path[braces.end() :]
    return [p for part in braces[1].split(",") for p in expand(before + part + behind)]


def exists(path):
    pattern = re.sub(r"<[A-Za-z]+>", "*", path.rstrip("/"))
    return "foo" in pattern.lower() or any(ROOT.glob(pattern))


@functools.cache
def find_anchors(page):
    """What may stand behind # in a link to the page; of equal headings the later ones are numbered."""
    anchors = set()
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for heading in HEADING.findall(text):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")
        number = 0
        while (anchor := f"{slug}-{number}" if number else slug) in anchors:
            number += 1
        anchors.add(anchor)
    return anchors


def find_wrong_link(page, target, anchor):
    """What is wrong with a link of the page; nothing where it leads somewhere."""
    file = (page.parent / target).resolve() if target else page
    if not file.exists():
        return f"there is no {target}"
    if anchor and anchor not in find_anchors(file):
        return f"{target or page.name} has no section #{anchor}"
    return ""


def find_wrong(page):
    """How many paths and links the page has, and (line, text) of each that leads nowhere."""
    text = page.read_text()
    paths = list(PATH.finditer(text))
    # Without code, which may look like a link, but with its lines.
    prose = CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    links = list(LINK.finditer(prose))
    wrong = []
    for match in paths:
        for path in expand(match[1]):
            if not exists(path):
                wrong.append((text.count("\n", 0, match.start()) + 1, f"there is no {path}"))
    for match in links:
        if problem := find_wrong_link(page, match[1], match[2]):
            wrong.append((text.count("\n", 0, match.start()) + 1, problem))
    return len(paths) + len(links), sorted(wrong)


def find_pages(paths):
    for path in map(pathlib.Path, paths):
        yield from sorted([*path.rglob("*.md"), *path.rglob("*.ipynb")]) if path.is_dir() else [path]


def main():
    count, wrong = 0, []
    for page in find_pages(sys.argv[1:]):
        own, problems = find_wrong(page)
        count += own
        wrong += [f"{page}:{line}: {problem}" for line, problem in problems]
    print("\n".join([*wrong, f"{count} paths, {len(wrong)} wrong"]))
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
