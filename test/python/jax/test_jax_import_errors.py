# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What cannot be imported: one exception, which names the ops and JAX's lines."""

import io

import jax
import jax.numpy as jnp
import pytest
from jax import export, lax
from jaxlib.mlir import ir

import shoal.jax
from shoal.errors import ShoalError, UnsupportedError
from shoal.jax import foreign, registry
from shoal.jax.annotations import walk
from shoal.jax.halves import rules

MATRIX = jnp.ones((4, 4))


def problems(program, *arguments):
    with pytest.raises(UnsupportedError) as caught:
        shoal.jax.import_stablehlo(jax.jit(program).lower(*arguments))
    return str(caught.value).splitlines()


def line_of(program, offset):
    return f"{__file__}:{program.__code__.co_firstlineno + offset}:"


def decompositions(x):
    a = lax.linalg.schur(x)
    return a, lax.linalg.hessenberg(x), jnp.sin(x)


def test_all_ops_are_listed_with_their_lines():
    found = problems(decompositions, MATRIX)
    assert found[0].startswith(line_of(decompositions, 1))
    assert "stablehlo.custom_call @lapack_sgees_ffi (tensor<4x4xf32>) ->" in found[0]
    assert found[0].endswith("is not supported")
    assert all(line.startswith(line_of(decompositions, 2)) for line in found[1:])
    assert any("@lapack_sgehrd_ffi" in line for line in found[1:])
    assert not any("sine" in line for line in found)


def complex_decompositions(x):
    z = jnp.fft.fft(x)
    a = z.at[jnp.array([0, 0])].multiply(2j)
    return a, lax.linalg.hessenberg(z), lax.linalg.schur(x)


def test_complex_numbers_also_behind_calls():
    found = problems(complex_decompositions, MATRIX)
    (scatter,) = (line for line in found if "stablehlo.scatter" in line)
    assert scatter.startswith(line_of(complex_decompositions, 2))
    assert scatter.endswith("operand 0 is combined with others, and elements may have several updates")
    (call,) = (line for line in found if "@lapack_cgehrd_ffi" in line)
    assert call.startswith(line_of(complex_decompositions, 3))
    assert "(tensor<4x4xcomplex<f32>>) ->" in call and call.endswith("is not supported")
    assert any("@lapack_sgees_ffi" in line for line in found)
    assert not any("func.call" in line for line in found)


def test_types():
    text = """
func.func @main(%x: tensor<?xf32>, %y: tuple<tensor<4xi4>>) -> tensor<?xf32> {
  %0 = stablehlo.negate %x : tensor<?xf32>
  %1 = stablehlo.get_tuple_element %y[0] : (tuple<tensor<4xi4>>) -> tensor<4xi4>
  return %0 : tensor<?xf32>
}"""
    with pytest.raises(UnsupportedError) as caught:
        shoal.jax.import_stablehlo(text)
    assert "tensor<?xf32> has no static shape" in str(caught.value)
    assert "-> (tensor<4xi4>) is not supported: elements of i4 in a tuple" in str(caught.value)


def test_an_unsupported_op_many_times_is_listed_once():
    found = problems(lambda x: [lax.linalg.schur(x) for _ in range(3)], MATRIX)
    assert len(found) == 1


def test_comparators_that_are_no_order():
    text = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    %less = stablehlo.compare LT, %sum, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"""
    with pytest.raises(UnsupportedError, match="comparator is not an order"):
        shoal.jax.import_stablehlo(text)


@pytest.mark.parametrize(
    "program, message",
    [
        ("hello", "not a StableHLO program: .*custom op 'hello' is unknown"),
        ("func.func @main() { stablehlo.what }", "custom op 'stablehlo.what' is unknown"),
        (b"\xff\xfe", "neither MLIR bytecode nor UTF-8 text"),
        (b"ML\xefRxxxx", "not a StableHLO program"),
        (b"ML\xefR\rStableHLO_v1.15.0\x00", "not a StableHLO program"),
        ("module {}", "the program has no public function"),
        ("func.func private @f(tensor<4xf32>)", "the program has no public function"),
        (
            "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }",
            r"func.func is not supported: tensor<\?xf32> has no static shape",
        ),
        (
            "func.func private @f(tensor<4xf32>) -> tensor<4xf32>\n"
            "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
            "  %y = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>\n"
            "  return %y : tensor<4xf32> }",
            "func.func is not supported: it has no body",
        ),
        (5, "is text, bytes or a module but got <class 'int'>"),
    ],
)
def test_bad_programs(program, message):
    with pytest.raises(ShoalError, match=message):
        shoal.jax.import_stablehlo(program)


def artifact():
    traced = jax.jit(lambda x: jnp.sin(x) + 1)
    return export.export(traced)(jax.ShapeDtypeStruct((4,), jnp.float32)).mlir_module_serialized


def test_bytecode_is_read_in_another_process(tmp_path):
    """Portable artifacts, bytecode as it is, and files of both; locations are those of the bytes."""
    file = tmp_path / "program.bc"
    module = jax.jit(lambda x: jnp.sin(x) + 1).lower(jnp.ones(4)).compiler_ir("stablehlo")
    plain = io.BytesIO()
    module.operation.write_bytecode(plain)
    for data in (artifact(), plain.getvalue()):
        file.write_bytes(data)
        assert __file__ in shoal.jax.import_stablehlo(file)
    assert "math.sin" in shoal.jax.import_stablehlo(bytearray(artifact()))


@pytest.mark.parametrize("byte, bit", [(74, 6), (195, 5), (300, 2)])
def test_a_bit_that_is_another(byte, bit):
    """Is read or refused; the first two end jaxlib's reader by a signal."""
    data = bytearray(artifact())
    data[byte % len(data)] ^= 1 << bit
    try:
        shoal.jax.import_stablehlo(bytes(data))
    except ShoalError as error:
        assert "StableHLO" in str(error) or isinstance(error, UnsupportedError)


@pytest.mark.parametrize(
    "reader, message",
    [
        ("import os\nos.abort()", "the reader of its bytecode ends by SIGABRT: bytes are damaged"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "ends by SIGSEGV: bytes are damaged"),
        ("import sys\nsys.exit('it is none')", "not a StableHLO program: <program>: it is none"),
        (
            "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1, 2))\nwhile True: pass",
            "not read in 1 s of the processor's time",
        ),
        ("import sys\nsys.stdout.write('[' * 300)", "nests deeper than 256 brackets"),
    ],
)
def test_readers_that_end_otherwise(monkeypatch, tmp_path, reader, message):
    file = tmp_path / "reader.py"
    file.write_text(reader)
    monkeypatch.setattr(foreign, "READER", file)
    monkeypatch.setattr(foreign, "SECONDS", 1)
    with pytest.raises(ShoalError, match=message):
        shoal.jax.import_stablehlo(b"ML\xefR")


def test_a_reader_has_limits(monkeypatch):
    """Of memory: what it cannot have ends it, and not this process."""
    monkeypatch.setattr(foreign, "MEMORY", 1 << 20)
    monkeypatch.setattr(foreign, "MEMORY_PER_BYTE", 0)
    with pytest.raises(ShoalError, match="not a StableHLO program: <program>: "):
        shoal.jax.import_stablehlo(artifact())


@pytest.mark.parametrize(
    "text, message",
    [
        ("module attributes {a.z = " + "[" * 200_000 + "]" * 200_000 + "} {}", "nests deeper than 256 brackets"),
        ("func.func @main() { return %r#2147483647 : tensor<4xf32> }", "value numbers up to here ask for more values"),
    ],
)
def test_texts_that_a_parser_cannot_be_given(tmp_path, text, message):
    file = tmp_path / "deep.mlir"
    file.write_text(text)
    with pytest.raises(ShoalError, match=f"not a StableHLO program: <program>:1:.* {message}"):
        shoal.jax.import_stablehlo(text)
    with pytest.raises(ShoalError, match=f"not a StableHLO program: {file}:1:.* {message}"):
        shoal.jax.import_stablehlo(file)


@pytest.mark.parametrize("form", ['loc("a{0}"(#loc{1}))', "loc(fused[#loc{1}, #loc{1}])", "loc(callsite(#loc{1} at #loc{1}))"])
def test_locations_in_each_other(form):
    """5,000 of them, and those that have one as two parts: 2^5,000 leaves."""
    locations = ['#loc0 = loc("model.py":7:3)', *(f"#loc{i} = " + form.format(i, i - 1) for i in range(1, 5000))]
    text = with_op("%y = stablehlo.sine %x : tensor<4xf32> loc(#loc4999)")
    imported = shoal.jax.import_stablehlo("\n".join([*locations, text]))
    assert "math.sin" in imported


PLACE = ' loc("model.py":7:3)'


def with_op(op):
    return f"func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{\n{op}\nreturn %y : tensor<4xf32> }}"


@pytest.mark.parametrize(
    "program, message",
    [
        (
            with_op("%y = stablehlo.sine %x {mhlo.sharding = 3 : i64} : tensor<4xf32>" + PLACE),
            "mhlo.sharding is 3 : i64, which is no String",
        ),
        (
            with_op('%y = stablehlo.sine %x {mhlo.sharding = "{x}"} : tensor<4xf32>' + PLACE),
            "'{x}' is no sharding",
        ),
        (
            with_op(
                '%y = stablehlo.sine %x {mhlo.sharding = "{devices=[2,2]<=[4]}"} : tensor<4xf32>'
                + PLACE
            ),
            "tiles of rank 2 of a tensor of rank 1",
        ),
        (
            with_op(
                '%y = stablehlo.sine %x {mhlo.sharding = "{{replicated},{replicated}}"} '
                ": tensor<4xf32>" + PLACE
            ),
            "2 shardings of 1 values",
        ),
        (
            "func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32> {jax.result_info = 3 : i64}) "
            "{ return %x : tensor<4xf32> }" + PLACE,
            "jax.result_info is 3 : i64, which is no String",
        ),
        (
            "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> "
            "{ cf.br ^bb1 ^bb1: return %x : tensor<4xf32> }" + PLACE,
            "func.func is not supported: it has 2 blocks",
        ),
        (
            with_op(
                '%y, %i = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = "4"}} : '
                "(tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi32>)" + PLACE
            ),
            'k is "4", which is no Integer',
        ),
        (
            with_op(
                "%y, %i = stablehlo.custom_call @mhlo.topk(%x) : "
                "(tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi32>)" + PLACE
            ),
            "it has no mhlo.attributes",
        ),
    ],
)
def test_attributes_of_another_kind_are_refused_with_the_line(program, message):
    with pytest.raises(UnsupportedError) as caught:
        shoal.jax.import_stablehlo(program)
    assert str(caught.value).startswith("model.py:7:3: ") and message in str(caught.value)


def test_an_unknown_form_has_a_line_and_its_cause(monkeypatch):
    def broken(importer, op):
        return {}["k"]

    monkeypatch.setitem(registry._importers, "stablehlo.sine", broken)
    with pytest.raises(UnsupportedError) as caught:
        shoal.jax.import_stablehlo(with_op("%y = stablehlo.sine %x : tensor<4xf32>" + PLACE))
    expected = "is not supported: in a form that is not known (KeyError: 'k')"
    assert str(caught.value).startswith("model.py:7:3: ") and str(caught.value).endswith(expected)
    assert isinstance(caught.value.__cause__, KeyError)


def many_ops(x, i):
    y = jnp.pad(lax.cumsum(x, 0), 1)[1:-1, 1:-1].T @ x + x[i].sum() + jnp.sort(x, 1)
    pooled = lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 1), "SAME")
    z = lax.conv_general_dilated(x[None, None], x[None, None], (1, 1), "SAME")
    scattered = x.at[i].add(y[0, 0]).at[0].set(pooled[0]) + lax.top_k(x, 4)[0]
    return lax.while_loop(lambda v: v[0, 0] < 3, lambda v: v * 2, scattered), jnp.argmax(z), pooled


WRONG = ["unit", '"{devices=[2,2]<=[4]}"', "dense<3> : tensor<2x2xi64>"]


def test_no_attribute_ends_in_another_exception():
    """Each attribute of each kind of op, and those that shardings are in, of every other kind."""
    lowered = jax.jit(many_ops).lower(MATRIX, jnp.zeros(3, int))
    module = lowered.compiler_ir("stablehlo")
    with module.context:
        for op in {op.name: op for op in walk(module.operation)}.values():
            for name in sorted({*op.attributes, "mhlo.sharding", "sdy.sharding"}):
                before = op.attributes[name] if name in op.attributes else None
                for wrong in WRONG:
                    op.attributes[name] = ir.Attribute.parse(wrong)
                    check_refusal(module, f"{op.name}: {name} = {wrong}")
                if name in op.attributes:
                    del op.attributes[name]
                if before is not None:
                    check_refusal(module, f"{op.name} without {name}")
                    op.attributes[name] = before


def check_refusal(module, what):
    try:
        shoal.jax.import_stablehlo(module)
    except UnsupportedError as error:
        for line in str(error).splitlines():
            assert ": " in line and "not known" not in line, f"{what}: {line}"
    except ShoalError as error:
        assert "not a StableHLO program" in str(error), what


def test_supported_ops():
    ops = shoal.jax.supported_ops()
    assert ops == sorted(set(ops))
    assert {"stablehlo.add", "chlo.erf", "func.call", "stablehlo.while"} <= set(ops)
    assert "stablehlo.infeed" not in ops and not any("shoal" in op for op in ops)


def test_rules_of_complex_numbers_that_fail(monkeypatch):
    """As importers that were not written for a form: the line, and the exception as the cause."""

    def fails(rewriter, op):
        raise ZeroDivisionError("by zero")

    monkeypatch.setitem(rules._rules, "stablehlo.imag", fails)
    with pytest.raises(UnsupportedError) as caught:
        shoal.jax.import_stablehlo(jax.jit(lambda x: jnp.fft.fft(x).imag).lower(MATRIX))
    assert "form that is not known (ZeroDivisionError: by zero)" in str(caught.value)
    assert "test_jax_import_errors.py" in str(caught.value)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
