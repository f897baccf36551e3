# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What --removals says of a collective is so: the program with that annotation, or without, sends what it says."""

from __future__ import annotations

import functools

import pytest
from removal_texts import NONE, SAID, Removal, Text, is_so, removals_of, statistics_of
from shoal_testing import ROOT

LAYOUTS = sorted((ROOT / "test" / "Layouts").glob("*.mlir"))


@functools.cache
def imported(path) -> Text:
    return Text(path)


def reasons(path, folder, *options: str) -> list[str]:
    program = folder / "program.mlir"
    program.write_text("\n".join(imported(path).lines))
    return [collective["reason"] for collective in statistics_of(program, "--removals", *options)["collective_list"]]


def findings(path, folder) -> list[Removal]:
    return sorted({removal for reason in reasons(path, folder) for removal in removals_of(reason)}, key=str)


@pytest.mark.parametrize("path", LAYOUTS, ids=lambda path: path.stem)
def test_the_program_sends_what_is_said(path, tmp_path) -> None:
    wrong = [is_so(imported(path), removal, tmp_path / "changed.mlir") for removal in findings(path, tmp_path)]
    assert [line for line in wrong if line] == []


def test_something_is_said_of_every_collective(tmp_path) -> None:
    said = [reason for path in LAYOUTS for reason in reasons(path, tmp_path)]
    assert len(said) > 20
    assert [reason for reason in said if not (SAID.search(reason) or NONE.search(reason))] == []


def test_there_are_both_kinds(tmp_path) -> None:
    kinds = [removal.how for path in LAYOUTS for removal in findings(path, tmp_path)]
    assert kinds.count("with") >= 1
    assert kinds.count("without") >= 5


def test_with_a_machine_the_total_is_a_time(tmp_path) -> None:
    layout = ROOT / "test/Layouts/expert-data-parallel.mlir"
    said = [reason for reason in reasons(layout, tmp_path, f"--machine={ROOT}/machines/dgx-h100.toml") if SAID.search(reason)]
    assert said
    for reason in said:
        assert " us, at " in reason and "% of the plan's time" in reason
