# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs whose calls need memory of their own: what they pack, receive, sort in or convert.

`PROGRAMS[name]()` compiles one for DEVICES devices. Tensors are some 10 to 100 MiB, so that
memory that nobody counted is seen beside what MPI and BLAS have.
"""


import numpy as np

import shoal
from shoal import P, TensorSpec

DEVICES = 2
MESH = shoal.Mesh(x=DEVICES)
ROWS, COLUMNS, WHOLE = P("x"), P(None, "x"), P()
f32, f64, bf16, i32 = "float32", "float64", "bfloat16", "int32"


def program(function, *args):
    specs = tuple(TensorSpec(shape, dtype) for shape, dtype in args)
    return lambda: shoal.compile(function, specs, MESH)


def moved(source, target):
    return lambda x: shoal.constrain(shoal.constrain(x, source) * 2.0, target)


def product(a, b, out, spec="ik,kj->ij", dtype=None):
    def run(x, w):
        x, w = shoal.constrain(x, a), shoal.constrain(w, b)
        return shoal.constrain(shoal.einsum(spec, x, w, dtype=dtype), out)

    return run


def sorts(x):
    key, place = shoal.sort_by([x, shoal.iota(x.shape, 0, dtype=i32)], 0, num_keys=1)
    return shoal.constrain(key, WHOLE), place


def scattered(x, rows, updates):
    return shoal.scatter_add(shoal.constrain(x, WHOLE), rows, updates)


def far_apart(x):
    """The second result lies behind 2^28 bytes of the first."""
    many = shoal.constrain(shoal.full((600_000_000,), 1, dtype="int8"), ROWS)
    return many, *shoal.top_k(shoal.constrain(x, ROWS), 2)


def convolved(x, w):
    return shoal.conv(shoal.constrain(x, ROWS), w, padding="SAME")


def halo(x):
    x = shoal.constrain(x, COLUMNS)
    return shoal.constrain(shoal.sum_pool(x, (1, 5), padding="SAME"), COLUMNS)


def moe_layer():
    """GShard's, G=8 S=1024 M=512 H=2048 E=8, in JAX."""
    import jax
    from jax.sharding import AbstractMesh, NamedSharding
    from jax.sharding import PartitionSpec as JaxP

    from shoal.moe import Layout, MoeConfig, moe, total_loss

    mesh = AbstractMesh((1, DEVICES), ("data", "expert"))
    config = MoeConfig.gshard(
        8, 2048, second_policy="all", moe_expert_capacity_factor=1.0, min_capacity=1, moe_group_size=1024, moe_aux_loss_coeff=0.64
    )
    roles = {"dp": ("data", "expert"), "ep": ("expert",), "edp": ("data",)}
    layout = Layout(shoal.Mesh(data=1, expert=DEVICES), roles)
    shapes = {"router": (512, 8), "wi": (8, 512, 2048), "wo": (8, 2048, 512)}
    layer = {name: jax.ShapeDtypeStruct(shape, np.float32) for name, shape in shapes.items()}
    x = jax.ShapeDtypeStruct((8, 1024, 512), np.float32)
    split = NamedSharding(mesh, JaxP("expert"))
    placed = split, {"router": NamedSharding(mesh, JaxP()), "wi": split, "wo": split}

    def forward(x, layer):
        out = moe(x, layer, config, layout)
        return out.y, total_loss(out.losses, config)

    def loss(x, layer):
        y, aux = forward(x, layer)
        return (y * y).sum() + aux

    return (x, layer), placed, forward, jax.grad(loss, argnums=(0, 1))


def compiled_moe_layer(which):
    def compile_layer():
        import shoal.jax

        args, placed, *functions = moe_layer()
        return shoal.jax.compile(functions[which], *args, in_shardings=placed).executable

    return compile_layer


PROGRAMS = {
    "nothing": program(lambda x: x + 1.0, ((8, 8), f32)),
    "rows_to_columns": program(moved(ROWS, COLUMNS), ((4096, 4096), f32)),
    "columns_gathered": program(moved(COLUMNS, WHOLE), ((4096, 4096), f32)),
    "uneven_rows_to_columns": program(moved(ROWS, COLUMNS), ((4095, 4097), f32)),
    "product": program(product(ROWS, WHOLE, ROWS), ((2048, 2048), f32), ((2048, 2048), f32)),
    "packed_product": program(
        product(ROWS, WHOLE, ROWS, "bikl,lbkj->bji"), *[((4, 512, 64, 32), f32), ((32, 4, 64, 512), f32)]
    ),
    "product_of_bf16": program(product(ROWS, WHOLE, ROWS), ((2048, 2048), bf16), ((2048, 2048), bf16)),
    # Of BLAS on every machine.
    "product_of_f64": program(product(ROWS, WHOLE, ROWS), ((1024, 1024), f64), ((1024, 1024), f64)),
    "product_summed": program(product(COLUMNS, ROWS, WHOLE), ((4096, 512), f32), ((512, 4096), f32)),
    "product_scattered": program(product(COLUMNS, ROWS, ROWS), ((4096, 512), f32), ((512, 4096), f32)),
    "sort": program(sorts, ((4 << 20,), f32)),
    "scatter": program(scattered, ((4096, 1024), f32), ((8192,), i32), ((8192, 1024), f32)),
    "results_far_apart": program(far_apart, ((64, 16), f32)),
    "convolution": program(convolved, ((8, 128, 128, 32), f32), ((3, 3, 32, 64), f32)),
    "halo": program(halo, ((4096, 4096), f32)),
    "moe_layer": compiled_moe_layer(0),
    "moe_layer_gradient": compiled_moe_layer(1),
}
