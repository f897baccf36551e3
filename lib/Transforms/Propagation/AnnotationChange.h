// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A program with one annotation more, or less: as a problem, and as a program.

#ifndef SHOAL_LIB_TRANSFORMS_PROPAGATION_ANNOTATIONCHANGE_H
#define SHOAL_LIB_TRANSFORMS_PROPAGATION_ANNOTATIONCHANGE_H

#include "SentFacts.h"
#include "mlir/IR/OwningOpRef.h"

namespace shoal {

/// An annotation of the program that is left out, or else a new one of a value.
struct AnnotationChange {
  /// The op of the problem that is freed.
  std::optional<unsigned> freed;
  unsigned value = 0;
  Sharding sharding = {};

  bool operator==(const AnnotationChange &) const = default;
};

/// Whether a new annotation can be written of it, and messages can say of what:
/// of an argument or an op's result, in no region for one device.
bool canAnnotate(const ExtractedProblem &extracted, unsigned value);

/// `with <@mesh, [{"x"}, {}]> on math.exp at moe.mlir:12:8`, or `without` it.
std::string describeChange(const ExtractedProblem &extracted,
                           const AnnotationChange &change);

/// A problem that was changed, and where it began with.
struct ChangedProblem {
  AssignmentProblem problem;
  /// Of each op how it was split in the plan without the change.
  std::vector<FactorSharding> start;
  /// The op whose annotation was left out, or that was added.
  unsigned op = 0;
};

/// All that reads an annotated value reads what the new annotation makes of it,
/// the last of the problem's values.
ChangedProblem changeProblem(const ExtractedProblem &extracted,
                             const Assignment &assignment,
                             const AnnotationChange &change);

/// A copy of a program with a change.
struct ChangedProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  /// As those of the program without the change.
  ProgramNumbers numbers;
};

/// `imported`: the module of the problem's function as it was when `numbers`
/// were given, before there were copies of its ops.
ChangedProgram changeProgram(mlir::ModuleOp imported,
                             const ExtractedProblem &extracted,
                             const ProgramNumbers &numbers,
                             const Copies &copies,
                             const AnnotationChange &change);

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_PROPAGATION_ANNOTATIONCHANGE_H
