// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Addresses of memrefs, without the descriptors that memrefs become: of a
// descriptor's nine words and more a call wants one.

#ifndef SHOAL_LIB_CONVERSION_TOLLVM_ADDRESSES_H
#define SHOAL_LIB_CONVERSION_TOLLVM_ADDRESSES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace shoal {

/// Makes `!llvm.ptr`s of memrefs, each once, behind the op that makes the
/// memref. Those of a function's arguments are casts of them, which
/// --shoal-take-addresses resolves.
class Addresses {
public:
  /// From which places of elements count: what descriptors call the aligned
  /// pointer.
  mlir::Value ofBase(mlir::Value buffer);

  /// Of the first element.
  mlir::Value ofFirst(mlir::Value buffer);

private:
  mlir::Value makeBase(mlir::Value buffer);
  mlir::Value makeFirst(mlir::Value buffer);

  llvm::DenseMap<mlir::Value, mlir::Value> bases, firsts;
};

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_TOLLVM_ADDRESSES_H
