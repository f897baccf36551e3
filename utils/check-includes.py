#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that includes between the folders of include/shoal and lib go one way.

A part (include/shoal/PART and lib/PART) may include itself and the parts in
front of it in ORDER; what is apart, only what APART says. So do the runtime's
folders among themselves, by RUNTIME and MACHINES. No folder, of
any depth, includes one from which an include leads back to it: each can be
understood, built and tested before those that include it. What the build
generates counts as part of the folder that it is included from.

Usage: check-includes.py [ROOT]
Prints what is wrong, a line each; exit code 1 if something is.
"""

import collections
import os
import re
import sys
from pathlib import Path

# From the ground up. "." is include/shoal itself.
ORDER = [
    "Support",
    "Machine",
    "Calls",
    "Products",
    "LinearAlgebra",
    "Sharding",
    "Interfaces",
    "Dialect",
    "Reference",
    "CostModel",
    "Simulation",
    "Transforms",
    ".",
    "Conversion",
    "Target",
    "Report",
    "Compiler",
    "Fuzz",
]

# What programs are linked with, and what it may include. Of its own parts the
# compiler sees one: functions of the user's take the types of CustomCall.h.
APART = {"Runtime": ["Support", "Machine", "Calls", "Products", "LinearAlgebra"]}
VISIBLE = {"include/shoal/Runtime/CustomCall.h"}

# The runtime's own folders, from the ground up, and above them those of the
# machines and of the worker, which see of each other what is said here alone.
RUNTIME = ["Program", "Memory", "Products", "Collectives", "Job", "Run"]
MACHINES = {"CPU": [], "CUDAKernels": [], "CUDA": ["CUDAKernels"], "Worker": []}

SUFFIXES = {".h", ".inc", ".cpp", ".td", ".cu", ".in"}
INCLUDE = re.compile(r'\s*#?\s*include\s+"([^"]+)"')


def find_includes(root):
    """(file, line number, included file) of each include of one of our files."""
    for tree in ("include/shoal", "lib"):
        for path in sorted((root / tree).rglob("*")):
            if path.suffix not in SUFFIXES or not path.is_file():
                continue
            file = path.relative_to(root).as_posix()
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if match := INCLUDE.match(line):
                    if target := resolve(root, file, match.group(1)):
                        yield file, number, target


def resolve(root, file, name):
    """The path below `root` of what `file` includes; None where it is not ours."""
    if name.startswith("shoal/"):
        return "include/" + name  # may be generated
    beside = os.path.normpath(os.path.join(os.path.dirname(file), name))
    # The runtime's and the report's libraries look in their own folders, too.
    part = "/".join(file.split("/")[:2])
    for candidate in (beside, f"{part}/{name}", f"lib/{name}"):
        if (root / candidate).is_file():
            return candidate
    return None


def folder_of(file):
    """include/shoal/A/B/C.h and lib/A/B/C.cpp: A/B."""
    below = re.sub(r"^(include/shoal|lib)/", "", file)
    return os.path.dirname(below) or "."


def part_of(file):
    return folder_of(file).split("/")[0]


def check_order(file, target):
    """What is wrong with an include between parts; None if nothing is."""
    source, to = part_of(file), part_of(target)
    if source == to == "Runtime" and file.startswith("lib/"):
        return check_runtime(file, target)
    if source == to or target in VISIBLE:
        return None
    for part in (source, to):
        if part not in ORDER and part not in APART:
            return f"{part} has no place in the order of utils/check-includes.py"
    if source in APART:
        return None if to in APART[source] else f"{source} may not include {to}"
    if to in APART or ORDER.index(to) > ORDER.index(source):
        return f"{source} may not include {to}"
    return None


def check_runtime(file, target):
    """So within lib/Runtime."""
    source, to = folder_of(file), folder_of(target)
    if source == to or not target.startswith("lib/"):
        return None
    below, above = (folder.removeprefix("Runtime/") for folder in (to, source))
    for name in (below, above):
        if name not in RUNTIME and name not in MACHINES:
            return f"Runtime/{name} has no place in the order of utils/check-includes.py"
    allowed = RUNTIME + MACHINES[above] if above in MACHINES else RUNTIME[: RUNTIME.index(above)]
    return None if below in allowed else f"{source} may not include {to}"


def find_circle(edges):
    """Folders each of which includes the next, the last the first; or None."""
    done, path = set(), []

    def visit(folder):
        if folder in path:
            return path[path.index(folder) :]
        if folder in done:
            return None
        path.append(folder)
        for target in sorted(edges[folder]):
            if circle := visit(target):
                return circle
        path.pop()
        done.add(folder)
        return None

    for folder in sorted(edges):
        if circle := visit(folder):
            return circle
    return None


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
    problems = []
    edges = collections.defaultdict(dict)  # folder -> included folder -> the place
    for file, number, target in find_includes(root):
        place = f"{file}:{number}: includes {target}"
        if wrong := check_order(file, target):
            problems.append(f"{place}: {wrong}")
        elif folder_of(file) != folder_of(target):
            edges[folder_of(file)].setdefault(folder_of(target), place)
    if circle := find_circle(edges):
        problems.append("folders include each other: " + " -> ".join([*circle, circle[0]]))
        for folder, target in zip(circle, [*circle[1:], circle[0]], strict=True):
            problems.append(f"  {edges[folder][target]}")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
