# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixtral's layer as programs; see layers.py."""

from dataclasses import asdict, dataclass

from texts import function, tensor


@dataclass(frozen=True)
class Mixtral:
    """Experts with gated hidden layers, two of them for each token, none dropped."""

    tokens: int
    model: int = 4096
    hidden: int = 14336
    experts: int = 8
    element: str = "bf16"

    kind = "mixtral"
    parts = ("layer", "gate", "dispatch", "experts", "combine")

    @property
    def name(self):
        return f"mixtral-{self.tokens}"

    def expert_flops(self):
        return 2 * 2 * self.tokens * self.model * self.hidden * 3

    def moved_bytes(self):
        """Read and written by dispatch and by combine, which reads two rows a token."""
        row = self.model * (2 if self.element == "bf16" else 4)
        return {"dispatch": 4 * self.tokens * row, "combine": 3 * self.tokens * row}

    def sizes(self):
        return asdict(self)

    # Types by letters: T tokens, R rows (two a token), M, H, E.
    def t(self, letters, element=None):
        sizes = {"T": self.tokens, "R": 2 * self.tokens, "M": self.model}
        sizes |= {"H": self.hidden, "E": self.experts, "K": 2}
        return tensor(element or self.element, *(sizes[letter] for letter in letters))

    def gate(self):
        rows, counts = self.t("R", "i32"), self.t("E", "i32")
        mask, wide = self.t("RE", "i1"), self.t("RE", "i32")
        return f"""
  %logits = shoal.einsum "TM,ME->TE" %x, %wg : ({self.t("TM")}, {self.t("ME")}) -> {self.t("TE", "f32")}
  %best, %chosen = shoal.top_k %logits {{k = 2}} : {self.t("TE", "f32")} -> {self.t("TK", "f32")}, {self.t("TK", "i32")}
  %weights = shoal.softmax %best {{axis = 1}} : {self.t("TK", "f32")}
  %expert = shoal.reshape %chosen : {self.t("TK", "i32")} -> {rows}
  %places = shoal.iota dim = 0 : {rows}
  %by_expert, %order = shoal.sort %expert, %places dim = 0 {{num_keys = 1}} : ({rows}, {rows}) -> ({rows}, {rows})
  %by_place, %inverse = shoal.sort %order, %places dim = 0 {{num_keys = 1}} : ({rows}, {rows}) -> ({rows}, {rows})
  %all = shoal.broadcast_in_dim %expert dims = [0] : {rows} -> {wide}
  %each = shoal.iota dim = 1 : {wide}
  %is = arith.cmpi eq, %all, %each : {wide}
  %one = arith.extui %is : {mask} to {wide}
  %sizes = shoal.reduce sum %one dims = [0] : {wide} -> {counts}
  %ends = shoal.cumulative sum %sizes dim = 0 : {counts}
  %begins = arith.subi %ends, %sizes : {counts}"""

    def scattered(self, name):
        """A permutation of the rows, whose number is a power of two: the factor is odd."""
        rows = self.t("R", "i32")
        return f"""
  %numbers = shoal.iota dim = 0 : {rows}
  %factor = arith.constant dense<40503> : {rows}
  %product = arith.muli %numbers, %factor : {rows}
  %last = arith.constant dense<{2 * self.tokens - 1}> : {rows}
  %{name} = arith.andi %product, %last : {rows}"""

    def balanced(self):
        counts = self.t("E", "i32")
        share = 2 * self.tokens // self.experts
        return f"""
  %group = shoal.iota dim = 0 : {counts}
  %sizes = arith.constant dense<{share}> : {counts}
  %begins = arith.muli %group, %sizes : {counts}
  %ends = arith.addi %begins, %sizes : {counts}"""

    def dispatch(self):
        rows = self.t("R", "i32")
        return f"""
  %two = arith.constant dense<2> : {rows}
  %token = arith.divsi %order, %two : {rows}
  %rows = shoal.gather %x, %token offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0]
          index_vector_dim = 1 slice_sizes = [1, {self.model}] : ({self.t("TM")}, {rows}) -> {self.t("RM")}"""

    def ragged(self, result, spec, left, right):
        terms, out = spec.split("->")
        a, b, _ = terms.split(",")
        types = ", ".join([self.t(a), self.t(b), self.t("E", "i32"), self.t("E", "i32")])
        return f"""
  %{result} = shoal.ragged_einsum "{spec}" rows "R" %{left}, %{right} groups %begins, %ends
    : ({types}) -> {self.t(out)}"""

    def feed_forward(self):
        hidden = self.t("RH")
        return (
            self.ragged("h1", "RM,EMH,E->RH", "rows", "w1")
            + self.ragged("h3", "RM,EMH,E->RH", "rows", "w3")
            + f"\n  %act = shoal.silu %h1 : {hidden}\n  %h = arith.mulf %act, %h3 : {hidden}"
            + self.ragged("outputs", "RH,EHM,E->RM", "h", "w2")
        )

    def combine(self):
        narrow, pairs = self.t("TK"), self.t("TKM")
        wide = self.t("TKM", "f32")
        return f"""
  %back = shoal.gather %outputs, %inverse offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0]
          index_vector_dim = 1 slice_sizes = [1, {self.model}] : ({self.t("RM")}, {self.t("R", "i32")}) -> {self.t("RM")}
  %pairs = shoal.reshape %back : {self.t("RM")} -> {pairs}
  %each_weight = shoal.broadcast_in_dim %weights dims = [0, 1] : {self.t("TK", "f32")} -> {wide}
  %wide = CONVERT %pairs : {pairs} to {wide}
  %weighted = arith.mulf %wide, %each_weight : {wide}
  %sum = shoal.reduce sum %weighted dims = [1] : {wide} -> {self.t("TM", "f32")}
  %y = NARROW %sum : {self.t("TM", "f32")} to {self.t("TM")}"""

    def arguments(self, part):
        weights = {"w1": "EMH", "w3": "EMH", "w2": "EHM"}
        return {
            "layer": {"x": "TM", "wg": "ME", **weights},
            "gate": {"x": "TM", "wg": "ME"},
            "dispatch": {"x": "TM"},
            "experts": {"rows": "RM", **weights},
            "combine": {"outputs": "RM", "weights": "TK"},
        }[part]

    def text(self, part):
        body, results = {
            "layer": (
                self.gate() + self.dispatch() + self.feed_forward() + self.combine(),
                {"y": self.t("TM")},
            ),
            "gate": (
                self.gate(),
                {
                    "weights": self.t("TK", "f32"),
                    "order": self.t("R", "i32"),
                    "inverse": self.t("R", "i32"),
                    "begins": self.t("E", "i32"),
                    "ends": self.t("E", "i32"),
                },
            ),
            "dispatch": (self.scattered("order") + self.dispatch(), {"rows": self.t("RM")}),
            "experts": (self.balanced() + self.feed_forward(), {"outputs": self.t("RM")}),
            "combine": (self.scattered("inverse") + self.combine(), {"y": self.t("TM")}),
        }[part]
        elements = {"weights": "f32"}
        arguments = {
            name: self.t(letters, elements.get(name)) for name, letters in self.arguments(part).items()
        }
        return function(part, arguments, body, results, self.element)
