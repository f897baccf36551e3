# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Jraph and e3nn-jax: networks on graphs, and those that rotations commute with."""

import e3nn_jax as e3nn
import jax
import jax.numpy as jnp
import jraph
from models.linen import init
from networks import Network, P, integers, label_loss, network, normal


@network({"'w'": P(None, "model")}, kinds=("forward", "step"))
def graph_convolution():
    """A graph of 16 nodes and 48 edges for each element of the batch."""

    def one(parameters, nodes, senders, receivers):
        graph = jraph.GraphsTuple(
            nodes=nodes,
            edges=None,
            senders=senders,
            receivers=receivers,
            globals=None,
            n_node=jnp.array([16]),
            n_edge=jnp.array([48]),
        )
        layer = jraph.GraphConvolution(lambda x: jax.nn.relu(x @ parameters["w"]))
        return layer(graph).nodes.mean(0) @ parameters["v"]

    def apply(parameters, *graph):
        return jax.vmap(one, (None, 0, 0, 0))(parameters, *graph)

    parameters = {"w": 0.2 * normal(16, 32), "v": 0.2 * normal(32, 4)}
    edges = integers(16, 16, 48)
    inputs = (normal(16, 16, 16), edges, (edges * 7 + 3) % 16)
    return Network(apply, parameters, inputs, (integers(4, 16),), label_loss)


@network({}, kinds=("forward",))
def tensor_product():
    """e3nn: spherical harmonics of edges, a tensor product with features, a linear layer."""
    linear = e3nn.flax.Linear("16x0e + 8x1o")

    def features(x, positions):
        harmonics = e3nn.spherical_harmonics("0e + 1o", positions, normalize=True)
        return e3nn.tensor_product(e3nn.IrrepsArray("8x0e + 4x1o", x), harmonics)

    def apply(parameters, x, positions):
        return linear.apply(parameters, features(x, positions)).array

    x, positions = normal(64, 20), normal(64, 3)
    return Network(apply, init(linear, features(x, positions)), (x, positions))
