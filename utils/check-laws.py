#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that every law of a dialect's ops has a negative test.

A law is a line "* (C1) ..." of a description in a TableGen file, or "* (C1) to (C4)
...". A test names it in a comment on the program that breaks it: laws (Cn), which an op
numbers for itself, as "// top_k (C1)", or as "// (C1)" where the program has that op;
others, which ops share, as "// (R1)".

Usage: check-laws.py TDFILE... -- TEST...
Exit code 1 where a law has no test, or where there are no laws.
"""

import pathlib
import re
import sys

DEFINITION = re.compile(r'^def \w+\s*:\s*\w+<(?:\w+, )?"(\w+)"', re.M)
LAW = re.compile(r"^ *\* \(([A-Z])(\d+)\)(?: to \(\1(\d+)\))?", re.M)
LABEL = re.compile(r"^ *// (.*\([A-Z]\d+\).*)$", re.M)
NAMED = re.compile(r"((?:\w+, )*\w+ )?\(([A-Z]\d+)\)")
OP = re.compile(r"\b(?:shoal|spmd|rt)\.(\w+)")


def find_laws(text):
    """The laws of a TableGen file, each as "top_k (C1)" or "(R1)"."""
    starts = [(m.start(), m.group(1)) for m in DEFINITION.finditer(text)]
    for law in LAW.finditer(text):
        letter, first, last = law.groups()
        op = next((name for at, name in reversed(starts) if at < law.start()), None)
        for number in range(int(first), int(last or first) + 1):
            yield label(op, f"{letter}{number}")


def label(op, law):
    return f"{op} ({law})" if law.startswith("C") else f"({law})"


def find_labels(text):
    """What the comments of a test's programs name. In "scatter, gather (C3)" it is a law
    of both; without an op, of those in the program."""
    for program in text.split("// -----"):
        ops = set(OP.findall(program))
        for line in LABEL.finditer(program):
            for names, law in NAMED.findall(line[1]):
                for op in re.findall(r"\w+", names) or ops:
                    yield label(op, law)


def main():
    if "--" not in sys.argv:
        sys.exit("usage: check-laws.py TDFILE... -- TEST...")
    split = sys.argv.index("--")
    laws = [law for path in sys.argv[1:split] for law in find_laws(pathlib.Path(path).read_text())]
    tests = [pathlib.Path(path).read_text() for path in sys.argv[split + 1 :]]
    labels = {name for text in tests for name in find_labels(text)}
    wrong = [f"{law} has no negative test" for law in laws if law not in labels]
    print("\n".join([*wrong, f"{len(laws)} laws, {len(wrong)} wrong"]))
    return 1 if wrong or not laws else 0


if __name__ == "__main__":
    sys.exit(main())
