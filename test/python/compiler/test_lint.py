# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Annotations that were made wrong are found by --lint, which names their lines first."""

from __future__ import annotations

import functools
import itertools
import json
import os
import pathlib
import re
import subprocess
from collections.abc import Iterator

import pytest
from shoal_testing import BIN, ROOT

LAYOUTS = sorted((ROOT / "test" / "Layouts").glob("*.mlir"))
FOUND = re.compile(r":(\d+):\d+: warning: annotation .* is dear: ")
SPLIT = re.compile(r"shoal\.split %(\w+) \{dim = (\d+), num_partitions = (\d+)\} : tensor<([\dx]+)xf32>")
SHARDING = re.compile(r"<@mesh, \[([^\]]*)\]>")
FLOPS = 1000  # operations that take as long as sending a byte
PLANTED = 40
# Layouts that send less with another annotation in the place of one of theirs, of so many.
CHEAPER = {"all-gather-expert-parallel": 1, "expert-data-tensor-parallel": 3}
DEARER = 1.02  # times what the program costs: of less nothing is said
ANNOTATION = re.compile(r"^  %(\w+) = shoal\.(?:split|replicate|sharding_constraint) (%\w+)")
ATTRIBUTE = re.compile(r"shoal\.sharding = #shoal\.sharding<@mesh, \[[^\]]*\]>")
PRODUCT = re.compile(r"^  %(\w+) = shoal\.einsum .* -> (tensor<\d+x\d+x\d+x\d+xf32>)$")


def other_dimensions(text: str) -> Iterator[tuple[str, int]]:
    """The program with one `split` of another dimension, and that line's number."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if not (match := SPLIT.search(line)):
            continue
        dim, parts = int(match[2]), int(match[3])
        for other, size in enumerate(map(int, match[4].split("x"))):
            if other != dim and size % parts == 0:
                wrong = line.replace(f"dim = {dim}", f"dim = {other}")
                yield "\n".join([*lines[:number], wrong, *lines[number + 1 :]]), number + 1


def replicas(text: str) -> Iterator[tuple[str, int]]:
    """The program with one product replicated behind it, and that line's number."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if not (match := PRODUCT.search(line)):
            continue
        name, kind = match[1], match[2]
        planted = f"  %planted = shoal.replicate %{name} : {kind}"
        rest = [re.sub(rf"%{name}\b", "%planted", later) for later in lines[number + 1 :]]
        yield "\n".join([*lines[: number + 1], planted, *rest]), number + 2


def other_shardings(text: str) -> Iterator[tuple[str, int]]:
    """The program with one annotation of an argument or a value over another dimension, and that line's number."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        match = SHARDING.search(line)
        if not match or line.lstrip().startswith(("->", "//")):
            continue
        dims = re.findall(r"{[^}]*}", match[1])
        moves = [(i, j) for i, j in itertools.permutations(range(len(dims)), 2) if dims[i] != "{}" and dims[j] == "{}"]
        for i, j in moves:
            moved = list(dims)
            moved[i], moved[j] = dims[j], dims[i]
            wrong = line.replace(match[1], ", ".join(moved), 1)
            yield "\n".join([*lines[:number], wrong, *lines[number + 1 :]]), number + 1


def left_out(text: str) -> Iterator[str]:
    """The program without one annotation."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        before, behind = lines[:number], lines[number + 1 :]
        if match := ANNOTATION.match(line):
            yield "\n".join([*before, *(re.sub(rf"%{match[1]}\b", match[2], later) for later in behind)])
        for attribute in ATTRIBUTE.finditer(line):
            yield "\n".join([*before, line[: attribute.start()] + line[attribute.end() :], *behind])


@functools.cache
def price_of(text: str) -> float | None:
    """What shardings are chosen by, in bytes of a device; nothing where a program does not compile."""
    command = [BIN / "shoalc", "-", "--emit=spmd", "-o", os.devnull, "--stats=/dev/stdout", f"--flops-per-byte={FLOPS}"]
    run = subprocess.run(command, input=text, capture_output=True, text=True)
    if run.returncode != 0:
        return None
    found = json.loads(run.stdout)
    return sum(found["bytes_sent_per_device"].values()) + found["flops_per_device"] / FLOPS


def is_dearer(path: pathlib.Path, text: str) -> bool:
    price = price_of(text)
    return price is not None and price > DEARER * price_of(path.read_text())


def planted() -> list[tuple[pathlib.Path, str, int]]:
    """Forty that make their layout dearer, from all kinds and layouts."""
    kinds = (other_dimensions, replicas, other_shardings)
    programs = [(path, *wrong) for path in LAYOUTS for make in kinds for wrong in make(path.read_text())]
    step = -(-len(programs) // PLANTED)
    spread = (program for first in range(step) for program in programs[first::step])
    return list(itertools.islice((program for program in spread if is_dearer(*program[:2])), PLANTED))


@functools.cache
def find(text: str) -> list[int]:
    """Lines of dear annotations, dearest first."""
    command = [BIN / "shoal-opt", "--shoal-import", f"--shoal-assign=lint flops-per-byte={FLOPS}"]
    run = subprocess.run(command, input=text, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return [int(line) for line in FOUND.findall(run.stderr)]


def is_first(path: pathlib.Path, text: str, line: int) -> bool:
    """Of those that are not dear in the layout itself, as two layouts have some."""
    known = find(path.read_text()) if path.stem in CHEAPER else []
    return [found for found in find(text) if found == line or found not in known][:1] == [line]


def test_the_wrong_annotation_is_named_first() -> None:
    programs = planted()
    missed = [(path.stem, line) for path, text, line in programs if not is_first(path, text, line)]
    assert len(programs) == PLANTED
    assert len(missed) <= PLANTED // 20, missed


@pytest.mark.parametrize("path", LAYOUTS, ids=lambda path: path.stem)
def test_of_known_layouts_few_are_dear(path) -> None:
    assert len(find(path.read_text())) <= CHEAPER.get(path.stem, 0)


@pytest.mark.parametrize("path", LAYOUTS, ids=lambda path: path.stem)
def test_no_layout_is_dearer_for_a_missing_annotation(path) -> None:
    prices = [price_of(text) for text in left_out(path.read_text())]
    assert len(prices) > 0
    assert max(prices) <= DEARER * price_of(path.read_text())
