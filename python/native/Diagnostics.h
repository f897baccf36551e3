// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the compiler says while it works, as plain values.

#ifndef SHOAL_PYTHON_NATIVE_DIAGNOSTICS_H
#define SHOAL_PYTHON_NATIVE_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include <string>
#include <vector>

namespace shoal::python {

struct Message {
  /// "error", "warning", "note" or "remark".
  std::string severity;
  /// "file:line:column" of the innermost place in a file; "" without one.
  std::string location;
  /// What that place is called, as JAX names its ops; "" without a name.
  std::string name;
  std::string text;
};

/// Collects what a context's diagnostics say, each with its notes behind it,
/// from its construction to its end. Nothing reaches stderr meanwhile.
class MessageCollector : mlir::ScopedDiagnosticHandler {
public:
  explicit MessageCollector(mlir::MLIRContext *context);

  const std::vector<Message> &messages() const { return collected; }

private:
  void add(const mlir::Diagnostic &diagnostic);

  std::vector<Message> collected;
};

} // namespace shoal::python

#endif // SHOAL_PYTHON_NATIVE_DIAGNOSTICS_H
