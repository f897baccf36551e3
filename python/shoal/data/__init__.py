# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batches of training data, as a function of their place in an order. See docs/guide/Training.md.

In layers, each of which imports those above it:

    permutation        shuffling by arithmetic
    sources            arrays, examples, what is iterated over
    orders             epochs of a source, mixtures of several
    batch_placement    batches on devices, by processes that read their own rows
    reader             one after the other, read ahead
    batches            all of it
"""

from shoal.data.batches import Batches
from shoal.data.orders import Mixture
from shoal.data.reader import Reader
from shoal.data.sources import Source

__all__ = ["Batches", "Mixture", "Reader", "Source"]
