# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is JAX's own business is imported in one place, so that a new version of JAX is looked at there."""

import ast

from paths import ROOT

ALONE = ROOT / "python/shoal/jax/private.py"


def modules_in(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_the_library_asks_for_no_world():
    """What is of one world alone is behind `shoal.arrays`."""
    behind = ("shoal.arrays.jax_", "shoal.arrays.shoal_", "shoal.arrays.worlds", "jax", "jax.numpy")
    for folder in ("moe", "models", "optim"):
        for path in (ROOT / "python/shoal" / folder).glob("*.py"):
            assert not {name for name in modules_in(path) if name.startswith(behind)}, path


def test_private_modules_are_imported_in_one():
    private = {
        str(path.relative_to(ROOT)): name
        for path in (ROOT / "python/shoal").rglob("*.py")
        for name in modules_in(path)
        if name.startswith("jax._src") and path != ALONE
    }
    assert not private
    assert any(name.startswith("jax._src") for name in modules_in(ALONE))
