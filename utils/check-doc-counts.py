#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks numbers and lists of pages by the commands that stand behind them.

    The library is held to fifteen bars<!-- count: grep -c '^| [0-9]' docs/results/MoeBars.md -->.

The last number in front of such a comment, in its paragraph, is what the command prints; it may be
a word up to twenty. A list's names, "Support, Machine, Calls <!-- list: ... -->", are the lines
that its command prints. Commands run in the repository's root, by sh; in tables without "|".

Usage: check-doc-counts.py PAGE_OR_FOLDER...
Exit code 1 where a page says something else, or where no page has such a comment.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMENT = re.compile(r"<!-- (count|list): (.*?) -->")
WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty"
).split()
NUMBER = re.compile(rf"\b(\d[\d,]*|{'|'.join(WORDS)})\b", re.IGNORECASE)


def said_number(text):
    """The last number of a text; None where it has none."""
    found = NUMBER.findall(text)
    if not found:
        return None
    word = found[-1].lower()
    return WORDS.index(word) if word in WORDS else int(word.replace(",", ""))


def run(command):
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.strip()


def find_wrong(page):
    """How many comments the page has, and (line, text) of each that does not hold."""
    text, wrong = page.read_text(), []
    comments = list(COMMENT.finditer(text))
    for match in comments:
        before = COMMENT.sub("", text[: match.start()].rpartition("\n\n")[2])
        made = run(match[2])
        if match[1] == "count":
            said = said_number(before)
            holds, said = str(said) == made, "no number" if said is None else said
        else:
            made = ", ".join(made.splitlines())
            said = " ".join(before.split())[-len(made) :]
            holds = said == made
        if not holds or not made:
            wrong.append((text.count("\n", 0, match.start()) + 1, f"says {said}, but `{match[2]}` prints {made}"))
    return len(comments), wrong


def main():
    count, wrong = 0, []
    for path in map(Path, sys.argv[1:]):
        for page in sorted(path.rglob("*.md")) if path.is_dir() else [path]:
            own, problems = find_wrong(page)
            count += own
            wrong += [f"{page}:{line}: {problem}" for line, problem in problems]
    print("\n".join([*wrong, f"{count} numbers and lists, {len(wrong)} wrong"]))
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
