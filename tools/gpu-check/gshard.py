# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GShard's layer as programs; see layers.py."""

from dataclasses import asdict, dataclass

from texts import function, tensor


@dataclass(frozen=True)
class GShard:
    """Experts of two products, each with a capacity, as GShard's einsums have them."""

    groups: int
    tokens: int  # of a group
    model: int = 1024
    hidden: int = 8192
    experts: int = 8
    element: str = "bf16"

    kind = "gshard"
    parts = ("layer", "dispatch", "experts", "combine")

    @property
    def name(self):
        return f"gshard-{self.groups}x{self.tokens}"

    @property
    def capacity(self):
        return 2 * self.tokens // self.experts

    def expert_flops(self):
        return 2 * 2 * self.experts * self.groups * self.capacity * self.model * self.hidden

    def moved_bytes(self):
        """None: dispatch and combine are matrix products here."""
        return {}

    def sizes(self):
        return asdict(self) | {"capacity": self.capacity}

    def t(self, letters, element=None):
        sizes = {"G": self.groups, "S": self.tokens, "M": self.model, "H": self.hidden}
        sizes |= {"E": self.experts, "C": self.capacity}
        return tensor(element or self.element, *(sizes[letter] for letter in letters))

    def einsum(self, result, spec, *operands, element=None):
        terms, out = spec.split("->")
        types = ", ".join(self.t(term) for term in terms.split(","))
        names = ", ".join(f"%{operand}" for operand in operands)
        return f"""
  %{result} = shoal.einsum "{spec}" {names} : ({types}) -> {self.t(out, element)}"""

    def gate(self):
        gates, slots = self.t("GSE", "f32"), self.t("GSEC", "f32")
        return (
            self.einsum("logits", "GSM,ME->GSE", "x", "wg", element="f32")
            + f"""
  %gates = shoal.softmax %logits {{axis = 2}} : {gates}
  %combine_wide, %dispatch_wide, %aux = shoal.top_k_gating %gates {{k = 2, capacity = {self.capacity}}}
    : {gates} -> {slots}, {slots}, tensor<f32>
  %combine = NARROW %combine_wide : {slots} to {self.t("GSEC")}
  %dispatch = NARROW %dispatch_wide : {slots} to {self.t("GSEC")}"""
        )

    def dispatch_rows(self):
        return self.einsum("rows", "GSEC,GSM->EGCM", "dispatch", "x")

    def feed_forward(self):
        return (
            self.einsum("before", "EGCM,EMH->EGCH", "rows", "wi")
            + f"\n  %h = shoal.relu %before : {self.t('EGCH')}"
            + self.einsum("outputs", "EGCH,EHM->EGCM", "h", "wo")
        )

    def combine_rows(self):
        return self.einsum("y", "GSEC,EGCM->GSM", "combine", "outputs")

    def text(self, part):
        weights = {"wi": self.t("EMH"), "wo": self.t("EHM")}
        x, rows = {"x": self.t("GSM")}, {"rows": self.t("EGCM")}
        outputs = {"outputs": self.t("EGCM")}
        arguments, body, results = {
            "layer": (
                {**x, "wg": self.t("ME"), **weights},
                self.gate() + self.dispatch_rows() + self.feed_forward() + self.combine_rows(),
                {"y": self.t("GSM")},
            ),
            "dispatch": ({**x, "dispatch": self.t("GSEC")}, self.dispatch_rows(), rows),
            "experts": ({**rows, **weights}, self.feed_forward(), outputs),
            "combine": (
                {**outputs, "combine": self.t("GSEC")},
                self.combine_rows(),
                {"y": self.t("GSM")},
            ),
        }[part]
        return function(part, arguments, body, results, self.element)
