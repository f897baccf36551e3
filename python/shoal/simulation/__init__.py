# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long a step would take on a machine that is not there (docs/guide/Machines.md).

In layers, each of which imports those above it:

    machines    machine files: shipped, of a path, of a text
    forecast    what a simulation tells
    simulate    of a function or a program
"""

from shoal.simulation.forecast import Forecast, Row
from shoal.simulation.machines import Machine
from shoal.simulation.simulate import simulate

__all__ = ["Forecast", "Machine", "Row", "simulate"]
