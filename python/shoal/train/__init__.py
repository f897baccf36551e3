# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training: a state, a step, and the loop around it, which can be written by hand as well.
See docs/guide/Training.md.

In layers, each of which imports those above it:

    state                           what there is from step to step
    processes                       what processes of a job agree on
    finiteness                      that a state which is to be saved is finite
    steps                           loss, gradients and update as one program
    saving, evaluation, metrics     a small state in one file, means over batches, JSON lines, TensorBoard
    balance                         how evenly experts are used, as a page
    stopping, progress              signals, what is shown
    loop                            fit
"""

from shoal.arrays import largest, summed
from shoal.frontend.buffers import Buffers
from shoal.train.balance import *
from shoal.train.evaluation import *
from shoal.train.finiteness import *
from shoal.train.loop import *
from shoal.train.metrics import *
from shoal.train.saving import *
from shoal.train.state import *
from shoal.train.stopping import *
from shoal.train.steps import *
