# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can be imported, where names and places come from, and the command."""

import io
import re
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P

import paths
import shoal.jax
from jax_import_testing import auto_mesh, run
from shoal.jax.lowering import lower
from shoal.jax.locations import legal_name, unique_names


def model(params, x):
    y = jnp.tanh(x @ params["w"] + params["b"])
    return {"y": y, "best": jnp.argmax(y, -1), "top": lax.top_k(x, 2), "log": lax.lgamma(x)}


SHAPES = {"params": {"w": (4, 4), "b": (4,)}, "x": (3, 4)}


def arguments():
    return jax.tree.map(jnp.ones, SHAPES, is_leaf=lambda leaf: isinstance(leaf, tuple))


def lowered():
    return jax.jit(model).lower(**arguments())


def test_every_form_gives_the_same_program(tmp_path):
    expected = shoal.jax.import_stablehlo(lowered())
    module = lowered().compiler_ir("stablehlo")
    bytecode = io.BytesIO()
    module.operation.write_bytecode(bytecode)
    file = tmp_path / "model.mlir"
    file.write_text(module.operation.get_asm(enable_debug_info=True))
    forms = {
        "module": module,
        "pretty": file.read_text(),
        "generic": module.operation.get_asm(enable_debug_info=True, print_generic_op_form=True),
        "bytecode": bytecode.getvalue(),
        "file": file,
    }
    for form, program in forms.items():
        assert shoal.jax.import_stablehlo(program) == expected, form


def test_exported_programs():
    """A portable artifact has JAX's special functions written out: the same values."""
    exported = jax.export.export(jax.jit(model))(**arguments())
    rng = np.random.default_rng(0)
    inputs = {
        name: rng.random(shape, np.float32)
        for name, shape in {"params.w": (4, 4), "params.b": (4,), "x": (3, 4)}.items()
    }
    names = ["result.y", "result.best", "result.top.0", "result.log"]
    portable = run(shoal.jax.import_stablehlo(exported), inputs, names)
    direct = run(shoal.jax.import_stablehlo(lowered()), inputs, names)
    for name in names:
        np.testing.assert_allclose(portable[name], direct[name], rtol=1e-5, atol=1e-6)


def test_special_functions_of_older_exports():
    text = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.custom_call @mhlo.erf(%x) {mhlo.attributes = {}} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"""
    assert '"math.erf"(%0) : (tensor<2xf32>)' in shoal.jax.import_stablehlo(text)


def test_names_of_arguments_and_results():
    text = shoal.jax.import_stablehlo(lowered())
    names = re.findall(r'shoal.name = "([^"]*)"', text)
    arguments, results = names[:3], names[3:]
    assert arguments == ["params.b", "params.w", "x"]
    assert results == ["result.best", "result.log", "result.top.0", "result.top.1", "result.y"]


def test_names_are_legal_and_unique():
    assert legal_name("state[0].mu['layer 1/kernel']") == "state.0.mu.layer_1_kernel"
    assert unique_names(["x['a']", "x.a", "y", ""], "arg") == [None, None, "y", None]
    assert unique_names(["arg1", "x"], "arg") == [None, "x"]  # the name of the second


def test_unsigned_integers_are_marked():
    text = shoal.jax.import_stablehlo(jax.jit(lambda a: a + 1).lower(np.uint8([1, 2])))
    assert 'arg_attrs = [{shoal.name = "a", shoal.unsigned}]' in text
    assert 'res_attrs = [{shoal.name = "result", shoal.unsigned}]' in text
    assert "tensor<2xi8>" in text and "ui8" not in text


def test_ops_carry_the_line_and_the_name_stack():
    text = shoal.jax.import_stablehlo(lowered())
    line = model.__code__.co_firstlineno + 1
    place = rf'"[^"]*{Path(__file__).name}":{line}:\d+'
    assert re.search(rf'"math.tanh".*loc\("jit\(model\)/tanh"\({place}\)\)', text)
    # Helper functions of JAX's have their caller's place.
    assert re.search(
        rf'"shoal.argmax".*loc\("reduce"\("[^"]*{Path(__file__).name}":{line + 1}:', text
    )


def test_places_are_the_users():
    text = shoal.jax.import_stablehlo(lower(jax.jit(model).trace(**arguments())))
    files = set(re.findall(r'\("([^"]*)":\d+:\d+\)', text))
    assert files == {__file__}


PACKAGES = "/usr/lib/python3/site-packages"
AT_TWO_PLACES = f"""
func.func @main(%x: tensor<f32>) -> tensor<f32> {{
  %0 = stablehlo.sine %x : tensor<f32> loc(#sine)
  return %0 : tensor<f32>
}}
#inner = loc("{PACKAGES}/flax/linen.py":7:2)
#sine = loc("jit(f)/sin"(callsite("dense"(#inner) at "f"("model.py":3:4))))
"""


def test_places_in_libraries_are_theirs():
    """Each op of a layer of Flax' has a line of its own; JAX's own lines are skipped."""
    text = shoal.jax.import_stablehlo(AT_TWO_PLACES)
    assert f'loc("jit(f)/sin"("{PACKAGES}/flax/linen.py":7:2))' in text
    of_jax = AT_TWO_PLACES.replace("flax/linen", "jax/_src/lax")
    assert 'loc("jit(f)/sin"("model.py":3:4))' in shoal.jax.import_stablehlo(of_jax)
    alone = of_jax.replace(' at "f"("model.py":3:4)', ' at "f"(#inner)')
    assert f'"{PACKAGES}/jax/_src/lax.py":7:2' in shoal.jax.import_stablehlo(alone)


@jax.jit
def mlp(x, w):
    with jax.named_scope("MLP"):
        return jnp.tanh(x @ w)


def test_reasons_name_the_module():
    """Of a collective in a nested jit, and in a region for one device: the whole path."""
    mesh = auto_mesh((4,), ("x",))
    columns, rows = (NamedSharding(mesh, P(*spec)) for spec in ((None, "x"), ("x",)))

    def step(x, w):
        with jax.named_scope("Block_3"):
            y = mlp(x, w)

        def summed(y):
            with jax.named_scope("Mean"):
                return lax.psum(y, "x")

        return jax.shard_map(summed, mesh=mesh, in_specs=P("x"), out_specs=P())(y)

    exe = shoal.jax.compile(step, jnp.ones((8, 8)), jnp.ones((8, 8)), in_shardings=(columns, rows))
    line = mlp.__wrapped__.__code__.co_firstlineno + 3
    name = re.escape("jit(step)/Block_3/jit(mlp)/MLP/")
    assert re.search(rf'why = "[^<]*{Path(__file__).name}:{line}:\d+ \({name}\w+\)', exe.spmd())
    assert 'loc("jit(step)/shard_map/Mean/psum' in exe.text
    assert '"from":"jit(step)/Block_3/jit(mlp)/MLP/tanh"' in exe.report()


def command(*words, **options):
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(paths.PATHS)}
    return subprocess.run(
        [sys.executable, "-m", "shoal.jax", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
        **options,
    )


def test_command(tmp_path):
    source, target = tmp_path / "in.mlir", tmp_path / "out.mlir"
    source.write_text(lowered().as_text())
    ended = command(source, "-o", target)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert target.read_text() == shoal.jax.import_stablehlo(source)


def test_command_says_what_is_wrong(tmp_path):
    source = tmp_path / "in.mlir"
    source.write_text("stablehlo.frobnicate")
    ended = command(source)
    assert ended.returncode == 1 and ended.stdout == ""
    assert ended.stderr.startswith("error: not a StableHLO program: ")
    assert f'"{source}":1:1' in ended.stderr and ended.stderr.count("\n") == 1
    missing = command(tmp_path / "missing.mlir")
    assert missing.returncode == 1 and "No such file" in missing.stderr
    assert "Traceback" not in ended.stderr + missing.stderr
