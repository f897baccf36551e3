# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices that stay, and arrays that live on them: see docs/guide/Devices.md."""

from shoal.devices.array import Array, Shard
from shoal.devices.interface import Devices
from shoal.devices.job import Job
from shoal.devices.loaded import Loaded
from shoal.devices.placement import Placement
from shoal.devices.pool import Pool
from shoal.devices.shared import devices_of, launch

__all__ = [
    "Array",
    "Devices",
    "Job",
    "Loaded",
    "Placement",
    "Pool",
    "Shard",
    "devices_of",
    "launch",
]
