# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Does a training job fit on a machine, how long is a step, and where does the time go (docs/guide/Machines.md)?

In layers, each of which imports those above it:

    mapping     sizes of groups, batches, the pipeline, as data
    flags       these from others' command lines
    kernels     attention as one kernel
    programs    the programs that are simulated: a layer of each kind, what is around, the optimiser
    arithmetic  what a model multiplies for a token
    schedule    how micro-batches pass a pipeline
    costs       seconds of layers from the rows of programs
    memory      bytes of a device by part
    course      seconds of a step from those of layers
    forecasts   simulated programs that mappings share
    job         the forecast of a job
    fitting     what to change where it does not fit
    spelling    mappings as others' command lines
    space       the mappings among which one is chosen
    bounds      what a layer and its neighbours take and hold at least, without their programs
    columns     many mappings at once
    least       what mappings take and hold at least, from programs as far as these were made
    search      the best one, best bound first
    choice      the plan of a job of which no mapping is given
"""

from shoal.planning.choice import Choice, NothingFitsError, Stand, plan
from shoal.planning.flags import mapping_of
from shoal.planning.fitting import smallest_change
from shoal.planning.job import Line, Plan, forecast_of
from shoal.planning.mapping import Mapping
from shoal.planning.memory import Memory
from shoal.planning.search import Progress
from shoal.planning.spelling import megatron_flags, torchtitan_flags

__all__ = [
    "Choice", "Line", "Mapping", "Memory", "NothingFitsError", "Plan", "Progress", "Stand", "forecast_of", "mapping_of",
    "megatron_flags", "plan", "smallest_change", "torchtitan_flags",
]  # fmt: skip
