# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text of a program with its independent ops in another order and its
values under other names, and what must not depend on either.
"""

import re
from collections import Counter
from random import Random

VALUE = re.compile(r"%\w+")
# An op of the function's block begins behind four spaces; its regions lie
# deeper.
START = re.compile(r"^    [^ }^]")
RESULTS = re.compile(r"^    (%[^(]*?) = ")


class Program:
    """A module whose only function has one block, as `shoal-opt
    --mlir-print-unique-ssa-ids` prints it."""

    def __init__(self, text: str):
        lines = text.rstrip("\n").split("\n")
        begin = next(i for i, line in enumerate(lines) if line.startswith("  func.func"))
        end = lines.index("  }", begin)
        assert not any(line.startswith("  func.func") for line in lines[end:])
        self.head, self.tail = lines[: begin + 1], lines[end:]
        self.ops = []
        for line in lines[begin + 1 : end]:
            if START.match(line):
                self.ops.append(line)
            else:
                self.ops[-1] += "\n" + line
        self.result = self.ops.pop()

    def uses(self) -> list[set[int]]:
        """For each op the ops whose results it reads, in its regions too."""
        makers, uses = {}, []
        for i, op in enumerate(self.ops):
            uses.append({makers[name] for name in VALUE.findall(op) if name in makers})
            if results := RESULTS.match(op):
                makers.update({name: i for name in VALUE.findall(results.group(1))})
        return uses

    def in_order(self, order) -> str:
        """Each op's location is its number in the program."""
        body = [f'{self.ops[i]} loc("op{i}")' for i in order]
        return "\n".join([*self.head, *body, self.result, *self.tail, ""])

    def shuffled(self, random: Random) -> str:
        """Drawn op by op, with names drawn at random."""
        uses, order, left = self.uses(), [], list(range(len(self.ops)))
        while left:
            order.append(random.choice([i for i in left if uses[i].issubset(order)]))
            left.remove(order[-1])
        text = self.in_order(order)
        names = sorted(set(VALUE.findall(text)))
        numbers = random.sample(range(10 * len(names)), len(names))
        new = {name: f"%v{n}" for name, n in zip(names, numbers)}
        return VALUE.sub(lambda match: new[match.group(0)], text)


def anonymous(line: str) -> str:
    """Without names of values and places in the text."""
    return VALUE.sub("%", re.sub(r" at \S+:\d+:\d+", "", line))


def assigned_ops(text: str) -> Counter:
    """The signature and the ops of a program printed with locations, with all
    that is said of their shardings, each by its number as a location."""
    places = dict(re.findall(r'^(#loc\d*) = loc\("(op\d+)"', text, re.M))
    found = Counter()
    for line in text.split("\n"):
        line, _, place = line.partition(" loc(#")
        if line.startswith("  func.func"):
            line = re.sub(r" loc\([^)]*\)", "", line)
        elif " = " not in line or not line.startswith("    "):
            continue
        elif " = shoal.reshard" in line:
            # For whichever user comes first.
            line, place = re.sub(r', why = "[^"]*"', "", line), ""
        found[anonymous(line), places.get("#" + place.rstrip(")"))] += 1
    return found


def collectives(text: str) -> Counter:
    """The lines of --shoal-print-collectives without whom they are for."""
    return Counter(line.split(", for ")[0] for line in text.split("\n") if line.startswith("  "))
