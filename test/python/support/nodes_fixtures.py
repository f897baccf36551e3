# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tests of several nodes share; they import what they take."""

import pytest
from network_nodes import Nodes
from shoal_testing import BIN, ROOT, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Seen by all nodes."""
    return tmp_path_factory.mktemp("nodes")


@pytest.fixture(scope="module")
def three(folder):
    with Nodes(3, [folder]) as made:
        yield made


@pytest.fixture(scope="module")
def moe(folder):
    """The example's layer, which nobody has but who sees the folder."""
    source = ROOT / "examples/moe_layer/moe_layer.mlir"
    run(BIN / "shoalc", source, "-o", folder / "moe").expect_success()
    return folder / "moe"
