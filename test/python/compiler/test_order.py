# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shardings and collectives are a function of the program, not of the order of
its text or of the names in it.
"""

from random import Random

import pytest
from shoal_testing import BIN, ROOT, run
from shuffle import Program, assigned_ops, collectives

LAYOUTS = sorted((ROOT / "test/Layouts").glob("*.mlir"))


def shoal_opt(source, *flags):
    return run(BIN / "shoal-opt", source, "--allow-unregistered-dialect", *flags).expect_success()


def what_is_decided(path):
    """Of an imported program: the ops with shardings, and the collectives."""
    assigned = shoal_opt(path, "--shoal-assign", "--mlir-print-debuginfo").stdout
    flags = ["--shoal-partition", "--shoal-print-collectives", "-o", "/dev/null"]
    return assigned_ops(assigned), collectives(shoal_opt(path, *flags).stderr)


def check_orders(source, tmp_path, seed, orders):
    imported = shoal_opt(source, "--shoal-import", "--mlir-print-unique-ssa-ids").stdout
    program = Program(imported)
    path = tmp_path / "program.mlir"
    path.write_text(program.in_order(range(len(program.ops))))
    expected_ops, expected_collectives = what_is_decided(path)
    assert sum(expected_ops.values()) > len(program.ops) / 2
    random = Random(seed)
    for _ in range(orders):
        path.write_text(program.shuffled(random))
        ops, found = what_is_decided(path)
        assert ops == expected_ops, sorted(((ops - expected_ops) + (expected_ops - ops)).items(), key=str)
        assert found == expected_collectives


@pytest.mark.parametrize("path", LAYOUTS, ids=lambda path: path.stem)
def test_layout(path, tmp_path):
    check_orders(path, tmp_path, path.stem, orders=3)


# In 12 ops without operands have several readers, one of which is told.
@pytest.mark.parametrize("seed", range(24))
def test_random_program(seed, tmp_path):
    source = tmp_path / "source.mlir"
    source.write_text(run(BIN / "shoal-fuzz", f"--seeds={seed}..{seed}", "--print").expect_success().stdout)
    check_orders(source, tmp_path, seed, orders=2)
