# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A backend of torch.compile. Skipped where torch is not installed."""

import pytest

torch = pytest.importorskip("torch")

from shoal_testing import ROOT  # noqa: E402

import shoal  # noqa: E402
import shoal.torch as st  # noqa: E402
from shoal import P  # noqa: E402


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.ModuleList([torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)])
        self.register_buffer("scale", torch.full((8,), 0.5))

    def forward(self, x, shift=None):
        y = self.layers[1](torch.relu(self.layers[0](x))) * self.scale
        return {"y": y if shift is None else y + shift, "sum": y.sum()}


@pytest.fixture(autouse=True)
def nothing_kept():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def test_values_on_four_devices():
    """Parameters by their names; those that torch writes to are brought again; another form is another program."""
    module, x = Mlp(), torch.randn(12, 8)
    params = {"layers.0.*": P("model"), "layers.1.weight": P(None, "model")}
    compiled = torch.compile(module, backend=st.backend(mesh=shoal.Mesh(data=2, model=2), params=params, inputs=P("data")), fullgraph=True)
    with torch.no_grad():
        for _ in range(2):
            result, expected = compiled(x), module(x)
            torch.testing.assert_close(result["y"], expected["y"], atol=2e-6, rtol=1e-5)
            torch.testing.assert_close(result["sum"], expected["sum"], atol=2e-5, rtol=1e-5)
            module.layers[0].weight.mul_(2)
        shifted = compiled(x, x)
        torch.testing.assert_close(shifted["y"], module(x, x)["y"], atol=2e-6, rtol=1e-5)


def test_by_name():
    """As the package's metadata has it, for torch to find."""
    assert 'shoal = "shoal.torch.dynamo:shoal"' in (ROOT / "pyproject.toml").read_text().partition("[project.entry-points.torch_dynamo_backends]\n")[2]
    from shoal.torch.dynamo import shoal as by_name

    module, x = Mlp(), torch.randn(3, 8)
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(module, backend=by_name, fullgraph=True)(x)["y"], module(x)["y"])


def test_gradients_and_breaks_are_refused():
    module, x = Mlp(), torch.randn(3, 8)
    with pytest.raises(Exception, match="backend: gradients are not supported; call the module within torch.no_grad"):
        torch.compile(module, backend=st.backend(), fullgraph=True)(x)
    torch._dynamo.reset()
    with torch.no_grad(), pytest.raises(Exception, match=r"backend: graphs that break are not supported; expected torch.compile\(..., fullgraph=True\)"):
        torch.compile(module, backend=st.backend())(x)
