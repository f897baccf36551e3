# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transposed operands, which kernels read by tiles: whole tiles, what is left over, none."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest

import shoal
from shoal import compile_text

# bool and i8 are no registers of f32; bf16 is stored as whole numbers.
TYPES = (np.float32, np.float64, np.int8, np.bool_, ml_dtypes.bfloat16)
NAMES = {np.float32: "f32", np.float64: "f64", np.int8: "i8", np.bool_: "i1",
         ml_dtypes.bfloat16: "bf16"}


@pytest.fixture(scope="module")
def pool() -> Iterator[shoal.Devices]:
    with shoal.launch(1) as devices:
        yield devices


def tensor(shape: tuple[int, ...], type: type) -> str:
    return f"tensor<{'x'.join(map(str, (*shape, NAMES[type])))}>"


def draw(shape: tuple[int, ...], type: type) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 100, shape).astype(type)


@pytest.mark.parametrize("type", TYPES, ids=NAMES.get)
@pytest.mark.parametrize("shape", [(64, 48), (45, 67), (16, 16), (100, 7)], ids=str)
def test_alone_and_with_others(pool: shoal.Devices, shape: tuple[int, int], type: type) -> None:
    x, y = tensor(shape, type), tensor(shape[::-1], type)
    program = f"""
func.func @main(%x: {x}, %y: {y}) -> ({y}, {y}) {{
  %t = shoal.transpose %x permutation = [1, 0] : {x} -> {y}
  %s = arith.{'ori' if type is np.bool_ else 'addi' if type is np.int8 else 'addf'} %t, %y : {y}
  return %t, %s : {y}, {y}
}}
"""
    a, b = draw(shape, type), draw(shape[::-1], type)
    transposed, added = pool.load(compile_text(program)).run([a, b])
    np.testing.assert_array_equal(transposed.numpy(), a.T)
    np.testing.assert_array_equal(added.numpy(), a.T + b)


@pytest.mark.parametrize("order", [(3, 1, 2, 0), (0, 3, 2, 1), (1, 3, 0, 2), (2, 3, 1, 0)], ids=str)
def test_four_dimensions(pool: shoal.Devices, order: tuple[int, ...]) -> None:
    a = draw((5, 40, 3, 37), np.float32)
    want = a.transpose(order)
    x, y = tensor(a.shape, np.float32), tensor(want.shape, np.float32)
    program = f"""
func.func @main(%x: {x}) -> {y} {{
  %t = shoal.transpose %x permutation = {list(order)} : {x} -> {y}
  return %t : {y}
}}
"""
    [got] = pool.load(compile_text(program)).run([a])
    np.testing.assert_array_equal(got.numpy(), want)
