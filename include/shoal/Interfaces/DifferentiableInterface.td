// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_DIFFERENTIABLE_INTERFACE_TD
#define SHOAL_DIFFERENTIABLE_INTERFACE_TD

include "mlir/IR/Interfaces.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::shoal";
  let description = [{
    What reverse-mode differentiation knows of an op: its vector-Jacobian
    product, or why it has none. See `Vjp`.
  }];
  let methods = [
    InterfaceMethod<[{
        Adds to the cotangents of the operands that are wanted, by ops that have
        rules of their own. Called where a result has a cotangent and an operand
        is wanted; every rule is linear in the results' cotangents.
      }],
      "::llvm::LogicalResult", "buildVjp", (ins "::shoal::Vjp &":$vjp)>,
    InterfaceMethod<[{
        Why the results do not depend on the operands in a way that has a
        gradient, as of comparisons; empty where they do. Such an op ends a path
        in silence: its operands' cotangents are zero.
      }],
      "::llvm::StringRef", "getNoGradientReason", (ins), "", "return {};">
  ];
}

#endif // SHOAL_DIFFERENTIABLE_INTERFACE_TD
