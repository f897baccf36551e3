# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops, choices and regions for one device as executables: the programs of
test/Execution/*.mlir on ranks against the global program in the interpreter."""

import re

import pytest
from shoal_testing import (
    ROOT,
    load_json,
    load_results,
    mpirun,
    relative_difference,
    shoal_run,
    shoalc,
)

DEVICES = 4


def program(file, section=None):
    """A lit test, or the part of one behind `//--- section`."""
    text = (ROOT / "test/Execution" / file).read_text()
    if not section:
        return text
    parts = re.split(r"^//--- (\S+)$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))[section]


def compare(tmp_path, text, devices=DEVICES, flags=()):
    """Runs both; returns the static and the measured statistics."""
    source = tmp_path / "program.mlir"
    source.write_text(text)
    stats = tmp_path / "static.json"
    shoalc(source, tmp_path / "program", "--stats", stats, *flags).expect_success()
    common = ["--random-inputs=3", "--output-dir"]
    mpirun(
        devices, tmp_path / "program", *common, tmp_path / "actual",
        "--stats", tmp_path / "measured.json",
    ).expect_success()
    shoal_run(source, "--devices=0", *common, tmp_path / "expected").expect_success()
    names = [path.stem for path in (tmp_path / "expected").glob("*.npy")]
    assert names
    expected = load_results(tmp_path / "expected", names)
    for name, actual in load_results(tmp_path / "actual", names).items():
        assert relative_difference(actual, expected[name]) < 2e-5, name
    return load_json(stats), load_json(tmp_path / "measured.json")


@pytest.mark.parametrize("section", ["layers.mlir", "until.mlir", "branches.mlir"])
def test_control_flow(tmp_path, section):
    compare(tmp_path, program("control-flow.mlir", section))


def test_counted_loop_counts_its_collectives(tmp_path):
    # At the balance of one machine or another the plan would be that machine's.
    flags = ("--flops-per-byte=1000",)
    static, measured = compare(tmp_path, program("control-flow.mlir", "layers.mlir"), flags=flags)
    assert static["collectives"]["exchange"] == 6  # two a trip, of uneven blocks
    for key in ("collectives", "bytes_sent_per_device"):
        assert {k: v for k, v in measured[key].items() if v} == static[key]


@pytest.mark.parametrize(
    "devices, file, section",
    [
        (4, "manual-regions.mlir", "partial.mlir"),
        (8, "manual-regions.mlir", "exchange.mlir"),
        (4, "manual-regions.mlir", "control.mlir"),
        (6, "manual-regions.mlir", "order-of-some.mlir"),
        (8, "manual-collectives.mlir", None),
        (4, "manual-dispatch.mlir", None),
        (8, "manual-nested.mlir", "sums.mlir"),
        (16, "manual-nested.mlir", "exchange.mlir"),
        (4, "manual-nested.mlir", "control.mlir"),
        (24, "manual-nested.mlir", "uneven.mlir"),
        (6, "manual-nested.mlir", "casts.mlir"),
        (8, "manual-nested.mlir", "parts.mlir"),
    ],
)
def test_manual_regions(tmp_path, devices, file, section):
    compare(tmp_path, program(file, section), devices)
