# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forms of shardings that JAX's programs of the conformance run lack, imported and run."""

import numpy as np
import pytest
from shoal_testing import shoal_run

pytest.importorskip("jax")

from jax_import_testing import run
from shoal import UnsupportedError
from shoal.jax import import_stablehlo

T = "tensor<8x8xf32>"
M = 'sdy.mesh @m = <["x"=2, "y"=4]>\n'


def function(body, arguments=f"%a: {T}", results=T):
    return f"func.func public @main({arguments}) -> ({results}) {{\n{body}\n}}"


def of_op(sharding):
    return function(f"%0 = stablehlo.add %a, %a {{{sharding}}} : {T}\nreturn %0 : {T}")


PROGRAMS = {
    "two_meshes_over_the_same_devices": M
    + 'sdy.mesh @n = <["e"=4, "t"=2]>\n'
    + function(
        f"""%0 = sdy.sharding_constraint %a <@m, [{{"x"}}, {{"y"}}]> : {T}
        %1 = sdy.sharding_constraint %0 <@n, [{{"e"}}, {{"t"}}]> : {T}
        return %1 : {T}"""
    ),
    "three_by_two_and_two_by_three": 'sdy.mesh @m = <["x"=3, "y"=2]>\n'
    + 'sdy.mesh @n = <["a"=2, "b"=3]>\n'
    + function(
        f"""%0 = sdy.sharding_constraint %a <@m, [{{"x"}}, {{"y"}}]> : {T}
        %1 = sdy.sharding_constraint %0 <@n, [{{"a"}}, {{"b"}}]> : {T}
        return %1 : {T}"""
    ),
    "a_tuple": function(
        f"""%0 = stablehlo.tuple %a, %b {{mhlo.sharding =
          "{{{{devices=[8,1]<=[8]}}, {{replicated}}}}"}} : tuple<{T}, {T}>
        %1 = stablehlo.custom_call @Sharding(%0) {{mhlo.sharding =
          "{{{{devices=[8,1]<=[8]}}, {{replicated}}}}"}} : (tuple<{T}, {T}>) -> tuple<{T}, {T}>
        %2 = stablehlo.get_tuple_element %1[0] : (tuple<{T}, {T}>) -> {T}
        %3 = stablehlo.get_tuple_element %1[1] : (tuple<{T}, {T}>) -> {T}
        %4 = stablehlo.subtract %2, %3 : {T}
        return %4 : {T}""",
        arguments=f"%a: {T}, %b: {T}",
    ),
    "another_order_of_devices": M
    + 'sdy.mesh @n = <["x"=2, "y"=4], device_ids=[7,6,5,4,3,2,1,0]>\n'
    + function(
        f"""%0 = sdy.sharding_constraint %a <@m, [{{"x"}}, {{"y"}}]> : {T}
        %1 = sdy.sharding_constraint %0 <@n, [{{"x"}}, {{"y"}}]> : {T}
        return %1 : {T}"""
    ),
    "an_inlined_mesh": of_op(
        'sdy.sharding = #sdy.sharding_per_value<[<mesh<["z"=8]>, [{"z"}, {}]>]>'
    ),
    "sub_axes_and_reshard": M
    + function(
        f"""%0 = sdy.sharding_constraint %a <@m, [{{"y":(1)2}}, {{"y":(2)2}}]> : {T}
        %1 = sdy.reshard %0 <@m, [{{"y":(2)2}}, {{"x"}}]> : {T}
        return %1 : {T}"""
    ),
    "what_steers_propagation_alone": M
    + function(
        f"""%0 = sdy.sharding_constraint %a <@m, [{{"x", ?}}p1, {{?}}], replicated={{"y"}}> : {T}
        sdy.sharding_group %0 group_id=3 : {T}
        %1 = sdy.propagation_barrier %0 allowed_direction=NONE : {T}
        %2 = sdy.sharding_constraint %1 <@m, [{{}}, {{}}], unreduced={{"x"}}> : {T}
        return %2 : {T}"""
    ),
    "listed_tiles_in_any_order": of_op('mhlo.sharding = "{devices=[4,2]5,1,0,2,3,4,7,6}"'),
    "a_tuple_of_tilings": function(
        f"""%0:2 = stablehlo.optimization_barrier
          {{mhlo.sharding = "{{{{devices=[8,1]<=[8]}}, {{devices=[2,1,4]<=[8] last_tile_dim_replicate}}}}"}}
          %a, %a : {T}, {T}
        %1 = stablehlo.add %0#0, %0#1 : {T}
        return %1 : {T}"""
    ),
    "gspmd_beside_shardy": M
    + function(
        f"""%0 = sdy.sharding_constraint %a <@m, [{{"x"}}, {{"y"}}]> : {T}
        %1 = stablehlo.custom_call @Sharding(%0) {{backend_config = "unspecified_dims=[1]",
          mhlo.sharding = "{{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}}"}} : ({T}) -> {T}
        return %1 : {T}"""
    ),
    "manual_over_a_mesh_in_its_own_order": 'sdy.mesh @m = <["x"=4], device_ids=[3,1,2,0]>\n'
    + function(
        f"""%0 = sdy.manual_computation(%a) in_shardings=[<@m, [{{"x"}}, {{}}]>]
          out_shardings=[<@m, [{{}}, {{}}]>] manual_axes={{"x"}} (%p: tensor<2x8xf32>) {{
          %g = "stablehlo.all_gather"(%p) <{{all_gather_dim = 0 : i64,
            channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
            replica_groups = dense<[[3, 1, 2, 0]]> : tensor<1x4xi64>, use_global_device_ids}}>
            : (tensor<2x8xf32>) -> {T}
          sdy.return %g : {T}
        }} : ({T}) -> {T}
        return %0 : {T}"""
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_stay(name, tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text(import_stablehlo(PROGRAMS[name]))
    devices = {"manual_over_a_mesh_in_its_own_order": 4, "three_by_two_and_two_by_three": 6}
    flags = (f"--devices={devices.get(name, 8)}", "--random-inputs=1", "--compare")
    shoal_run(path, *flags).expect_success()


def test_tuples_are_annotated_part_by_part():
    text = import_stablehlo(PROGRAMS["a_tuple"])
    assert text.count("shoal.sharding_constraint") == 2
    assert text.count('[{"axis0"}, {}]') == 1


CALLED = """func.func public @main(%a: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>) {
  %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{devices=[8,1]<=[8]}"}
    : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"}
    : (tensor<8x8xf32>) -> tensor<1x8xf32>
  BODY
  %4 = stablehlo.custom_call @SPMDShardToFullShape(%2) {mhlo.sharding = "{devices=[8,1]<=[8]}"}
    : (tensor<1x8xf32>) -> tensor<8x8xf32>
  %5 = stablehlo.custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "{replicated}"}
    : (tensor<8xf32>) -> tensor<8xf32>
  return %4, %5 : tensor<8x8xf32>, tensor<8xf32>
}
"""
SHARDS = """%zero = stablehlo.constant dense<0.0> : tensor<f32>
  %place = stablehlo.partition_id : tensor<ui32>
  %number = stablehlo.convert %place : (tensor<ui32>) -> tensor<f32>
  %numbers = stablehlo.broadcast_in_dim %number, dims = [] : (tensor<f32>) -> tensor<1x8xf32>
  %2 = stablehlo.add %1, %numbers : tensor<1x8xf32>
  %row = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<1x8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = "stablehlo.all_reduce"(%row) <{replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]>
    : tensor<1x8xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> ({
    ^bb0(%b: tensor<f32>, %c: tensor<f32>):
      %d = stablehlo.add %b, %c : tensor<f32>
      stablehlo.return %d : tensor<f32>
    }) : (tensor<8xf32>) -> tensor<8xf32>"""


def test_an_inlined_body_is_the_called_one():
    called = CALLED.replace("BODY", "%2, %3 = call @body(%1) : (tensor<1x8xf32>)"
                            " -> (tensor<1x8xf32>, tensor<8xf32>)")  # fmt: skip
    called += (
        "func.func private @body(%1: tensor<1x8xf32>) -> (tensor<1x8xf32>, tensor<8xf32>)"
        f" {{ {SHARDS} return %2, %3 : tensor<1x8xf32>, tensor<8xf32> }}"
    )
    a = np.arange(64, dtype=np.float32).reshape(8, 8)
    for text in (called, CALLED.replace("BODY", SHARDS)):
        imported = import_stablehlo(text)
        assert imported.count("shoal.manual_computation") == 1
        results = run(imported, {"arg0": a}, ["result0", "result1"])
        np.testing.assert_array_equal(results["result0"], a + np.arange(8)[:, None])
        np.testing.assert_array_equal(results["result1"], a.sum(0))


def test_a_region_that_nothing_leaves_is_refused():
    text = CALLED.replace("BODY", SHARDS).replace("SPMDShardToFullShape", "LayoutConstraint")
    with pytest.raises(UnsupportedError, match="nothing leaves the region behind it"):
        import_stablehlo(text.replace("tensor<1x8xf32>) -> tensor<8x8", "tensor<1x8xf32>) -> tensor<1x8")
                         .replace("(tensor<8x8xf32>, tensor<8xf32>) {", "(tensor<1x8xf32>, tensor<8xf32>) {")
                         .replace("%4, %5 : tensor<8x8", "%4, %5 : tensor<1x8"))  # fmt: skip


def manual(body, axes='"x"', arguments="(%p: tensor<4x8xf32>)"):
    return M + function(
        f"""%0 = sdy.manual_computation(%a) in_shardings=[<@m, [{{"x"}}, {{}}]>]
          out_shardings=[<@m, [{{"x"}}, {{}}]>] manual_axes={{{axes}}} {arguments} {{
          {body}
        }} : ({T}) -> {T}
        return %0 : {T}"""
    )


def permute(pairs):
    return f"""%r = "stablehlo.collective_permute"(%p) <{{
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        source_target_pairs = dense<{pairs}> : tensor<{len(pairs)}x2xi64>}}>
        : (tensor<4x8xf32>) -> tensor<4x8xf32>
      sdy.return %r : tensor<4x8xf32>"""


REDUCE = """%r = "stablehlo.all_reduce"(%p) <{replica_groups = dense<GROUPS> : tensor<SIZExi64>CHANNEL}> ({
    ^bb0(%b: tensor<f32>, %c: tensor<f32>):
      %d = stablehlo.COMBINER %b, %c : tensor<f32>
      stablehlo.return %d : tensor<f32>
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    sdy.return %r : tensor<4x8xf32>"""
CHANNEL = ", channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids"


def reduce(groups, combiner="add", channel=CHANNEL):
    size = f"{len(groups)}x{len(groups[0])}"
    text = REDUCE.replace("GROUPS", str(groups)).replace("SIZE", size)
    return text.replace("COMBINER", combiner).replace("CHANNEL", channel)


def nested(sharding, axes):
    """Rows over "x" outside and over `axes` inside, where a sum goes over all devices."""
    text = REDUCE.replace("GROUPS", "[[0, 1, 2, 3, 4, 5, 6, 7]]").replace("SIZE", "1x8")
    text = text.replace("COMBINER", "add").replace("CHANNEL", CHANNEL).replace("%p", "%q")
    text = text.replace("%r", "%s").replace("4x8", "1x8")
    return manual(
        f"""%r = sdy.manual_computation(%p) in_shardings=[<{sharding}>]
          out_shardings=[<{sharding}>] manual_axes={{{axes}}} (%q: tensor<1x8xf32>) {{
          {text}
        }} : (tensor<4x8xf32>) -> tensor<4x8xf32>
        sdy.return %r : tensor<4x8xf32>"""
    )


def test_manual_in_manual(tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text(import_stablehlo(nested('@m, [{"y"}, {}]', '"y"')))
    assert path.read_text().count("shoal.manual_computation") == 2
    shoal_run(path, "--devices=8", "--random-inputs=1", "--compare").expect_success()


@pytest.mark.parametrize(
    "dims, written",
    [
        ("[{?}, {?}]", None),
        ("[{}, {?}]", "<@m, [{}, {?}]>"),
        ("[{}, {}]", "<@m, [{}, {}]>"),
    ],
)
def test_mesh_without_axes(dims, written):
    """Nothing is split over it; open dimensions are the compiler's all the same."""
    text = M + "sdy.mesh @none = <[]>\n"
    text += function(f"%0 = sdy.sharding_constraint %a <@none, {dims}> : {T}\nreturn %0 : {T}")
    lines = [line for line in import_stablehlo(text).splitlines() if "constraint" in line]
    assert len(lines) == (written is not None)
    assert all(written in line for line in lines)


@pytest.mark.parametrize(
    "program, message",
    [
        (manual(reduce([[0, 1, 2, 3], [4, 5, 6, 7]])), r"replica_groups .* are no axes of @m"),
        (manual(reduce([[0, 5], [1, 4], [2, 6], [3, 7]])), r"replica_groups .* are no axes of @m"),
        (manual(reduce([[0, 4], [1, 5], [2, 6], [3, 7]], "power")), "a combiner of stablehlo.power"),
        (manual(reduce([[0, 4], [1, 5], [2, 6], [3, 7]], channel="")), "groups of replicas"),
        (manual(permute([[0, 4], [1, 2]])), "not the same for all devices"),
        (
            manual(
                """%i = stablehlo.partition_id : tensor<ui32>
                %f = stablehlo.convert %i : (tensor<ui32>) -> tensor<f32>
                %r = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
                sdy.return %r : tensor<4x8xf32>"""
            ),
            r"partition_id .* is manual along \['x'\] only",
        ),
        (
            'sdy.mesh @n = <["x"=2, "z"=4]>\n' + nested('@n, [{"z"}, {}]', '"z"'),
            "shardings over two meshes, @m and @n",
        ),
        (
            "module attributes {mhlo.num_replicas = 2 : i32} {" + function(f"return %a : {T}") + "}",
            "mhlo.num_replicas = 2",
        ),
        (
            function(
                f'%0 = "stablehlo.all_reduce"(%a) <{{replica_groups = dense<0> : tensor<1x1xi64>}}> ({{\n'
                "^bb0(%b: tensor<f32>, %c: tensor<f32>):\n"
                "  %d = stablehlo.add %b, %c : tensor<f32>\n  stablehlo.return %d : tensor<f32>\n"
                f"}}) : ({T}) -> {T}\nreturn %0 : {T}"
            ),
            "outside of a region",
        ),
        (of_op('mhlo.sharding = "{devices=[4]<=[4]}"'), "tiles of rank 1 of a tensor of rank 2"),
    ],
)
def test_refused(program, message):
    with pytest.raises(UnsupportedError, match=message):
        import_stablehlo(program)
