# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Annotations that were made wrong are found by --lint, which names their lines first."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

import pytest
from shoal_testing import BIN, ROOT

LAYOUTS = sorted((ROOT / "test" / "Layouts").glob("*.mlir"))
FOUND = re.compile(r":(\d+):\d+: warning: annotation .* is dear: ")
SPLIT = re.compile(r"shoal\.split %(\w+) \{dim = (\d+), num_partitions = (\d+)\} : tensor<([\dx]+)xf32>")
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


def planted() -> list[tuple[str, str, int]]:
    """One of many, so that it takes half a minute."""
    programs = [
        (path.stem, text, line)
        for path in LAYOUTS
        for make in (other_dimensions, replicas)
        for text, line in make(path.read_text())
    ]
    return programs[:: max(1, len(programs) // 40)]


def find(text: str) -> list[int]:
    """Lines of dear annotations, dearest first."""
    command = [BIN / "shoal-opt", "--shoal-import", "--shoal-assign=lint flops-per-byte=1000"]
    run = subprocess.run(command, input=text, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return [int(line) for line in FOUND.findall(run.stderr)]


def test_the_wrong_annotation_is_named_first() -> None:
    programs = planted()
    missed = [(name, line) for name, text, line in programs if find(text)[:1] != [line]]
    assert len(programs) > 30
    assert len(missed) <= len(programs) // 10, missed


@pytest.mark.parametrize("path", LAYOUTS, ids=lambda path: path.stem)
def test_of_known_layouts_few_are_dear(path) -> None:
    # Two send less with another annotation in the place of one of theirs.
    cheaper = {"all-gather-expert-parallel": 1, "expert-data-tensor-parallel": 3}
    assert len(find(path.read_text())) <= cheaper.get(path.stem, 0)
