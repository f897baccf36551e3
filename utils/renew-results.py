#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Renews the figures of docs/results, by what stands beside them.

Behind the heading of each section that has a table of figures, or of one around it, stands where they are from:

    <!-- figures: 9fc9d8fc00: test/benchmarks/moe_layouts.py -->
    <!-- figures: a9c3d96009, hours: examples/translation/run.py FOLDER -->
    <!-- figures: 645b2a2f68, by hand: bytes that kernels declare -->
    <!-- figures: tests: test/python/frontend/test_pipeline.py test/Execution -->

The command made them in the tree of the commit, by bash in the repository's root after utils/env.sh, with the
package of the build on PYTHONPATH; what takes hours says so, and `--long` runs it, too. What has no command is
done by hand. Tests, of pytest and of lit, hold them.

Usage: renew-results.py [PAGE...]     runs the commands and tests of these pages, or of all. What a command prints is
                                      in build/results/PAGE-NUMBER.txt, under the commit and the command; to be
                                      entered with the commit, where the command does not write the page itself
       renew-results.py --list [PAGE...]    prints them
       renew-results.py --check [FOLDER]    exit code 1 where figures of a folder's pages stand without, or files or commits
                                            that are named are not there
"""

import argparse
import dataclasses
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs/results"
COMMENT = re.compile(r"<!-- figures: (.*?) -->")
SOURCE = re.compile(r"([0-9a-f]{8,40})(?:, (hours|by hand))?: (.+)|tests: (.+)")
HEADING = re.compile(r"(#+) ")
FILE = re.compile(r"(?:docs|examples|test|tools|utils)/[\w./-]+\w")


@dataclasses.dataclass(frozen=True)
class Source:
    """Of figures: a command and the commit in whose tree it made them, or tests alone.

    kind: "hours", "by hand" or "".
    """

    page: Path
    commit: str
    kind: str
    command: str

    @classmethod
    def read(cls, page, text):
        match = SOURCE.fullmatch(text)
        if not match:
            return None
        commit, kind, command, tests = match.groups()
        return cls(page, commit or "", kind or "", command or command_of(tests.split()))


def command_of(tests):
    """What runs files and folders of tests."""
    python = [path for path in tests if path.startswith("test/python/")]
    others = [f'"$SHOAL_BUILD/{path}"' for path in tests if path not in python]
    commands = ['"$SHOAL_PYTHON" -m pytest -q ' + " ".join(python)] if python else []
    commands += ['"$(llvm-config-22 --bindir)/lit" -sv ' + " ".join(others)] if others else []
    return " && ".join(commands)


def sections_of(page):
    """(line, level, sources' texts, whether there are figures) of each section, code left out."""
    sections, fenced = [[1, 0, [], False]], False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fenced ^= line.startswith("```")
        if not fenced and (heading := HEADING.match(line)):
            sections.append([number, len(heading[1]), [], False])
        sections[-1][2] += COMMENT.findall(line)
        sections[-1][3] |= line.startswith("|") and bool(re.search(r"\d", line))
    return sections


def sources_of(page):
    found = [Source.read(page, text) for _, _, texts, _ in sections_of(page) for text in texts]
    return list(dict.fromkeys(source for source in found if source))


def has_commit(commit):
    """Whether it is in the history, or there is none to ask: a copy without it has a commit or a few."""
    git = ["git", "-C", str(ROOT)]
    counted = subprocess.run([*git, "rev-list", "--count", "HEAD"], capture_output=True, text=True).stdout
    if not counted.strip() or int(counted) < 100:
        return True
    return not subprocess.run([*git, "cat-file", "-e", f"{commit}^{{commit}}"], capture_output=True).returncode


def wrong_with(text):
    """Why a comment is none."""
    source = Source.read(PAGES, text)
    if not source:
        return f'"{text}" is neither "COMMIT: COMMAND" nor "tests: PATHS"'
    missing = [path for path in FILE.findall(source.command) if not (ROOT / path).exists()]
    if missing:
        return f"there is no {missing[0]}"
    if source.commit and not has_commit(source.commit):
        return f"there is no commit {source.commit}"
    return ""


def check(folder):
    """(line, text) of what is wrong with each page, and how many sources there are."""
    lines, count = [], 0
    for page in sorted(folder.glob("*.md")):
        around = []
        for line, level, texts, has_figures in sections_of(page):
            around = [(outer, known) for outer, known in around if outer < level]
            around.append((level, bool(texts)))
            count += len(texts)
            lines += [f"{page.name}:{line}: {wrong}" for text in texts if (wrong := wrong_with(text))]
            if has_figures and not any(known for _, known in around):
                lines.append(f"{page.name}:{line}: nothing says where the figures of this section are from")
    print("\n".join([*lines, f"{count} sources of figures, {len(lines)} wrong"]))
    return 1 if lines or not count else 0


def renew(source, file):
    """Whether the command ran well; what it prints goes to the file."""
    head = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True)
    with file.open("w") as out:
        out.write(f"{head.stdout.strip()}: {source.command}\n\n")
        out.flush()
        script = f'source utils/env.sh && export PYTHONPATH="$SHOAL_BUILD/python" && {source.command}'
        done = subprocess.run(["bash", "-c", script], cwd=ROOT, stdout=out, stderr=subprocess.STDOUT)
    print(f"{'ok' if not done.returncode else 'FAILED'}  {file.relative_to(ROOT)}: {source.command}", flush=True)
    return not done.returncode


def renew_all(pages, long):
    folder = ROOT / "build/results"
    folder.mkdir(parents=True, exist_ok=True)
    done = []
    for page in pages:
        for number, source in enumerate(sources_of(page), 1):
            if source.kind == "by hand" or (source.kind == "hours" and not long):
                print(f"left, {source.kind}  {page.name}: {source.command}")
            else:
                done.append(renew(source, folder / f"{page.stem}-{number}.txt"))
    return 0 if all(done) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="as Speed; default: all")
    parser.add_argument("--long", action="store_true", help="also what takes hours")
    parser.add_argument("--list", action="store_true", help="print where figures are from")
    parser.add_argument("--check", type=Path, nargs="?", const=PAGES, metavar="FOLDER", help="of pages: docs/results")
    arguments = parser.parse_args()
    if arguments.check:
        return check(arguments.check)
    pages = [PAGES / f"{Path(name).stem}.md" for name in arguments.pages] or sorted(PAGES.glob("*.md"))
    for page in pages:
        if not page.exists():
            parser.error(f"there is no {page}")
    if not arguments.list:
        return renew_all(pages, arguments.long)
    for page in pages:
        for source in sources_of(page):
            print(f"{page.name}: {source.commit or 'tests'}: {source.command}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
