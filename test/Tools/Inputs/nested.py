# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a program of so many loops in each other, in the generic form."""

import sys

depth = int(sys.argv[1])
type_ = "tensor<f32>"
print(f"func.func @f(%x0: {type_}) -> {type_} {{")
for level in range(depth):
    print(
        f'%y{level} = "shoal.while"(%x{level}) ({{ ^bb0(%c{level}: {type_}): '
        f"%no{level} = arith.constant dense<false> : tensor<i1> "
        f'"shoal.yield"(%no{level}) : (tensor<i1>) -> () }}, {{ ^bb0(%x{level + 1}: {type_}):'
    )
print(f"%y{depth} = arith.addf %x{depth}, %x{depth} : {type_}")
for level in reversed(range(depth)):
    print(f'"shoal.yield"(%y{level + 1}) : ({type_}) -> () }}) : ({type_}) -> {type_}')
print(f"return %y0 : {type_} }}")
