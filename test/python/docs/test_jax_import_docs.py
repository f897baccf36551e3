# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/guide/JAX.md lists what can be imported, and nothing else."""

import re

from jaxlib.mlir.dialects import chlo, stablehlo

import shoal.jax
from shoal.jax import registry
from shoal_testing import ROOT


def test_page_lists_every_op():
    page = (ROOT / "docs/guide/JAX.md").read_text()
    table = page.partition("\n## Ops\n")[2].partition("\n## ")[0]
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    names = [name for row in rows for name in re.findall(r"`([^`]*\.[^`]*)`", row)]
    assert len(names) == len(set(names))
    assert sorted(names) == shoal.jax.supported_ops()


def test_page_says_why_ops_are_refused():
    page = (ROOT / "docs/guide/JAX.md").read_text()
    table = page.partition("\n| refused | because |\n")[2].partition("\n\n")[0]
    names = re.findall(r"`([^`]*)`", "".join(row.split("|")[1] for row in table.splitlines()[1:]))
    assert sorted(names) == registry.refused()
    assert not set(names) & set(shoal.jax.supported_ops())


def test_every_op_of_stablehlo_is_known():
    """Those that jaxlib has bindings for: imported, or refused for a reason."""
    known = {*shoal.jax.supported_ops(), *registry.refused()}
    listed = [
        member.OPERATION_NAME
        for dialect in (stablehlo, chlo)
        for member in vars(dialect).values()
        if hasattr(member, "OPERATION_NAME")
    ]
    unknown = set(listed) - known - {"stablehlo.return", "stablehlo.custom_call"}
    assert len(listed) > 150 and not unknown
