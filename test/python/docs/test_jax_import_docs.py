# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/guide/JAX.md lists what can be imported, and nothing else."""

import re

import shoal.jax
from shoal_testing import ROOT


def test_page_lists_every_op():
    page = (ROOT / "docs/guide/JAX.md").read_text()
    table = page.partition("\n## Ops\n")[2].partition("\n## ")[0]
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    names = [name for row in rows for name in re.findall(r"`([^`]*\.[^`]*)`", row)]
    assert len(names) == len(set(names))
    assert sorted(names) == shoal.jax.supported_ops()
