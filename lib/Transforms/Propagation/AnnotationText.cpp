// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AnnotationText.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace shoal;

bool shoal::isWritten(const AssignmentProblem &problem, unsigned op) {
  const AssignmentProblem::Op &own = problem.ops[op];
  return own.constraint && !own.boundary && !own.constraint->isHint;
}

bool shoal::isAnnotation(const AssignmentProblem &problem, unsigned op) {
  return isWritten(problem, op) && !problem.ops[op].results.empty();
}

std::string shoal::textOf(const ExtractedProblem &extracted,
                          const Sharding &sharding, unsigned deviceOrder,
                          unsigned value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << extracted.toAttr(sharding, deviceOrder, value);
  llvm::StringRef body(text);
  body.consume_front("#shoal.sharding");
  return body.str();
}

Sharding shoal::shardingOf(const ShardingConstraint &constraint) {
  Sharding sharding;
  for (const DimConstraint &dim : constraint.dims)
    sharding.dims.push_back(dim.axes);
  sharding.partial = constraint.partial;
  return sharding;
}

std::string shoal::describeAnnotation(const ExtractedProblem &extracted,
                                      unsigned op) {
  const AssignmentProblem::Op &own = extracted.problem.ops[op];
  return textOf(extracted, shardingOf(*own.constraint), own.deviceOrder,
                own.results.empty() ? own.operands[0] : own.results[0]) +
         " of " + extracted.describe(op);
}

std::string shoal::nameOfAnnotation(const ExtractedProblem &extracted,
                                    unsigned op) {
  std::string text = describeAnnotation(extracted, op);
  return "annotation " + llvm::StringRef(text).split(" at ").first.str();
}

std::string shoal::describeCost(double bytes, const AssignmentCost &cost,
                                const AssignmentCost &whole,
                                const AssignmentOptions &options) {
  std::string text = llvm::formatv("{0:N}", int64_t(bytes));
  if (options.cluster)
    text += llvm::formatv(", in {0:F1} us", cost.total() / 1e3);
  return llvm::formatv("{0}, at {1:P0} of the plan's {2}", text,
                       cost.total() / whole.total(),
                       options.cluster ? "time" : "price");
}
