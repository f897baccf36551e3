// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SentFacts.h"
#include "Copies.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;

/// Of the bytes of two that send as much.
static constexpr double kSame = 1e-6;

ProgramNumbers::ProgramNumbers(func::FuncOp function) {
  auto add = [&](ValueRange list) {
    for (Value value : list) {
      ids[value] = places[value] = values.size();
      values.push_back(value);
    }
  };
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    opIds[op] = ops.size();
    ops.push_back(op);
    add(op->getResults());
    if (auto annotation = dyn_cast<ShardingConstraintOp>(op))
      ids[annotation.getResult()] = numberOf(annotation.getInput());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        add(block.getArguments());
  });
}

ProblemNumbers::ProblemNumbers(const ExtractedProblem &extracted,
                               const ProgramNumbers &program,
                               const Copies &copies) {
  for (Value value : extracted.values) {
    if (auto result = dyn_cast<OpResult>(value))
      value = copies.sourceOf(result.getOwner())
                  ->getResult(result.getResultNumber());
    values.push_back(program.numberOf(value));
  }
  for (auto [origin, op] :
       llvm::zip_equal(extracted.ops, extracted.problem.ops)) {
    bool isOwn = origin.op && !origin.isResult && !op.constraint;
    ops.push_back(
        isOwn ? std::optional(program.numberOf(copies.sourceOf(origin.op)))
              : std::nullopt);
  }
}

size_t SentFacts::countAlike(double other) const {
  return llvm::count_if(bytes, [&](double own) {
    return std::abs(own - other) <= kSame * other;
  });
}

SentFacts shoal::listSent(const AssignmentProblem &problem,
                          const Assignment &plan,
                          const ProblemNumbers &numbers) {
  SentFacts facts;
  auto add = [&](double bytes) {
    facts.bytes.push_back(bytes);
    facts.total += bytes;
  };
  for (auto [own, versions, number] :
       llvm::zip_equal(problem.values, plan.values, numbers.values))
    for (const ValueVersion &version : versions)
      if (version.bytes > 0) {
        facts.reshards.emplace(number,
                               toString(version.sharding, problem.mesh));
        add(version.bytes * own.weight);
      }
  for (auto [bytes, number] : llvm::zip_equal(plan.exchanges, numbers.ops))
    if (bytes > 0) {
      if (number)
        facts.exchanges.insert(*number);
      add(bytes);
    }
  return facts;
}

double shoal::countSent(const AssignmentProblem &problem,
                        const Assignment &plan) {
  double sent = 0;
  for (auto [value, versions] : llvm::zip_equal(problem.values, plan.values))
    for (const ValueVersion &version : versions)
      sent += version.bytes * value.weight;
  for (double bytes : plan.exchanges)
    sent += bytes;
  return sent;
}
