# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""shoal.debug_print."""

import numpy as np
import pytest
from shoal_testing import TARGET

import shoal

MESH = shoal.Mesh({"d": 2})


def test_what_is_printed(capfd):
    if TARGET != "cpu":
        pytest.skip("programs for CUDA print nothing")
    x = np.arange(6, dtype=np.uint8).reshape(3, 2) + 250

    def f(x):
        shoal.debug_print("x = {0}, sum {1:>6.1f} {2}", x, x.astype(np.float32).sum(), True)
        return x

    shoal.compile(f, [x], MESH).run([x])
    assert capfd.readouterr().out == f"x = {x}, sum {x.sum():>6.1f} True\n"


def test_a_format_that_is_none():
    with pytest.raises(shoal.CompileError, match=r"format: field \{1\}, but there are 1 operands"):
        shoal.compile(lambda x: shoal.debug_print("{1}", x) or x, [np.float32(1)], MESH)
    with pytest.raises(shoal.TraceError, match="debug_print: expected a format first"):
        shoal.compile(lambda x: shoal.debug_print(x) or x, [np.float32(1)], MESH)
