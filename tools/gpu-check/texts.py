# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs as text: the parts that all of the benchmark's have in common."""


def tensor(element, *shape):
    return f"tensor<{'x'.join(map(str, [*shape, element]))}>"


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
