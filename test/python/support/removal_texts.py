# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What --removals says, and programs in which it is done: annotations are put in, or left out, in their text."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

# Without what tests alone need: the environment of test/real-models has no pytest.
BIN = Path(os.environ.get("SHOAL_BUILD", Path(__file__).resolve().parents[3] / "build/release")) / "bin"

# Several are named at what was combined.
SAID = re.compile(r"gone (?P<how>with|without) (?P<sharding><@\S+, .*?>) (?:on|of) (?P<what>.*?): a device sends (?P<bytes>[\d,]+),")
PLACE = re.compile(r"^(?:result (?P<result>\d+) of )?(?P<name>\S+).* at \S*?:(?P<line>\d+):\d+$")
RESULT = re.compile(r'^result (?P<result>\d+) (?:".*?" |)(?:\(.*?\) |)?of @')
# Why there is none.
NONE = re.compile("no single annotation does away with it: |sent by the program itself|was not looked for|nothing is sent: ")


@dataclasses.dataclass(frozen=True)
class Removal:
    """how: "with" or "without"; what: as the message describes where."""

    how: str
    sharding: str
    what: str
    bytes: int


def statistics_of(path: Path, *options: str) -> dict:
    stats = path.with_suffix(".json")
    command = [BIN / "shoalc", path, "--emit=spmd", f"--stats={stats}", "-o", os.devnull, *options]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        raise ValueError(run.stderr.strip().splitlines()[0][:300])
    return json.loads(stats.read_text())


def bytes_sent(statistics: dict) -> int:
    return sum(statistics["bytes_sent_per_device"].values())


class Text:
    """A program in MLIR's generic form, an op a line but for its regions, which can be annotated."""

    def __init__(self, source: Path):
        command = [BIN / "shoal-opt", source, "--shoal-import", "--mlir-print-op-generic", "--mlir-print-local-scope"]
        self.lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()

    def changed(self, removal: Removal) -> str:
        if match := RESULT.match(removal.what):
            return self._without_attribute("res_attrs", int(match["result"]))
        match = PLACE.match(removal.what)
        if not match:
            raise ValueError(f"no place in {removal.what}")
        line = int(match["line"]) - 1
        if match["name"] == "argument":
            number = int(removal.what.split()[1])
            if removal.how == "without":
                return self._without_attribute("arg_attrs", number)
            return self._annotated_argument(line, number, removal.sharding)
        if removal.how == "without":
            return self._without_op(line)
        return self._annotated(line, int(match["result"] or 0), removal.sharding)

    def _annotated(self, line: int, result: int, sharding: str) -> str:
        name, count = re.match(r" *%(\w+)(?::(\d+))? = ", self.lines[line]).groups()
        value = f"%{name}" if count is None else f"%{name}#{result}"
        end = self._end_of(line)
        types = self.lines[end].rsplit(" -> ", 1)[1]
        kind = re.findall(r"tensor<[^>]*>", types)[result]
        return self._insert(end + 1, value, sharding, kind)

    def _annotated_argument(self, line: int, number: int, sharding: str) -> str:
        kind = re.search(rf"%arg{number}: (tensor<[^>]*>)", self.lines[line])[1]
        return self._insert(line + 1, f"%arg{number}", sharding, kind)

    def _insert(self, at: int, value: str, sharding: str, kind: str) -> str:
        new = f'%annotated = "shoal.sharding_constraint"({value}) <{{sharding = #shoal.sharding{sharding}}}> : ({kind}) -> {kind}'
        rest = renamed(self.lines[at:], value, "%annotated")
        return "\n".join([*self.lines[:at], new, *rest])

    def _without_op(self, line: int) -> str:
        made, read = re.match(r' *(%\w+) = "shoal.sharding_constraint"\((%[\w#]+)\)', self.lines[line]).groups()
        return "\n".join([*self.lines[:line], *renamed(self.lines[line + 1 :], made, read)])

    def _without_attribute(self, name: str, number: int) -> str:
        text = "\n".join(self.lines)
        begin = text.index("[", text.index(f"{name} = ")) + 1
        for _ in range(number):
            begin = text.index("{", end_of_braces(text, begin))
        end = end_of_braces(text, begin)
        own = text[begin:end]
        freed = re.sub(r"(, )?shoal\.sharding = #shoal\.sharding<@\w+, \[.*?\](, \w+ = .*?)?>", "", own, count=1)
        return text[:begin] + freed.replace("{, ", "{") + text[end:]

    def _end_of(self, line: int) -> int:
        """The line on which the op ends that begins on one."""
        depth = 0
        for number in range(line, len(self.lines)):
            depth += self.lines[number].count("({") - self.lines[number].count("})")
            if depth == 0:
                return number
        raise ValueError("an op without end")


def end_of_braces(text: str, begin: int) -> int:
    depth = 0
    for place in range(text.index("{", begin), len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return place + 1
    raise ValueError("braces without end")


def renamed(lines: list[str], name: str, other: str) -> list[str]:
    return [re.sub(rf"{re.escape(name)}(?![\w#])", other, line) for line in lines]


def removals_of(reason: str) -> Iterator[Removal]:
    for match in SAID.finditer(reason):
        yield Removal(match["how"], match["sharding"], match["what"], int(match["bytes"].replace(",", "")))


def is_so(text: Text, removal: Removal, path: Path) -> str:
    """Empty, or what is not so."""
    try:
        path.write_text(text.changed(removal))
        sent = bytes_sent(statistics_of(path))
    except ValueError as error:
        return f"{removal.how} {removal.sharding} {removal.what}: {error}"
    if sent != removal.bytes:
        return f"{removal.how} {removal.sharding} {removal.what}: {sent:,} bytes, not {removal.bytes:,}"
    return ""
