# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What --removals says of a collective is so: the program with that annotation, or without, sends what it says."""

from __future__ import annotations

import re
import subprocess

import pytest
from shoal_testing import BIN, ROOT

LAYOUTS = sorted((ROOT / "test" / "Layouts").glob("*.mlir"))
SENT = re.compile(r"^collectives: \d+, ([\d,]+) bytes sent", re.MULTILINE)
GONE = re.compile(
    r"gone (with|without) (<@mesh, .*?>) (?:on|of) (\S+?)(?: .*?)? at [^ ]*?:(\d+):\d+: a device sends ([\d,]+),"
)


def number(text: str) -> int:
    return int(text.replace(",", ""))


def summary(text: str, *options: str) -> str:
    command = [BIN / "shoalc", "-", "--emit=summary", "-o", "-", *options]
    run = subprocess.run(command, input=text, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


def bytes_sent(text: str) -> int:
    match = SENT.search(summary(text))
    return number(match[1]) if match else 0


def renamed(lines: list[str], name: str, other: str) -> list[str]:
    return [re.sub(rf"%{name}\b", f"%{other}", line) for line in lines]


def annotated(text: str, line: int, sharding: str) -> str:
    """With an annotation of what the line makes."""
    lines = text.splitlines()
    end = line
    while ":" not in lines[end - 1]:
        end += 1
    name = re.match(r"  %(\w+)", lines[line - 1])[1]
    kind = re.search(r"-> (tensor<\S+>)$|: (tensor<\S+>)$", lines[end - 1])
    extra = f"  %annotated = shoal.sharding_constraint %{name} {sharding} : {kind[1] or kind[2]}"
    return "\n".join([*lines[:end], extra, *renamed(lines[end:], name, "annotated")])


def freed(text: str, line: int, sharding: str) -> str:
    """Without the annotation on the line, be it an op or an argument's."""
    lines = text.splitlines()
    own = lines[line - 1]
    if match := re.match(r"  %(\w+) = shoal\.(?:sharding_constraint|split|shard|replicate) %(\w+)", own):
        return "\n".join([*lines[: line - 1], *renamed(lines[line:], match[1], match[2])])
    return "\n".join([*lines[: line - 1], own.replace(f" {{shoal.sharding = #shoal.sharding{sharding}}}", "", 1), *lines[line:]])


def findings(text: str) -> list[tuple[str, str, str, int, int]]:
    found = {(how, sharding, what, int(line), number(sent)) for how, sharding, what, line, sent in GONE.findall(summary(text, "--removals"))}
    # Annotations of results stand at no line of their own.
    return sorted(each for each in found if each[2] != "result")


@pytest.mark.parametrize("path", LAYOUTS, ids=lambda path: path.stem)
def test_the_program_sends_what_is_said(path) -> None:
    text = path.read_text()
    for how, sharding, _, line, sent in findings(text):
        changed = (annotated if how == "with" else freed)(text, line, sharding)
        assert changed != text
        assert bytes_sent(changed) == sent, (how, sharding, line)


def test_there_are_both_kinds() -> None:
    kinds = [each[0] for path in LAYOUTS for each in findings(path.read_text())]
    assert kinds.count("with") >= 1
    assert kinds.count("without") >= 5
