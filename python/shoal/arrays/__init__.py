# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of either world, the frontend's values and JAX's: what the library of layers is written in.

    from shoal.arrays import einsum, softmax, top_k

    def router(tokens, params, config):     # of `shoal.jit` and of jax.jit
        scores = softmax(einsum("gsm,me->gse", tokens, params["router"]))
        weights, experts = top_k(scores, config.moe_router_topk)
        return experts, weights

Each function is that of its first array's world; docs/internals/Arrays.md says why it is so.
"""

from shoal.arrays.dimensions import (
    add_rows, any, argmax, argsort, as_value, broadcast_to, concatenate, cummax, cumsum, dynamic_slice, full,
    halves, iota, max, mean, moveaxis, ones, pad, put_rows, repeat, reshape, shape_of, stack, sum, take,
    take_along_axis, take_rows, top_k, zeros,
)  # fmt: skip
from shoal.arrays.elementwise import (
    abs, clip, cos, erf, exp, isfinite, log, log1p, logical_and, logical_not, maximum, minimum, multiply, negative,
    or_one, power, root_of, rsqrt, sign, sin, sqrt, square, where,
)  # fmt: skip
from shoal.arrays.networks import (
    einsum, gelu, log_softmax, logsumexp, matmul, one_hot, ragged_einsum, relu, rms_norm, sigmoid, silu, softmax,
    softplus,
)  # fmt: skip
from shoal.arrays.places import (
    advise, all_gather, axis_index, constrain, largest, manual, mesh_around, mesh_of, named_scope, named_shardings,
    noting_kinds, ragged_all_to_all, ring_shift, summed,
)  # fmt: skip
from shoal.arrays.programs import (
    fold_in, fori_loop, normal, scan, stop_gradient, uniform, value_and_grad, vjp, while_loop,
)  # fmt: skip
from shoal.arrays.worlds import Array, ArrayLike, is_array, like
from shoal.frontend.annotations import P
from shoal.frontend.remat import one_kernel

__all__ = [
    "Array", "ArrayLike", "P", "abs", "add_rows", "advise", "all_gather", "any", "argmax", "argsort", "as_value",
    "axis_index", "broadcast_to", "clip", "concatenate", "constrain", "cos", "cummax", "cumsum", "dynamic_slice",
    "einsum", "erf", "exp", "fold_in", "fori_loop", "full", "gelu", "halves", "iota", "is_array", "isfinite",
    "largest", "like", "log", "log1p", "log_softmax", "logical_and", "logical_not", "logsumexp", "manual", "matmul",
    "max", "maximum", "mean", "mesh_around", "mesh_of", "minimum", "moveaxis", "multiply", "named_scope",
    "named_shardings", "negative", "normal", "noting_kinds", "one_hot", "one_kernel", "ones", "or_one", "pad",
    "power", "put_rows", "ragged_all_to_all", "ragged_einsum", "relu", "repeat", "reshape", "ring_shift",
    "rms_norm", "root_of", "rsqrt", "scan", "shape_of", "sigmoid", "sign", "silu", "sin", "softmax", "softplus",
    "sqrt", "square", "stack", "stop_gradient", "sum", "summed", "take", "take_along_axis", "take_rows", "top_k",
    "uniform", "value_and_grad", "vjp", "where", "while_loop", "zeros",
]  # fmt: skip
