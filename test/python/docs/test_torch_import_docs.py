# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/guide/PyTorch.md lists what can be imported and what is refused, and nothing else; its examples run."""

import re

import pytest

import shoal.torch
from shoal.torch import registry
from shoal_testing import ROOT

PAGE = (ROOT / "docs/guide/PyTorch.md").read_text()
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:^```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)


def listed(table):
    """The names in the first column."""
    rows = [row.split(" | ")[0] for row in table.splitlines() if row.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`([^`]*\.[^`]*)`", row)]


def test_page_lists_every_op():
    table = PAGE.partition("\n## Ops\n")[2].partition("\n| refused | because |\n")[0]
    names = listed(table)
    assert len(names) == len(set(names))
    assert sorted(names) == sorted([*shoal.torch.supported_ops(), *registry.dropped()])


def test_page_says_why_ops_are_refused():
    table = PAGE.partition("\n| refused | because |\n")[2]
    assert sorted(listed(table)) == registry.refused()
    assert not set(registry.refused()) & set(shoal.torch.supported_ops())
    for row in table.splitlines()[1:]:
        names, reason = row.strip("| ").split(" | ", 1)
        assert {registry.reason_of(name) for name in re.findall(r"`([^`]*)`", names)} == {reason}


def test_every_family_is_imported():
    """By ops/__init__.py, or nothing would enter its ops."""
    folder = ROOT / "python/shoal/torch/ops"
    families = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert families == set(re.findall(r"^    (\w+),$", (folder / "__init__.py").read_text(), re.MULTILINE))


def test_examples(capsys):
    pytest.importorskip("torch")
    names = {}
    blocks = list(BLOCK.finditer(PAGE))
    assert len(blocks) == 4
    for block in blocks:
        exec(block[1], names)
        assert capsys.readouterr().out == (block[2] or "")
