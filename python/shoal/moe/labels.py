# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where `shoal.layers.labels` was."""

from shoal.layers.labels import IGNORE_INDEX, cross_entropy, cross_entropy_sum

__all__ = ["IGNORE_INDEX", "cross_entropy", "cross_entropy_sum"]
