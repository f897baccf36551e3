# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is sent beside kernels takes: one law, that of a simulated program (`taxOn` in lib/Simulation/Simulate.cpp).

A collective has its share of a device's multiprocessors until it ends, and is as fast as alone; meanwhile kernels do
1 / (1 + overlap_tax) of their work. So both end when the collective does, if all kernels are done by then; else what is left
of these, computed - sent / (1 + overlap_tax), runs behind it at full speed. Seconds may be columns.
"""

from __future__ import annotations

import numpy as np

from shoal.simulation.machines import Machine

__all__ = ["longer", "room", "slowed", "together"]


def slowed(machine: Machine) -> float:
    """How much later kernels end for each second that is sent beside them; 1 where nothing is."""
    return machine.overlap_tax / (1 + machine.overlap_tax) if machine.overlaps else 1.0


def together(sent: float, computed: float, machine: Machine) -> float:
    """Seconds of what is sent and computed at once, where the machine can."""
    return np.maximum(sent, computed + sent * slowed(machine))


def longer(sent: float, computed: float, machine: Machine) -> float:
    """How much longer kernels of so many seconds take for what is sent beside them."""
    return together(sent, computed, machine) - computed


def room(computed: float, machine: Machine) -> float:
    """How many seconds may be sent until kernels that run meanwhile are done, on a machine that can."""
    return computed * (1 + machine.overlap_tax)
