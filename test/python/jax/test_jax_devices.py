# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who holds which block: shardings as imported, against JAX's own, device by device."""

import itertools
import math

import numpy as np
import pytest

pytest.importorskip("jax")

from jax._src.lib import xla_client
from jax._src.interpreters import mlir as jax_mlir
from jax._src.op_shardings import op_sharding_to_numpy_indices
from jaxlib.mlir import ir

from shoal.errors import UnsupportedError
from shoal.digits import stride_of
from shoal.jax.manual import Frame, Shift, shift_of
from shoal.jax.shardings import ShardingImporter
from shoal.mesh import Axis, Mesh

SHAPE = (24, 24)


def importer_of(*shardings, mesh="", attribute="mhlo.sharding"):
    """A ShardingImporter of a program whose arguments have these, and its function."""
    type = f"tensor<{SHAPE[0]}x{SHAPE[1]}xf32>"
    arguments = ", ".join(
        f"%a{i}: {type} {{{attribute} = {text}}}" for i, text in enumerate(shardings)
    )
    text = f"module {{ {mesh} func.func public @main({arguments}) {{ return }} }}"
    with jax_mlir.make_ir_context() as context:
        module = ir.Module.parse(text, context)
        importer = ShardingImporter(module)
        function = next(o for o in module.body.operations if o.operation.name == "func.func")
        return importer, function.operation, module


def blocks(importer, sharding):
    """For each device the ranges of rows that it holds: ceil(n / p) each."""
    mesh = importer.meshes[sharding.mesh]
    ids = mesh.device_ids or range(mesh.size)
    held = {}
    for position, device in enumerate(ids):
        ranges = []
        for size, dim in zip(SHAPE, sharding.dims):
            index, count = 0, 1
            for axis in dim.axes:
                length = axis.size or mesh.axes[axis.name]
                index = index * length + position // stride_of(axis, mesh) % length
                count *= length
            rows = math.ceil(size / count)
            ranges.append((min(index * rows, size), min((index + 1) * rows, size)))
        held[device] = tuple(ranges)
    return held


def blocks_in_jax(text, devices):
    sharding = xla_client.HloSharding.from_string(text)
    held = op_sharding_to_numpy_indices(sharding, SHAPE, devices)
    return {
        device: tuple(index.indices(size)[:2] for index, size in zip(held[device], SHAPE))
        for device in range(devices)
    }


def check_as_in_jax(*texts, devices=8):
    importer, function, _ = importer_of(*(f'"{text}"' for text in texts))
    with function.context:
        for i, text in enumerate(texts):
            attributes = ir.DictAttr(ir.ArrayAttr(function.attributes["arg_attrs"])[i])
            sharding = importer._of_attributes(attributes, [2])[0]
            assert blocks(importer, sharding) == blocks_in_jax(text, devices), text
    return importer


TILINGS = [
    "{devices=[2,4]<=[8]}",
    "{devices=[4,2]<=[8]}",
    "{devices=[8,1]<=[8]}",
    "{devices=[1,8]<=[8]}",
    "{devices=[2,4]<=[4,2]T(1,0)}",
    "{devices=[4,2]<=[2,2,2]T(2,0,1)}",
    "{devices=[2,1,4]<=[8] last_tile_dim_replicate}",
    "{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dim_replicate}",
    "{devices=[2,2,2]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}",
    "{devices=[2,4]0,1,2,3,4,5,6,7}",
    "{devices=[2,4]0,2,4,6,1,3,5,7}",
    "{devices=[2,1,4]0,3,2,1,7,5,6,4 last_tile_dim_replicate}",
    "{devices=[2,2,2]<=[8] last_tile_dims={replicated}}",
    "{replicated}",
]


@pytest.mark.parametrize("text", TILINGS)
def test_tiling(text):
    check_as_in_jax("{devices=[2,4]<=[8]}", text)


def test_all_tilings_at_once_have_one_mesh():
    assert list(check_as_in_jax(*TILINGS).meshes) == ["mesh"]


@pytest.mark.parametrize("order", [(0, 3, 1, 2, 4, 7, 6, 5), (7, 6, 5, 4, 3, 2, 1, 0)])
def test_orders_that_no_axes_tile_have_a_mesh_of_their_own(order):
    listed = ",".join(map(str, order))
    importer = check_as_in_jax("{devices=[2,4]<=[8]}", f"{{devices=[2,4]{listed}}}")
    assert [mesh.device_ids for mesh in importer.meshes.values()] == [None, order]


# Along each axis of 2 x 4 devices in an order of their own, and along both: as they are listed,
# devices that hold the same in any order.
TORUS = [
    "{devices=[2,1,4]0,1,2,3,6,7,4,5 last_tile_dim_replicate}",
    "{devices=[1,4,2]0,6,1,7,4,2,3,5 last_tile_dim_replicate}",
    "{devices=[2,4]0,1,2,3,6,7,4,5}",
    "{devices=[4,2]0,6,1,7,2,4,3,5}",
]


@pytest.mark.parametrize("first", range(4))
def test_parts_of_an_order_lie_on_its_mesh(first):
    """Whichever comes first: also along an axis that the devices' numbers would make, too."""
    importer = check_as_in_jax(*TORUS[first:], *TORUS[:first])
    (mesh,) = importer.meshes.values()
    assert mesh.name == "mesh" and mesh.device_ids is not None


def test_devices_numbers_are_those_of_the_first_mesh():
    """Where a program reads them its mesh has their order, whatever else is tiled."""
    number = "func.func private @f() -> tensor<ui32> { %n = stablehlo.partition_id : tensor<ui32> return %n : tensor<ui32> }"
    importer, _, _ = importer_of(*(f'"{text}"' for text in TORUS), mesh=number)
    assert [mesh.device_ids is None for mesh in importer.meshes.values()] == [True, False]


def test_orders_that_begin_elsewhere_have_one_mesh():
    """A product whose operands and result list their devices from another one each."""
    importer = check_as_in_jax(
        "{devices=[1,2,2]1,3,0,2 last_tile_dim_replicate}",
        "{devices=[2,2]3,1,2,0}",
        "{devices=[1,2,2]2,3,0,1 last_tile_dim_replicate}",
        devices=4,
    )
    assert [mesh.device_ids for mesh in importer.meshes.values()] == [(3, 1, 2, 0)]


def test_tilings_without_common_axes():
    """2 within 3 x 2: the second one has an order of its own over the first one's axes."""
    importer = check_as_in_jax("{devices=[3,2]<=[6]}", "{devices=[2,3]<=[6]}", devices=6)
    assert [list(mesh.axes.values()) for mesh in importer.meshes.values()] == [[3, 2], [3, 2]]


def test_random_orders():
    random = np.random.default_rng(0)
    for _ in range(20):
        sizes = [int(n) for n in random.permutation([2, 3, 2])]
        order = ",".join(map(str, random.permutation(12)))
        tiles = f"{sizes[0]},{sizes[1] * sizes[2]}"
        check_as_in_jax(f"{{devices=[{tiles}]{order}}}", "{devices=[4,3]<=[12]}", devices=12)


def test_one_device_alone_is_everywhere():
    importer, function, _ = importer_of('"{maximal device=3}"', '"{devices=[8,1]<=[8]}"')
    with function.context:
        found = importer.argument_attributes(function, 0)
    assert found == {"shoal.sharding": "#shoal.sharding<@mesh, [{}, {}]>"}


@pytest.mark.parametrize(
    "text, message",
    [
        ("{devices=[2,4]<=[9]}", "is no sharding"),
        ("nonsense", "is no sharding"),
        ("{devices=[4,1]<=[4]}", "over 4 devices in a program of 8"),
    ],
)
def test_refused(text, message):
    with pytest.raises(UnsupportedError, match=message):
        importer_of('"{devices=[8,1]<=[8]}"', f'"{text}"')


SDY_MESH = 'sdy.mesh @m = <["x"=2, "y"=4]>'


@pytest.mark.parametrize(
    "text, expected",
    [
        ('<@m, [{"x"}, {"y"}]>', '<@m, [{"x"}, {"y"}]>'),
        ('<@m, [{"y", "x"}, {}]>', '<@m, [{"y", "x"}, {}]>'),
        ('<@m, [{"x", ?}p1, {?}]>', '<@m, [{"x", ?}p1, {?}]>'),
        ('<@m, [{"y":(1)2}, {"y":(2)2}]>', '<@m, [{"y":(1)2}, {"y":(2)2}]>'),
        (
            '<@m, [{"x"}, {?}], replicated={"y":(2)2}>',
            '<@m, [{"x"}, {?}], replicated = {"y":(2)2}>',
        ),
        ("<@empty, [{}, {}]>", "<@m, [{}, {}]>"),
        ("<@one, []>", "<@m, [{}, {}]>"),
        ('<@m, [{"y"}, {?}], unreduced={"x"}>', '<@m, [{"y"}, {?}], partial = {"x"}>'),
        ('<@m, [{?}, {?}], unreduced={"y":(2)2}>', '<@m, [{?}, {?}], partial = {"y":(2)2}>'),
        ('<mesh<["x"=2, "y"=4]>, [{"x"}, {}]>', '<@m, [{"x"}, {}]>'),
        ('<mesh<["z"=8]>, [{"z"}, {}]>', '<@mesh, [{"z"}, {}]>'),
    ],
)
def test_shardy(text, expected):
    meshes = f"{SDY_MESH} sdy.mesh @empty = <[]> sdy.mesh @one = <[], device_ids=[3]>"
    importer, function, _ = importer_of(
        f"#sdy.sharding{text}", mesh=meshes, attribute="sdy.sharding"
    )
    with function.context:
        found = importer.argument_attributes(function, 0)
    assert found == {"shoal.sharding": f"#shoal.sharding{expected}"}


def test_open_shardings_say_nothing():
    importer, function, _ = importer_of(
        "#sdy.sharding<@m, [{?}, {?}]>", mesh=SDY_MESH, attribute="sdy.sharding"
    )
    with function.context:
        assert importer.argument_attributes(function, 0) == {}


def test_gspmd_beside_shardy_uses_its_mesh():
    text = (
        f"module {{ {SDY_MESH} func.func public @main(%a: tensor<8x8xf32>"
        ' {mhlo.sharding = "{devices=[4,2]<=[8]}"}) { return } }'
    )
    with jax_mlir.make_ir_context() as context:
        module = ir.Module.parse(text, context)
        function = module.body.operations[1].operation
        found = ShardingImporter(module).argument_attributes(function, 0)
    expected = '#shoal.sharding<@m, [{"x", "y":(1)2}, {"y":(2)2}]>'
    assert found == {"shoal.sharding": expected}


# Regions for one device.

FRAME = Frame(Mesh(x=2, y=4), ("x", "y"))


@pytest.mark.parametrize("axes", [("x",), ("y",), ("x", "y"), ("y", "x")])
def test_axes_of_groups(axes):
    """Groups as jax.lax's collectives over these axes list them."""
    positions = np.arange(8).reshape(2, 4)
    rest = [i for i, name in enumerate("xy") if name not in axes]
    order = [*rest, *("xy".index(name) for name in axes)]
    count = math.prod({"x": 2, "y": 4}[name] for name in axes)
    groups = positions.transpose(order).reshape(-1, count)
    assert FRAME.axes_of_groups(groups, ordered=True) == tuple(map(Axis, axes))
    shuffled = groups[::-1, ::-1]
    found = FRAME.axes_of_groups(shuffled, ordered=False)
    assert sorted(axis.name for axis in found) == sorted(axes)


@pytest.mark.parametrize("groups", [[[0, 1, 2], [3, 4, 5]], [[0, 1], [2, 4], [3, 5], [6, 7]]])
def test_groups_that_are_no_axes(groups):
    assert FRAME.axes_of_groups(np.array(groups), ordered=False) is None


def test_groups_along_other_axes():
    inner = Frame(FRAME.mesh, ("x",))
    assert inner.axes_of_groups(np.arange(8).reshape(2, 4), ordered=True) is None


@pytest.mark.parametrize(
    "move, shift",
    [
        (lambda i: (i + 1) % 4, Shift((Axis("y"),), 1)),
        (lambda i: i ^ 1, Shift((Axis("y", 2, 2),), 1)),
        (lambda i: i ^ 2, Shift((Axis("y"),), 2)),
        (lambda i: 3 - i, None),
    ],
)
def test_permutations_that_are_shifts(move, shift):
    pairs = {4 * i + j: 4 * i + move(j) for i, j in itertools.product(range(2), range(4))}
    axes, moves = FRAME.permutation(pairs)
    assert axes == (Axis("y"),) and moves == {j: move(j) for j in range(4)}
    assert shift_of(FRAME, axes, moves) == shift


def test_some_of_a_shift_is_none():
    axes, moves = FRAME.permutation({4 * i + j: 4 * i + j + 1 for i in range(2) for j in range(3)})
    assert moves == {0: 1, 1: 2, 2: 3} and shift_of(FRAME, axes, moves) is None


def test_permutations_that_differ_between_groups():
    pairs = {i: (i + 1) % 4 for i in range(4)} | {i: i for i in range(4, 8)}
    axes, _ = FRAME.permutation(pairs)
    assert axes == (Axis("x"), Axis("y"))
    assert Frame(FRAME.mesh, ("y",)).permutation(pairs) is None


@pytest.mark.parametrize(
    "text, expected",
    [
        ("{devices=[2,1,4]<=[8] last_tile_dims={unreduced}}", '[{"axis0"}, {}], partial = {"axis1"}'),
        (
            "{devices=[1,1,2,4]<=[8] last_tile_dims={replicated, unreduced}}",
            '[{}, {}], partial = {"axis1"}',
        ),
        ("{unreduced}", '[{}, {}], partial = {"axis0", "axis1"}'),
    ],
)
def test_unreduced_subgroups(text, expected):
    importer, function, _ = importer_of(
        f'"{text}"', '"{devices=[2,1,4]<=[8] last_tile_dim_replicate}"'
    )
    with function.context:
        found = importer.argument_attributes(function, 0)
    assert found == {"shoal.sharding": f"#shoal.sharding<@mesh, {expected}>"}
