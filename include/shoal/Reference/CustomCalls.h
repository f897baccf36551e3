// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The functions that custom_call names, for the interpreter.

#ifndef SHOAL_REFERENCE_CUSTOMCALLS_H
#define SHOAL_REFERENCE_CUSTOMCALLS_H

#include "mlir/IR/DialectInterface.h"
#include "mlir/Support/LLVM.h"
#include "shoal/Reference/ReferenceInterface.h"
#include "shoal/Runtime/CustomCall.h"
#include "llvm/Support/DynamicLibrary.h"

namespace shoal::reference {

/// Shared libraries of a context's ShoalDialect. registerReferenceModels adds
/// the interface; it begins without libraries.
class CustomCallLibraries
    : public mlir::DialectInterface::Base<CustomCallLibraries> {
public:
  explicit CustomCallLibraries(mlir::Dialect *dialect) : Base(dialect) {}

  /// Loads a library, for as long as the process lives. On failure `message`
  /// says why.
  mlir::LogicalResult load(llvm::StringRef path, std::string &message);

  /// The function of this name in the first library that has it; null where
  /// none has.
  shoal_custom_function find(llvm::StringRef target) const;

private:
  std::vector<llvm::sys::DynamicLibrary> libraries;
};

/// Calls `function` on the operands, as CustomCall.h says. Returns what it did
/// where that is not 0.
int callCustomFunction(
    llvm::function_ref<int(const shoal_custom_call *)> function,
    llvm::StringRef config, mlir::ArrayRef<Tensor> operands,
    mlir::ArrayRef<TensorType> types, Tensors &results);

} // namespace shoal::reference

#endif // SHOAL_REFERENCE_CUSTOMCALLS_H
