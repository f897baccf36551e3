# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark's programs as text: MoE layers on one device, and their parts.

A part has routing of its own, balanced and scattered, so that it needs no other
part and all its inputs may be random. Names of functions are the parts' names.
"""

from dataclasses import asdict, dataclass


def tensor(element, *shape):
    return f"tensor<{'x'.join(map(str, [*shape, element]))}>"


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


def function(name, arguments, body, results, element):
    """The text of a program; f32 needs no conversions."""
    lines = body.splitlines()
    if element == "f32":
        renamed = {}
        kept = []
        for line in lines:
            words = line.split()
            if len(words) > 3 and words[2] in ("CONVERT", "NARROW"):
                renamed[words[0]] = renamed.get(words[3], words[3])
            else:
                kept.append(line)
        lines = [replace_names(line, renamed) for line in kept]
        results = {replace_names(f"%{key}", renamed)[1:]: type for key, type in results.items()}
    body = "\n".join(lines).replace("CONVERT", "arith.extf").replace("NARROW", "arith.truncf")
    given = ", ".join(f'%{key}: {type} {{shoal.name = "{key}"}}' for key, type in arguments.items())
    named = ", ".join(f'{type} {{shoal.name = "result{i}"}}' for i, type in enumerate(results.values()))
    values = ", ".join(f"%{key}" for key in results)
    types = ", ".join(results.values())
    return f"func.func @{name}({given})\n    -> ({named}) {{{body}\n  return {values} : {types}\n}}\n"


def replace_names(line, renamed):
    words = []
    for word in line.split(" "):
        bare = word.rstrip(",")
        words.append(renamed.get(bare, bare) + word[len(bare) :])
    return " ".join(words)


def product_text(size, element="bf16"):
    square = tensor(element, size, size)
    body = f'\n  %y = shoal.einsum "MK,KN->MN" %a, %b : ({square}, {square}) -> {square}'
    return function("product", {"a": square, "b": square}, body, {"y": square}, element)


def scaled_product_text(size):
    """Of 8 bits, with a scale for each operand."""
    square, result = tensor("f8E4M3FN", size, size), tensor("f32", size, size)
    body = f"""
  %sum = shoal.einsum "MK,NK->MN" %a, %b : ({square}, {square}) -> {result}
  %s = arith.mulf %sa, %sb : tensor<f32>
  %all = shoal.broadcast_in_dim %s dims = [] : tensor<f32> -> {result}
  %y = arith.mulf %sum, %all : {result}"""
    arguments = {"a": square, "b": square, "sa": "tensor<f32>", "sb": "tensor<f32>"}
    return function("product", arguments, body, {"y": result}, "f8E4M3FN")


def copy_text(elements):
    """The result is an input: the program copies it on the device."""
    line = tensor("f32", elements)
    return function("copy", {"a": line}, "", {"a": line}, "f32")


def programs(tiny=False):
    """{file: (text, record)} in the order in which they are worth running."""
    layers = [Mixtral(4096), GShard(8, 2048), Mixtral(32768), Mixtral(16384), Mixtral(8192), GShard(32, 1024)]
    square, line = 8192, 1 << 28
    if tiny:
        layers = [Mixtral(16, 32, 48, 4), GShard(2, 16, 32, 48, 4)]
        square, line = 64, 1 << 12
    listed = {
        "product": (product_text(square), {"part": "product", "size": square, "flops": 2 * square**3}),
        "product_f8": (scaled_product_text(square), {"part": "product_f8", "size": square, "flops": 2 * square**3}),
        "copy": (copy_text(line), {"part": "copy", "bytes": 2 * 4 * line}),
    }
    for layer in layers:
        for part in layer.parts:
            record = {"part": part, "layer": layer.name, "kind": layer.kind, "sizes": layer.sizes()}
            if part == "experts":
                record["flops"] = layer.expert_flops()
            if part in layer.moved_bytes():
                record["bytes"] = layer.moved_bytes()[part]
            listed[f"{layer.name}-{part}"] = (layer.text(part), record)
    return listed
