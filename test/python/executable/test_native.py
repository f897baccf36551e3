# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler in a Python process: messages, stages, neighbours."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from executable_cases import SCALED, identity
from paths import PATHS

import shoal
from shoal import _native
from shoal.executable import CompileOptions, format_text, statistics_of_text

BROKEN = """
#dot = loc("jit(f)/dot_general"(callsite("inner"("model.py":3:4 to :9) at "model.py":30:1)))
func.func @f(%x: tensor<3xf32> loc("x"("model.py":1:2)), %y: tensor<4xf32>) -> tensor<3xf32> {
  %z = "arith.addf"(%x, %y) : (tensor<3xf32>, tensor<4xf32>) -> tensor<3xf32> loc(#dot)
  return %z : tensor<3xf32>
}
"""


@pytest.mark.parametrize("element", ["f32", "bf16", "i1"])
def test_random_inputs_are_the_executables(element):
    exe = shoal.compile_text(identity(element))
    (made,) = exe.run(random_inputs=7).values()
    assert made.tobytes() == _native.random_input(7, exe.inputs[0].name, element, [4])
    with pytest.raises(ValueError, match="no element type: f31"):
        _native.random_input(7, "x", "f31", [4])


def test_messages_say_where_and_what():
    with pytest.raises(shoal.CompileError) as caught:
        shoal.compile_text(BROKEN)
    (error,) = caught.value.diagnostics
    assert (error.severity, error.location) == ("error", "model.py:3:4")
    assert error.name == "jit(f)/dot_general"
    start = "model.py:3:4 (jit(f)/dot_general): error: 'arith.addf' op "
    assert str(caught.value).startswith(start)


def test_notes_follow_their_error():
    functions = [f'func.func @{name}() {{ return }} loc("{name}.py":1:1)' for name in "ab"]
    with pytest.raises(shoal.CompileError) as caught:
        shoal.compile_text("\n".join(functions))
    severities = [diagnostic.severity for diagnostic in caught.value.diagnostics]
    assert severities == ["error", "note"]
    assert {d.location for d in caught.value.diagnostics} == {"a.py:1:1", "b.py:1:1"}


@pytest.mark.parametrize(
    "text, place",
    [
        ("", "empty.mlir"),
        ("func.func @f(", "empty.mlir:1:13"),
        ("\0\xff\n!", "empty.mlir:1:"),
        ('"no.op"() : () -> ()', "empty.mlir:1:8"),
        ("func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }", ""),
    ],
)
def test_texts_that_are_no_program(text, place):
    with pytest.raises(shoal.CompileError) as caught:
        shoal.compile_text(text, source="empty.mlir")
    first = caught.value.diagnostics[0]
    assert first.severity == "error" and first.message
    assert first.location.startswith(place)


def test_texts_that_nest_too_deep():
    """Also in threads, whose stacks may be small."""
    text = "module {\n" * 3000
    raised = []

    def compile():
        with pytest.raises(shoal.CompileError, match="^a.mlir:257:8: error: nests deeper than 256"):
            shoal.compile_text(text, source="a.mlir")
        raised.append(True)

    thread = threading.Thread(target=compile)
    thread.start()
    thread.join()
    assert raised


def test_warnings_are_warnings():
    text = """
      shoal.mesh @mesh = <["d" = 2]>
      func.func @f(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"d"}]>})
          -> tensor<8xf32> {
        %y = shoal.custom_call "any"(%x) : (tensor<8xf32>) -> tensor<8xf32> loc("a.py":7:8)
        return %y : tensor<8xf32>
      }
    """
    with pytest.warns(shoal.CompileWarning, match="^a.py:7:8: warning: .* has no rule"):
        statistics_of_text(text)


def test_formats():
    plain = format_text(SCALED)
    assert "loc(" not in plain and format_text(plain) == plain
    assert 'loc("<program>":' in format_text(SCALED, locations=True)
    assert '"shoal.reduce"' in format_text(SCALED, generic=True)
    with pytest.raises(shoal.CompileError):
        format_text("func.func")


def test_stages_are_told_in_their_order():
    stages = []
    compiled = _native.compile(SCALED, CompileOptions().to_native(), on_stage=stages.append)
    assert stages == ["parse", "partition", "rematerialize", "lower"]
    assert '"all_reduce"' in compiled.statistics


class Stop(Exception):
    pass


def test_an_exception_of_the_listener_ends_the_compilation(tmp_path):
    def stop(stage):
        if stage == "codegen":
            raise Stop

    with pytest.raises(Stop):
        _native.compile(
            SCALED,
            CompileOptions().to_native(),
            executable=str(tmp_path / "program"),
            on_stage=stop,
        )
    assert not list(tmp_path.iterdir())
    shoal.compile_text(SCALED)


def test_ctrl_c_ends_the_compilation():
    def interrupt(stage):
        if stage == "partition":
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        _native.compile(SCALED, CompileOptions().to_native(), on_stage=interrupt)
    assert shoal.compile_text(SCALED).devices == 4


def test_other_threads_go_on():
    """The lock is free: a thread ticks while another compiles."""
    ticks = 0
    thread = threading.Thread(target=shoal.compile_text, args=[SCALED])
    thread.start()
    while thread.is_alive():
        thread.join(0.002)
        ticks += 1
    assert ticks > 10


JAX_TOO = """
import jax, jax.numpy as jnp
assert jax.jit(lambda x: x @ x)(jnp.ones((4, 4))).sum() == 64
from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir
text = jax.jit(lambda x: x + 1).lower(jnp.ones(3)).as_text()
with jax_mlir.make_ir_context():
    assert "stablehlo.add" in str(ir.Module.parse(text))
"""
SHOAL_TOO = f"""
import shoal
assert shoal.compile_text({SCALED!r}).devices == 4
"""


@pytest.mark.parametrize(
    "first, second", [(JAX_TOO, SHOAL_TOO), (SHOAL_TOO, JAX_TOO)], ids=["before", "after"]
)
def test_jax_in_the_same_process(first, second):
    script = first + second + first + second
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS), "JAX_PLATFORMS": "cpu"}
    ended = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr


def shown_progress(monkeypatch, capsys, **delays):
    """What stderr has of a compilation of a tenth of a second."""
    from shoal.executable import progress

    for name, delay in delays.items():
        monkeypatch.setattr(progress, name, delay)
    with progress.Progress("model.mlir") as shown:
        shown("partition")
        time.sleep(0.1)
    return capsys.readouterr().err


LINE, END = "shoal: compiling model.mlir: partition (0 s)", "shoal: compiling model.mlir took 0 s"


def test_progress_on_a_terminal_is_a_line_that_goes(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    text = shown_progress(monkeypatch, capsys, DELAY=0.01)
    assert f"\r\x1b[K{LINE}" in text and text.endswith("\r\x1b[K")


def test_progress_in_a_log_is_a_line_now_and_then(monkeypatch, capsys):
    lines = shown_progress(monkeypatch, capsys, LOG_DELAY=0.03).splitlines()
    assert len(lines) in (3, 4) and lines[:-1] == [LINE] * (len(lines) - 1) and lines[-1] == END
    assert shown_progress(monkeypatch, capsys, LOG_DELAY=10) == ""


def test_progress_in_a_notebook_is_one_line(monkeypatch, capsys):
    stream = type("OutStream", (type(sys.stderr),), {"__module__": "ipykernel.iostream"})
    monkeypatch.setattr(sys.stderr, "__class__", stream, raising=False)
    *shown, last = shown_progress(monkeypatch, capsys, DELAY=0.01).split("\r")
    assert set(map(str.rstrip, shown)) == {"", LINE} and last.rstrip() == END and last.endswith("\n")


SLOW = """
import os, signal, threading, time
import shoal
from shoal.executable import compiler

class Compiler:
    def compile(self, *args, on_stage, **options):
        on_stage("first")
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(20)          # a stage, which does not hear it
        on_stage("second")

compiler.native = Compiler
step = shoal.jit(lambda x: x + 1)
begin = time.monotonic()
def watch():
    time.sleep(15)
    os._exit(99)
threading.Thread(target=watch, daemon=True).start()
step(1.0)
"""


def test_ctrl_c_does_not_wait_for_a_stage():
    """Nor does the process, which ends by the signal; what it says is about the user's lines."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)}
    ended = subprocess.run(
        [sys.executable, "-c", SLOW], env=environment, capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == -signal.SIGINT
    assert ended.stderr.endswith("KeyboardInterrupt\n") and len(ended.stderr.splitlines()) <= 12, ended.stderr
