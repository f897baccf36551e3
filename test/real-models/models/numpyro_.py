# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPyro and flowjax: likelihoods, and flows that learn a density."""

import flowjax.bijections
import flowjax.distributions
import flowjax.flows
import jax.numpy as jnp
import numpyro.distributions as dist
import paramax
import equinox as eqx
from networks import KEY, Network, P, network, normal


@network({}, kinds=("step",))
def regression():
    """The log-density of a hierarchical regression."""
    parameters = {"w": normal(32, 8), "log_scale": normal(8)}

    def apply(parameters, x, y):
        scale = jnp.exp(0.1 * parameters["log_scale"])
        noise = dist.StudentT(4.0, x @ parameters["w"], scale).log_prob(y)
        return noise.sum(-1) + dist.Normal(0.0, 1.0).log_prob(parameters["w"]).mean()

    def loss(log_density, *_):
        return -log_density.mean()

    return Network(apply, parameters, (normal(64, 32), normal(64, 8)), (), loss)


@network({}, kinds=("step",))
def coupling_flow():
    base = flowjax.distributions.Normal(jnp.zeros(4))
    flow = flowjax.flows.coupling_flow(
        KEY,
        base_dist=base,
        transformer=flowjax.bijections.Affine(),
        flow_layers=2,
        nn_width=32,
        nn_depth=1,
    )
    parameters, static = eqx.partition(
        flow, eqx.is_inexact_array, is_leaf=lambda leaf: isinstance(leaf, paramax.NonTrainable)
    )

    def apply(parameters, x):
        return paramax.unwrap(eqx.combine(parameters, static)).log_prob(x)

    return Network(apply, parameters, (normal(64, 4),), (), lambda log_density, *_: -log_density.mean())
