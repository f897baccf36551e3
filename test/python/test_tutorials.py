# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tutorials' blocks of Python run, and print what the pages say."""

import re

import pytest
from shoal_testing import ROOT, TARGET

PAGES = sorted((ROOT / "docs/tutorials").glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:^```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)


@pytest.mark.skipif(TARGET != "cpu", reason="the pages are about the CPU")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks(page, capsys):
    text = page.read_text()
    names = {}
    blocks = list(BLOCK.finditer(text))
    assert len(blocks) == text.count("```python") > 0
    for block in blocks:
        first_line = text.count("\n", 0, block.start(1))
        # So that the lines of errors are the page's.
        code = compile("\n" * first_line + block[1], str(page), "exec")
        exec(code, names)
        assert capsys.readouterr().out == (block[2] or ""), f"{page}:{first_line + 1}"
