# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Einsums over groups of rows on random shardings: the global program, the
partitioned one and, for some, the executable against NumPy's einsum with a mask.

SHOAL_RAGGED_SEEDS=FIRST:LAST runs other seeds.
"""

import numpy as np
import pytest
from random_program import RandomProgram, check_executable, check_interpreted, seeds

# Rows kept and summed, bounds with batches, the rows' letter in either operand
# or both, minor in the result, sums over groups and over single operands.
SPECS = [
    "TM,EMH,E->TH",
    "TM,TH,E->EMH",
    "TM,EMH,E->HT",
    "GTM,EMH,GE->GTH",
    "GTM,GTH,GE->EMH",
    "EMH,TM,E->HT",
    "TM,TH,E->MH",
    "TM,T,E->TM",
    "TM,MH,E->ETH",
    "TMK,EM,E->TE",
    "TE,EH,E->TH",
]


class Program(RandomProgram):
    def bounds(self, shape, rows, dtype):
        """Consecutive groups, or any."""
        if self.random.random() < 0.5:
            sizes = self.random.integers(0, rows // max(shape[-1], 1) + 2, shape)
            ends = np.cumsum(sizes, axis=-1)
            return (ends - sizes).astype(dtype), ends.astype(dtype)
        return tuple(self.random.integers(-2, rows + 3, shape).astype(dtype) for _ in range(2))

    def ragged_einsum(self):
        spec = self.pick(*SPECS)
        sizes = {letter: int(self.random.integers(1, 8)) for letter in "GTMHEK"}
        sizes["T"] = int(self.random.integers(1, 20))
        terms = spec.split("->")[0].split(",")
        shapes = [[sizes[letter] for letter in term] for term in terms]
        element = self.pick("f32", "i32", "i8")
        lhs, rhs = self.array(shapes[0], element), self.array(shapes[1], element)
        begins, ends = self.bounds(shapes[2], sizes["T"], self.pick(np.int32, np.int64))
        operands = [self.argument(a) for a in (lhs, rhs, begins, ends)]
        self.add(
            f'shoal.ragged_einsum "{spec}" rows "T" {operands[0]}, {operands[1]} '
            f"groups {operands[2]}, {operands[3]}",
            operands,
            masked_einsum(spec, lhs, rhs, begins, ends, sizes["T"]),
        )


def masked_einsum(spec, lhs, rhs, begins, ends, rows):
    row = np.arange(rows)
    mask = (begins[..., None] <= row) & (row < ends[..., None])
    inputs, result = spec.split("->")
    a, b, groups = inputs.split(",")
    return np.einsum(f"{a},{b},{groups}T->{result}", lhs, rhs, mask.astype(lhs.dtype))


def random_program(seed):
    program = Program(seed)
    for _ in range(4):
        program.ragged_einsum()
    return program


@pytest.mark.parametrize("seed", seeds("SHOAL_RAGGED_SEEDS", "0:16"))
def test_random_groups_on_random_shardings(seed, tmp_path):
    check_interpreted(random_program(seed), tmp_path)


@pytest.mark.parametrize("seed", range(1000, 1006))
def test_random_groups_as_an_executable(seed, tmp_path):
    check_executable(random_program(seed), tmp_path)
