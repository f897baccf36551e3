# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""utils/select-tests.py: what a change can reach, in this tree and in a small one."""

import re
import subprocess

import pytest
from paths import ROOT
from scripts import load_script

SCRIPT = ROOT / "utils/select-tests.py"
T = "test/python"


@pytest.fixture(scope="module")
def script():
    module = load_script(SCRIPT)
    if not module.files():
        pytest.skip("files are those that git knows")
    return module


def stages(script, *changed):
    return dict(line.split(": ", 1) for line in script.lines_of(script.select(changed)))


def python_of(script, *changed):
    selection = script.select(changed)
    return selection.python


# This tree


def test_a_page_is_read_by_the_tests_that_name_it(script):
    page = next(path for path in sorted(script.files()) if path.endswith("/JAX.md"))
    found = stages(script, page)
    assert found.keys() == {"build", "format", "lit", "python"} and found["lit"] == "test/Docs"
    assert f"{T}/docs/test_jax_import_docs.py" in found["python"]
    assert len(found["python"].split()) < 10


def test_a_module_of_the_library_reaches_those_who_import_it(script):
    found = python_of(script, "python/shoal/moe/routing.py")
    for folder in ("moe", "models", "package"):
        assert set(script.tests_below(f"{T}/{folder}")) <= found
    assert {f"{T}/train/test_train_moe.py", f"{T}/examples/test_example.py"} <= found
    loads_models = {f"{T}/checkpoints/test_checkpoint_matching.py"}
    others = {path for path in found if path.split("/")[2] in ("checkpoints", "devices", "calls", "data")}
    assert others == loads_models
    assert len(found) < 90
    kinds = {"build", "format", "lit", "package", "python", "alone"}
    assert stages(script, "python/shoal/moe/routing.py").keys() == kinds


def test_what_all_stand_on_reaches_all(script):
    found = python_of(script, "python/shoal/errors.py")
    for folder in ("frontend", "jax", "moe", "models", "optim", "train", "devices", "executable", "checkpoints"):
        named = {test for test in script.tests_below(f"{T}/{folder}") if "import shoal" in (ROOT / test).read_text()}
        assert named <= found


def test_a_pass_reaches_the_parts_behind_it(script):
    found = stages(script, "lib/Transforms/Partition/NewPass.cpp")
    assert found.keys() == {"build", "ctest", "format", "includes", "lit", "python", "tidy"}
    lit = found["lit"].split()
    assert {"test/Transforms", "test/Conversion", "test/Execution", "test/Fuzz"} <= set(lit)
    assert not {"test/Dialect", "test/Reference"} & set(lit)
    python = found["python"].split()
    assert set(script.tests_below(f"{T}/compiler")) | set(script.WAYS_IN) <= set(python)


def test_what_builds_a_part_reaches_what_it_does(script):
    one, other = (stages(script, f"lib/Transforms/Sparse/{name}") for name in ("CMakeLists.txt", "NewPass.cpp"))
    assert one == other


def test_the_runtime_has_tests_of_its_own(script):
    for path in ("lib/Runtime/Job/RankWatch.cpp", "lib/Calls/Calls.cpp", "include/shoal/Runtime/CustomCall.h"):
        found = stages(script, path)
        assert f"{T}/devices/test_pool.py" in found["python"] and f"{T}/executable/test_faults.py" in found["python"]
        assert f"{T}/devices/test_pool_failures.py" in found["alone"] and "cuda" in found


def test_each_part_of_cpp_reaches_what_exists(script):
    parts = [*script.INCLUDES.ORDER, *script.INCLUDES.APART]
    for part in parts:
        folder = "include/shoal" if part == "." else f"lib/{part}"
        selection = script.Selection()
        assert script.select_cpp(f"{folder}/File.h", selection)
        assert script.part_of(f"{folder}/File.h") == part
        assert all(script.has_lit(folder) for folder in selection.lit) and selection.ctest
    assert all(script.tests_of(f"{T}/{name}") for names in script.ABOUT.values() for name in names)
    assert set(script.WAYS_IN) <= script.files()
    assert all(f"test/{name}" in script.folders() for name in script.THROUGH_ALL)
    # A folder of tests that mirrors no part is one whose programs go through all of them.
    tops = {path.split("/")[1] for path in script.lit_files() if path.count("/") > 1}
    by_hand = {"python", "benchmarks", "conformance", "real-models"}
    assert tops - by_hand <= {*parts, *script.THROUGH_ALL}


@pytest.mark.parametrize(
    "path",
    [
        "CMakeLists.txt", "lib/CMakeLists.txt", "python/native/CMakeLists.txt", "cmake/Shoal.cmake", "utils/env.sh",
        "pyproject.toml", ".ci/run", "lib/NewPart/File.cpp", "include/shoal/NewPart/File.h",
        "include/shoal/CMakeLists.txt", "include/CMakeLists.txt",
        "test/lit.cfg.py", "test/python/conftest.py", "test/python/support/paths.py", "test/python/support/gone.py",
        "new-folder/file", "python/shoal_reference/gone/x.txt",
    ],
)  # fmt: skip
def test_what_is_not_understood_selects_everything(script, path):
    found = dict(line.split(": ", 1) for line in script.lines_of(script.select([path, "docs/guide/JAX.md"])))
    assert found == dict(line.split(": ", 1) for line in script.lines_of(script.EVERYTHING))
    assert found["python"] == T and found["lit"] == "test" and len(found) == 10


def test_tests_reach_themselves_and_helpers_their_users(script):
    for test in script.tests_below(T):
        assert test in python_of(script, test)
    users = {
        test
        for test in script.tests_below(T)
        if re.search(r"^(from|import) moe_oracle\b", (ROOT / test).read_text(), re.MULTILINE)
    }
    assert users and users <= python_of(script, f"{T}/support/moe_oracle.py")
    # Scripts that processes run, files that tests read.
    assert f"{T}/train/test_train.py" in python_of(script, f"{T}/support/train_ranks.py")
    assert f"{T}/train/test_train.py" in python_of(script, f"{T}/support/train_programs.py")
    data = next(path for path in script.folders()[f"{T}/models"] if path.endswith("mixtral.npz"))
    assert {f"{T}/models/test_models.py", f"{T}/models/test_context_layouts.py"} <= python_of(script, data)


def test_every_helper_is_reached(script):
    """One that no test is known to use would select everything, each time."""
    helpers = [path for path in script.folders()[script.SUPPORT] if path not in script.SETUP]
    unknown = [path for path in helpers if not script.reaching(path) and not script.lit_naming(path)]
    assert not unknown


def test_every_module_of_the_package_is_reached(script):
    for path in script.folders()[script.PACKAGE]:
        assert script.reaching(path) - set(script.tests_below(f"{T}/package")), path


def test_lit_tests_and_what_they_name(script):
    test = "test/Execution/control-flow.mlir"
    assert stages(script, test)["lit"] == test
    assert f"{T}/compiler/execution/test_control_flow.py" in python_of(script, test)
    assert stages(script, "test/Tools/Inputs/nested.py")["lit"] == "test/Tools"
    assert stages(script, f"{script.PACKAGE}/mesh.py")["lit"] == "test/Docs"  # the pages of its docstrings
    assert "test/Report/data.mlir" in stages(script, f"{T}/support/report_page.py")["lit"]
    found = stages(script, "test/Unit/Sharding/MeshTest.cpp")
    assert "ctest" in found and "lit" not in found and f"{T}/compiler" not in found.get("python", "")


def test_what_is_run_by_hand_reaches_the_tests_that_name_it(script):
    assert f"{T}/jax/test_jax_conformance.py" in python_of(script, "test/conformance/examine.py")
    assert f"{T}/tools/test_gpu_check.py" in python_of(script, "tools/gpu-check/cases.py")
    assert "test/Layouts/assignment-table.test" in stages(script, "test/benchmarks/assignment_table.py")["lit"]


# A small tree

TREE = {
    "python/shoal/__init__.py": "from shoal import moe, train\nfrom shoal.frontend.ops import *\n",
    "python/shoal/__main__.py": "from shoal import tools\n",
    "python/shoal/tools.py": "",
    "python/shoal/frontend/__init__.py": "",
    "python/shoal/frontend/ops.py": '__all__ = ["add"]\n',
    "python/shoal/frontend/inner.py": "",
    "python/shoal/moe/__init__.py": "from shoal.moe.routing import route\n",
    "python/shoal/moe/routing.py": "from shoal.frontend.inner import x\n",
    "python/shoal/train/__init__.py": "",
    "python/shoal/train/page.html": "",
    "docs/Page.md": "",
    "docs/Code.md": "```python\nimport shoal\n```\n",
    "examples/small/model.py": "from shoal import moe\n",
    f"{T}/conftest.py": "",
    f"{T}/support/paths.py": 'ROOT = 1\nPYTHON = ROOT / "python"\n',
    f"{T}/support/helper.py": "import shoal\n\ndef call(case):\n    return case(shoal)\n",
    f"{T}/support/ranks.py": "import shoal.train\n",
    f"{T}/a/test_add.py": "import shoal\nshoal.add(1)\n",
    f"{T}/a/test_moe.py": "import shoal\nshoal.moe.route(1)\n",
    f"{T}/a/test_dynamic.py": "from helper import call\ncall(lambda xp: xp.moe.route(1))\n",
    f"{T}/a/test_helper.py": "from helper import call\ncall(lambda xp: xp.add(1))\n",
    f"{T}/a/test_ranks.py": 'import paths\nrun(paths.SUPPORT / "ranks.py")\n',
    f"{T}/a/test_code.py": 'SCRIPT = """\nimport os, shoal\nshoal.train.fit()\n"""\n',
    f"{T}/a/test_broken_code.py": 'SCRIPT = """\nimport shoal\nshoal.(\n"""\n',
    f"{T}/a/test_formatted.py": 'SCRIPT = f"""\nimport shoal\nshoal.train.fit({1 + 1})\n"""\n',
    f"{T}/a/test_main.py": 'run(["python", "-m", "shoal"])\n',
    f"{T}/a/test_pages.py": 'from paths import ROOT\nPAGE = ROOT / "docs" / "Page.md"\n',
    f"{T}/a/test_all_pages.py": 'from paths import ROOT\nPAGES = (ROOT / "docs").glob("*.md")\n',
    f"{T}/a/test_example.py": 'from paths import ROOT\nrun(f"{ROOT}/examples/small/model.py")\n',
    f"{T}/a/test_comments.py": '"""Beside docs/Page.md and python/shoal/moe."""\n',
    f"{T}/a/test_lines.py": '"""Counts."""\nimport pytest\npytestmark = pytest.mark.alone\n',
}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tree")
    for name, text in TREE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    subprocess.run(["git", "init", "-q", folder], check=True)
    module = load_script(SCRIPT)
    module.ROOT = folder
    return module


ALL_OF_IT = {"broken_code", "all_pages"}  # all_pages: of Code.md


@pytest.mark.parametrize(
    "changed, tests",
    [
        ("python/shoal/frontend/ops.py", {"add", "dynamic", "helper"}),
        ("python/shoal/moe/routing.py", {"moe", "dynamic", "example"}),
        ("python/shoal/frontend/inner.py", {"moe", "dynamic", "example"}),
        ("python/shoal/train/__init__.py", {"ranks", "code", "formatted"}),
        ("python/shoal/train/page.html", {"ranks", "code", "formatted"}),
        ("python/shoal/train/gone.py", {"ranks", "code", "formatted"}),
        ("python/shoal/__main__.py", {"main"}),
        ("python/shoal/tools.py", {"main"}),
    ],
)
def test_modules(small, changed, tests):
    assert python_of(small, changed) == {f"{T}/a/test_{name}.py" for name in tests | ALL_OF_IT}


@pytest.mark.parametrize(
    "changed, tests",
    [
        ("docs/Page.md", {"pages", "all_pages"}),
        ("docs/Code.md", {"all_pages"}),
        ("examples/small/model.py", {"example"}),
        (f"{T}/support/helper.py", {"dynamic", "helper"}),
        (f"{T}/support/ranks.py", {"ranks"}),
        (f"{T}/a/test_add.py", {"add"}),
        (f"{T}/a/test_gone.py", set()),
    ],
)
def test_files(small, changed, tests):
    assert python_of(small, changed) == {f"{T}/a/test_{name}.py" for name in tests}


def test_what_is_gone_may_be_named_by_a_page(small):
    assert small.select([f"{T}/a/test_gone.py"]).lit == {"test/Docs"}


def test_tests_that_run_alone(small):
    found = stages(small, f"{T}/a/test_lines.py", f"{T}/a/test_add.py")
    assert found["python"] == f"{T}/a/test_add.py" and found["alone"] == f"{T}/a/test_lines.py"


# Where a change begins


def commit(folder, message):
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "-C", folder, "add", "-A"], check=True)
    subprocess.run(["git", "-C", folder, *who, "commit", "-q", "--allow-empty", "-m", message], check=True)
    made = subprocess.run(["git", "-C", folder, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    return made.stdout.strip()


def test_the_base_and_what_differs_from_it(tmp_path):
    module, folder, tested = load_script(SCRIPT), tmp_path / "tree", tmp_path / "tested"
    module.ROOT = folder
    (folder / "a").mkdir(parents=True)
    (folder / "a/one").write_text("1")
    subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True)
    first, second = commit(folder, "one"), commit(folder, "two")
    assert module.default_base(tested) == "HEAD~1"
    subprocess.run(["git", "-C", folder, "checkout", "-q", "-b", "work"], check=True)
    (folder / "a/two").write_text("2")
    commit(folder, "three")
    assert module.default_base(tested) == second and module.changed_since(second) == ["a/two"]
    tested.write_text(f"{first}\n")
    assert module.default_base(tested) == first
    tested.write_text("0" * 40)  # of another repository
    assert module.default_base(tested) == second and module.changed_since("0" * 40) is None
    (folder / "a/one").rename(folder / "a/moved")
    (folder / "a/two").write_text("3")
    assert module.changed_since(second) == ["a/moved", "a/one", "a/two"]
