// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How near a program's shardings are to the cheapest ones.

#ifndef SHOAL_DIALECT_SHOAL_IR_CERTIFICATE_H
#define SHOAL_DIALECT_SHOAL_IR_CERTIFICATE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace shoal {

/// On a function: its certificate, {cost = .. : f64, in_time, lower_bound =
/// .. : f64}.
inline constexpr llvm::StringLiteral kCertificateAttr = "shoal.certificate";

/// What shardings cost and no others cost less than, in the model by which they
/// were chosen: bytes of a device, with operations in bytes, or nanoseconds.
struct Certificate {
  double cost = 0, lowerBound = 0;
  bool inTime = false;

  /// By how much of the bound the cost is above it; 0 where rounding is.
  double gap() const;
  /// "cost 3,817,743 bytes with operations, and none cost less".
  std::string text() const;
  mlir::DictionaryAttr toAttr(mlir::MLIRContext *context) const;
  /// Nothing where the attribute is no certificate.
  static std::optional<Certificate> fromAttr(mlir::Attribute attr);
};

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_CERTIFICATE_H
