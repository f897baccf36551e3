# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What stands beside experts in a Transformer, as pure functions of either world's arrays: attention, a dense network, the
cross entropy of labels.

Letters: B batch, S and T tokens, N heads, D head size, M model size, H hidden size, V classes.
"""

from shoal.layers.attention import attention, self_attention
from shoal.layers.dense import feed_forward
from shoal.layers.labels import cross_entropy, cross_entropy_sum

__all__ = ["attention", "cross_entropy", "cross_entropy_sum", "feed_forward", "self_attention"]
