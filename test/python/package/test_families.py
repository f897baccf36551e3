# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of the package that are about a family of ops have its name, as files in C++ do."""

import re

from paths import ROOT
from shoal import frontend


def families():
    """Those of the one list, as Python spells them: control_flow for ControlFlow."""
    text = (ROOT / "cmake/ShoalFamilies.cmake").read_text()
    names = re.search(r"set\(SHOAL_FAMILIES\n([^)]*)\)", text)[1].split()
    return {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower() for name in names}


def modules_in(folder):
    return {path.stem for path in (ROOT / "python/shoal" / folder).glob("*.py")} - {"__init__"}


def test_the_frontend_has_every_family():
    assert {"control_flow", "custom_call", "nn"} <= families() <= modules_in("frontend")
    exported = {module.__name__.rpartition(".")[2] for module in frontend.EXPORTED}
    assert families() - exported == {"random"}  # shoal.random has names of its own


def test_importers_of_jaxs_ops_are_by_family():
    assert modules_in("jax/ops") == families()
