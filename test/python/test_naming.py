# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of a program's parts, and roles of a mesh's axes."""

import re

import pytest

from frontend_testing import shoal


def test_names_nest_and_end():
    def scoped(x):
        with shoal.named_scope("outer"):
            x = x + 1
            with shoal.named_scope("inner"):
                x = x * 2
            x = x - 3
        return x / 4

    text = shoal.trace(scoped, (shoal.TensorSpec((2,), "float32"),))
    names = re.findall(r'"arith\.(addf|mulf|subf|divf)".*loc\((?:"([^"]*)"\()?"[^"]*":\d', text)
    assert names == [("addf", "outer"), ("mulf", "outer/inner"), ("subf", "outer"), ("divf", "")]


def test_names_and_roles_that_are_wrong():
    for name in ("", "a/b"):
        with pytest.raises(shoal.TraceError, match="expected a name without"):
            with shoal.named_scope(name):
                pass
    with pytest.raises(shoal.TraceError, match='role "tp": axis "y" is not one of'):
        shoal.Mesh(x=2, roles={"tp": ("y",)})


def test_layouts_say_what_axes_are_for():
    layout = shoal.moe.Layout.folded({"tp": 2, "dp": 2}, {"ep": 4}, outside=("dp",))
    text = shoal.trace(lambda x: x + 1, (shoal.TensorSpec((2,), "float32"),), layout.mesh)
    assert '{shoal.roles = {"dp" = ["x1"], "ep" = ["x1", "x0"], "tp" = ["x0"]}}' in text
    assert layout.mesh == shoal.Mesh(x1=2, x0=2)
