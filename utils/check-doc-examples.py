#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the examples in the descriptions of TableGen files.

Every ```mlir block must parse and verify. A block of ops without a function is
put into one that has the values it uses as arguments; where it names @mesh
without defining it, MESH stands in front of it.

Of two blocks with a line "becomes" between them the second must be what the
pass of that description makes of the first, "becomes, with `OPTIONS`," with
these, in which machines/ is the repository's. Such a block may leave parts out,
with "..." in their place; then what it shows must occur in this order. A ```text
block behind "prints" is what the pass prints for the block before it, one behind
"is an error" what it says when it fails, each with parts left out.

Every pass must have an example of what it does.

Usage: check-doc-examples.py --shoal-opt PATH FILE-OR-FOLDER...
Exit code 1 where an example is wrong or missing, or where there is none at all.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass

MESH = 'shoal.mesh @mesh = <["x" = 2, "y" = 4, "data" = 2, "expert" = 8]>\n'

MACHINES = pathlib.Path(__file__).resolve().parents[1] / "machines"
BLOCK = re.compile(r"^( *)```(mlir|text)\n(.*?)^ *```$", re.M | re.S)
PASS = re.compile(r'Pass<"([a-z0-9-]+)"')
LINK = re.compile(r"(becomes|prints|is an error)\b([^.`]|`[^`]*`)*$")
VALUE = re.compile(r"%[A-Za-z0-9_]+")
REGION = re.compile(r"\{\s*\^.*?\n\s*\}", re.S)


@dataclass
class Example:
    file: pathlib.Path
    line: int
    text: str
    makes: str = ""  # the pass that makes this of the example before it
    link: str = ""  # how: it becomes this, prints this, or is this error
    options: str = ""  # of the pass


def find_examples(path):
    text = path.read_text()
    examples, last_end = [], 0
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 2
        example = Example(path, line, textwrap.dedent(block.group(3)))
        if link := LINK.match(text[last_end : block.start()].strip()):
            example.makes = PASS.findall(text[: block.start()])[-1]
            example.link = link.group(1)
            if options := re.search(r"with `([^`]+)`", link.group(0)):
                example.options = "=" + options.group(1).replace("machines/", f"{MACHINES}/")
        if block.group(2) == "mlir" or example.link:
            examples.append(example)
        last_end = block.end()
    return examples


def split_types(text):
    """The types of a comma-separated list, which may be in parentheses."""
    return [t.strip() for t in re.split(r",(?![^<]*>)", text.strip().strip("()")) if t.strip()]


def join_lines(text):
    """One op a line: a line that defines no value continues the one before."""
    ops = []
    for line in text.splitlines():
        line = line.split("//")[0].strip()
        if ops and line and not re.match(r"%|[a-z_]+\.[a-z_]+ |shoal\.mesh|return", line):
            ops[-1] += " " + line
        elif line:
            ops.append(line)
    return ops


def infer_arguments(text):
    """The values that a block uses and does not define, with their types.

    Regions with arguments, {^name(...): ...}, are taken to use their own alone.
    """
    text = REGION.sub("{}", text)
    defined, arguments = set(), {}
    for op in join_lines(text):
        results, _, rest = op.rpartition(" = ") if op.startswith("%") else ("", "", op)
        match = re.match(r"((?:%\w+(?:, )?)+) = (.*)", op)
        if match:
            results, rest = match.groups()
        body, _, types = rest.rpartition(" : ")
        operands = VALUE.findall(body)
        operand_types = split_types(types.split("->")[0])
        for i, operand in enumerate(operands):
            if operand not in defined and operand_types:
                kind = operand_types[min(i, len(operand_types) - 1)]
                arguments.setdefault(operand, kind)
        defined.update(VALUE.findall(results))
    return arguments


def complete(text):
    """The block as a module."""
    if not re.search(r"\w\.func\b", text) and "%" in text:
        arguments = ", ".join(f"{name}: {kind}" for name, kind in infer_arguments(text).items())
        text = f"func.func @example({arguments}) {{\n{text}\nreturn\n}}\n"
    needs_mesh = "@mesh" in text and "shoal.mesh @mesh" not in text
    return (MESH if needs_mesh else "") + text


def passes_without_example(path, examples):
    """A line for each pass of the file that no example shows."""
    text, shown = path.read_text(), {example.makes for example in examples}
    for match in PASS.finditer(text):
        if match.group(1) not in shown:
            line = text.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: --{match.group(1)} has no example"


def run(shoal_opt, text, *flags):
    """What shoal-opt writes and prints, and whether it fails. Locations say f.mlir."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "f.mlir").write_text(text)
        done = subprocess.run(
            [shoal_opt, *flags, "f.mlir"],
            cwd=folder, capture_output=True, text=True, timeout=60, check=False,
        )
    return done.stdout, done.stderr.strip(), done.returncode != 0


def normalize(text):
    """Without names of values, and white space collapsed."""
    return re.sub(r"\s+", " ", VALUE.sub("%", text).replace("} ]", "}]")).strip()


def shows(excerpt, text):
    """Whether the pieces between the "..." of `excerpt` occur in `text`, in order."""
    text, place = normalize(text), 0
    for piece in map(normalize, excerpt.split("...")):
        place = text.find(piece, place)
        if place < 0:
            return False
        place += len(piece)
    return True


def check(shoal_opt, example, before):
    """What is wrong with the example; nothing where it is right."""
    made, error, printed = "", "", example.text
    failed = matches = False
    if example.makes:
        made, error, failed = run(shoal_opt, complete(before.text), f"--{example.makes}{example.options}")
    if example.link in ("prints", "is an error"):
        matches = shows(printed, error) and failed == (example.link == "is an error")
        made, error = error, ""
    elif "..." in example.text:
        matches = not failed and shows(example.text, made)
    elif not failed:
        printed, error, failed = run(shoal_opt, complete(example.text))
        matches = not failed and (not example.makes or made == printed)
    if matches:
        return ""
    if failed and error:
        return error
    return f"--{example.makes} makes of the example before it\n{made}and not\n{printed}"


def find_files(paths):
    for path in paths:
        yield from sorted(path.rglob("*.td")) if path.is_dir() else [path]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shoal-opt", required=True, type=pathlib.Path)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    options = parser.parse_args()

    count = failures = 0
    for path in find_files(options.files):
        before, examples = None, find_examples(path)
        for missing in passes_without_example(path, examples):
            failures += 1
            print(missing)
        for example in examples:
            count += 1
            if error := check(options.shoal_opt.resolve(), example, before):
                failures += 1
                print(f"{example.file}:{example.line}: {error}")
            if example.link in ("", "becomes"):
                before = example
    print(f"{count} examples, {failures} failed")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
