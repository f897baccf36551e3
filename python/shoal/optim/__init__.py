# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optimisers: pure functions of trees of gradients, parameters and state. See docs/guide/Optimizers.md.

In layers, each of which imports those above it:

    trees          what is done leaf by leaf
    schedules      learning rates by the number of the step
    transforms     parts of optimisers, and their chain
    optimizers     sgd, adam, adamw, lion, adafactor
    finiteness     steps that are left out, the scale of a loss
    gradients      micro-batches, computing in fewer bits
    zero           how parameters and states are split
"""

from shoal.optim.finiteness import *
from shoal.optim.gradients import *
from shoal.optim.optimizers import *
from shoal.optim.schedules import *
from shoal.optim.transforms import *
from shoal.optim.zero import *
