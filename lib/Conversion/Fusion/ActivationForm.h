// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Activation functions recognised in scalar code, however it is written.

#ifndef SHOAL_LIB_CONVERSION_FUSION_ACTIVATIONFORM_H
#define SHOAL_LIB_CONVERSION_FUSION_ACTIVATIONFORM_H

#include "mlir/IR/Value.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "llvm/ADT/DenseMap.h"
#include <array>
#include <optional>

namespace shoal {

/// Scalars of a block as functions of one of them, x, up to rounding:
/// p(x) + q(x) tanh(r(x)) with polynomials p, q and r, or max(x, 0). All ways
/// to write the gelu by tanh come to the same three polynomials.
class ActivationForms {
public:
  explicit ActivationForms(mlir::Value x) : x(x) {}

  /// The activation of x that `value` is.
  std::optional<rt::Activation> match(mlir::Value value);

private:
  static constexpr unsigned kTerms = 5;
  using Polynomial = std::array<double, kTerms>;
  /// Those without a tanh have no `inner`.
  struct Form {
    Polynomial plain{}, factor{};
    std::optional<Polynomial> inner;
  };

  static std::optional<Polynomial> multiply(const Polynomial &a,
                                            const Polynomial &b);
  static std::optional<Form> add(const Form &a, const Form &b, double sign);
  static std::optional<Form> multiply(const Form &a, const Form &b);
  std::optional<Form> formOf(mlir::Value value);
  std::optional<Form> derive(mlir::Value value);
  bool isRelu(mlir::Value value) const;
  bool isGelu(mlir::Value value);

  mlir::Value x;
  llvm::DenseMap<mlir::Value, std::optional<Form>> known;
};

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_FUSION_ACTIVATIONFORM_H
