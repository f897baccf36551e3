# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/guide/Configurations.md has the tables of the code."""

import importlib.util

from shoal_testing import ROOT


def test_tables_are_those_of_the_code():
    path = ROOT / "utils/generate-config-docs.py"
    spec = importlib.util.spec_from_file_location("generate_config_docs", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    text, made = script.PAGE.read_text(), script.tables()
    for table in made.values():
        assert len(table.splitlines()) > 2, table
    assert script.page_with(text, made) == text, "run utils/generate-config-docs.py"
