# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The situations of test/conformance/situations.py: run with the global program's numbers, or refused as said."""

import json
import sys

import numpy as np
import pytest
from shoal_testing import ROOT, shoal_run, shoalc

pytest.importorskip("jax")

from jax_import_testing import run
from shoal import ShoalError
from shoal.jax import import_stablehlo

sys.path.insert(0, str(ROOT / "test" / "conformance"))

from situations import SITUATIONS

PAGE = ROOT / "docs" / "results" / "PartitionerSituations.md"


@pytest.mark.parametrize("name", [s.name for s in SITUATIONS.values() if not s.refused])
def test_runs(name, tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text(import_stablehlo(SITUATIONS[name].text))
    shoal_run(path, "--compare", "--random-inputs=1").expect_success()


@pytest.mark.parametrize("name", [s.name for s in SITUATIONS.values() if s.refused])
def test_is_refused_as_said(name, tmp_path):
    situation = SITUATIONS[name]
    try:
        text = import_stablehlo(situation.text)
    except ShoalError as error:
        message = str(error)
    else:
        path = tmp_path / "program.mlir"
        path.write_text(text)
        result = shoal_run(path, "--devices=8", "--random-inputs=1")
        assert result.code != 0
        message = result.stderr
    assert situation.refused in message


def test_what_no_function_of_jax_says():
    """A broadcast takes the second device's rows along "y"; the largest stand first; a named product."""
    a = np.random.default_rng(0).permutation(64).reshape(8, 8).astype(np.float32)

    def result(name, index=0):
        text = import_stablehlo(SITUATIONS[name].text)
        return run(text, {"arg0": a}, [f"result{index}"])[f"result{index}"]

    rows = result("broadcast_from_one_device_of_each_group")
    np.testing.assert_array_equal(rows, np.tile(a[2:4], (4, 1)))
    values, places = (result("largest_by_a_custom_call", index) for index in (0, 1))
    np.testing.assert_array_equal(values, -np.sort(-a, axis=1)[:, :3])
    np.testing.assert_array_equal(places, np.argsort(-a, axis=1)[:, :3])
    named = result("constants_and_named_computations_of_shardy")
    np.testing.assert_array_equal(named, 2 * a)


@pytest.mark.parametrize(
    "name, sent",
    [
        # The sum of a contraction over quarters, of 32 numbers: nothing goes from one order to another.
        ("product_in_an_order_of_devices_of_its_own", {"all_reduce": 192}),
        # Four of eight devices have a row of 64 numbers, of which they keep an eighth: the rest must leave.
        ("more_shards_than_rows_to_tiles_of_other_dimensions", {"exchange": 224}),
    ],
)
def test_bytes(name, sent, tmp_path):
    path, stats = tmp_path / "program.mlir", tmp_path / "stats.json"
    path.write_text(import_stablehlo(SITUATIONS[name].text))
    shoalc(path, tmp_path / "spmd.mlir", "--emit=spmd", f"--stats={stats}").expect_success()
    found = json.loads(stats.read_text())["bytes_sent_per_device"]
    assert {kind: bytes for kind, bytes in found.items() if bytes} == sent


def test_the_page_lists_them():
    """Rows of its tables: `| name | ...`, of those that are refused with the reason."""
    rows = [row.split("|")[1:-1] for row in PAGE.read_text().splitlines() if row.startswith("| ")]
    listed = {cells[0].strip(): cells[1].strip() for cells in rows if cells[0].strip() != "situation"}
    assert listed == {s.name.replace("_", " "): s.why for s in SITUATIONS.values()}
