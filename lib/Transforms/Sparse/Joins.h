// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Forms of what loops carry and choices yield: L14.
//
// The values of a join (PartitionInterfaces.h) have a form if all its sources
// have, of the same dimensions. What all sources agree on is a part of it as it
// is: a mask that a loop carries around unchanged has the places that it had
// before. What they do not agree on, a place or a value, is carried instead of
// the tensor: until somebody asks for it, a *stand-in* is its tensor.

#ifndef SHOAL_LIB_TRANSFORMS_SPARSE_JOINS_H
#define SHOAL_LIB_TRANSFORMS_SPARSE_JOINS_H

#include "Terms.h"

namespace shoal::sparse {

/// A place or a value of an exception that differs from source to source.
struct CarriedTerm {
  /// For each source of the join what it is there, by the joined tensors'
  /// indices.
  TermList sources;
  /// For each value of the join a tensor over `dims`, which is no value of the
  /// program before the join carries it.
  llvm::SmallVector<mlir::Value, 3> standIns;
  TermList dims;
};

/// A join whose values have a form.
struct JoinedForm {
  /// By the number of the join among those of its op.
  unsigned join;
  llvm::SmallVector<CarriedTerm, 2> carried;
};

/// Finds the forms of all tensors in the block, in order, and what is in
/// regions.
void analyze(mlir::Block &block, Forms &forms);

} // namespace shoal::sparse

#endif // SHOAL_LIB_TRANSFORMS_SPARSE_JOINS_H
