# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The form of shoal.moe and shoal.models: short functions, and none that asks where things lie."""

import ast
import sys

import pytest

import shoal
from shoal.moe import Layout, MoeConfig, moe, param_shapes, param_shardings
from shoal_testing import ROOT

LONGEST = 45  # lines of a function
FILES = sorted(path for name in ("moe", "models") for path in (ROOT / "python/shoal" / name).glob("*.py"))

# What may ask a layout: tables and plans, which decide, and never what makes the values.
DECIDES = {
    "layout.py": None,  # the table itself
    "context.attend_over": "one device of cp has all places",
    "context.queries_over": "which heads there are enough of",
    "ring.ring": "heads or sequences, fewer than devices, stay whole",
    "order.order_of": "one device has the order of the sequence",
    "stages.stages_of": "no devices and no schedule are no stages",
    "stages._over_stages": "sequences, or places where they are too few",
}  # fmt: skip


def functions(path):
    """(name, definition) of all functions of a file, those within others too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{path.stem}.{node.name}", node


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_functions_are_short(path):
    lengths = {name: node.end_lineno - node.lineno + 1 for name, node in functions(path)}
    assert not {name: lines for name, lines in lengths.items() if lines > LONGEST}


# What a layout says of devices; where it puts a value is no question.
ASKED = {"size", "axes", "groups", "mesh", "roles", "schedule", "cp_comm_type", "cp_balanced"}


def asks(node, known):
    """Whether an expression reads what a layout says, itself or by a name in `known`."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id in known:
            return True
        if isinstance(part, ast.Attribute) and part.attr in ASKED and "layout" in ast.unparse(part.value):
            return True
    return False


def learnt(function):
    """Names that are given what a layout says, directly or through other names."""
    known, before = set(), None
    while before != known:
        before = set(known)
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and asks(node.value, known):
                known |= {part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    return known


def branches(function):
    """The questions of a function: of if, while, match, and of `a if b else c`."""
    for node in ast.walk(function):
        if isinstance(node, ast.If | ast.While | ast.IfExp):
            yield node.test
        elif isinstance(node, ast.Match):
            yield node.subject
        elif isinstance(node, ast.comprehension):
            yield from node.ifs


def questions(path):
    """{function: lines} where one branches by what a layout says."""
    found = {}
    for name, node in functions(path):
        known = learnt(node)
        lines = [test.lineno for test in branches(node) if asks(test, known)]
        if lines:
            found[name] = lines
    return found


def test_no_function_asks_which_layout_it_has():
    found = {name: lines for path in FILES if path.name not in DECIDES for name, lines in questions(path).items()}
    assert set(found) == {name for name in DECIDES if not name.endswith(".py")}, found


def test_what_the_search_finds(tmp_path):
    """Each of these asks, one of them through two names; the last does not."""
    source = tmp_path / "module.py"
    source.write_text(
        "def direct(layout, x):\n    return x if layout.size('ep') > 1 else 0\n"
        "def through(layout, x):\n    e = layout.size('ep')\n    parts = e * 2\n    if parts > 2:\n        x = 0\n    return x\n"
        "def nested(self, x):\n    return [y for y in x if self.layout.mesh]\n"
        "def places(layout, x):\n    y = layout.constrain(x, 'ep')\n    return y if y.ndim == 3 else x\n"
    )
    assert set(questions(source)) == {"module.direct", "module.through", "module.nested"}


# How often tracing a layer called functions of frontend/constants.py from other modules before values passed it by.
ENTERED = {"sort": 337, "alltoall": 497, "allgather": 339, "einsum": 395}


@pytest.mark.parametrize("dispatcher", ENTERED)
def test_what_is_a_value_enters_no_constants(dispatcher):
    """Half as often at most."""
    layout, room = Layout.folded({"dp": 4}, {"ep": 4}), {"moe_expert_capacity_factor": 1.0} if dispatcher == "einsum" else {}
    config = MoeConfig.flat(
        8, 16, gated_linear_unit=True, hidden_act="silu", moe_aux_loss_coeff=0.01, moe_token_dispatcher_type=dispatcher, **room
    )  # fmt: skip
    stored, entered = param_shardings(config, layout), 0
    params = {name: shoal.TensorSpec(shape, "float32", stored[name]) for name, shape in param_shapes(config, 16).items()}
    given = shoal.TensorSpec((8, 8, 16), "float32", layout.P("outside")), params

    def count(frame, event, _):
        nonlocal entered
        to, back = (of.f_code.co_filename.endswith("frontend/constants.py") for of in (frame, frame.f_back or frame))
        entered += event == "call" and to and not back

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        shoal.trace(lambda x, params: moe(x, params, config, layout).y, given, layout.mesh)
    finally:
        sys.setprofile(before)
    assert 0 < entered <= ENTERED[dispatcher] / 2
