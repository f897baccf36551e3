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
    StaticInterfaceMethod<[{
        Why the results do not depend on the operands in a way that has a
        gradient, as of comparisons; empty where they do. Such an op ends a path
        in silence: its operands' cotangents are zero.
      }],
      "::llvm::StringRef", "getNoGradientReason", (ins), "", "return {};">,
    StaticInterfaceMethod<[{
        Why there is no rule, so that a gradient through the op is an error;
        empty where there is one.
      }],
      "::llvm::StringRef", "getRefusal", (ins), "", "return {};">,
    StaticInterfaceMethod<[{
        Of which ops of the name the rule is, where not of all: of others
        `buildVjp` fails with an error.
      }],
      "::llvm::StringRef", "getDomain", (ins), "", "return {};">
  ];
}

#endif // SHOAL_DIFFERENTIABLE_INTERFACE_TD
