// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Extract.h"
#include "shoal/Dialect/Shoal/IR/ContractionOps.h"
#include "shoal/Dialect/Shoal/IR/NamePath.h"
#include "shoal/Dialect/Shoal/IR/SignatureNames.h"
#include "shoal/Dialect/Shoal/IR/WrittenShardings.h"
#include "shoal/Sharding/Propagation.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;

std::string shoal::describeOp(Operation *op) {
  std::string text = op->getName().getStringRef().str();
  if (auto einsum = dyn_cast<EinsumOp>(op))
    text += " \"" + einsum.getSpec().str() + "\"";
  return text;
}

std::string shoal::describeLocation(Location location) {
  std::string text;
  location->walk([&](Location inner) {
    auto file = dyn_cast<FileLineColLoc>(inner);
    if (!file)
      return WalkResult::advance();
    text = file.getFilename().str() + ":" + std::to_string(file.getLine()) +
           ":" + std::to_string(file.getColumn());
    return WalkResult::interrupt();
  });
  std::string name = namePath(location);
  return text.empty() || name.empty() ? text : text + " (" + name + ")";
}

std::string shoal::describeBoundary(Operation *region, unsigned index,
                                    bool isEntry) {
  unsigned place = isEntry ? index : region->getNumOperands() + index;
  return (isEntry ? "operand " : "result ") + std::to_string(index) + " of " +
         describeOp(region) + writtenSharding(region, place);
}

static std::string withLocation(const std::string &text, Location location) {
  std::string where = describeLocation(location);
  return where.empty() ? text : text + " at " + where;
}

static std::string describeOwnResult(func::FuncOp program, unsigned index) {
  return describeResult(program, index) + writtenResult(program, index) +
         " of @" + program.getSymName().str();
}

std::string ExtractedProblem::describe(unsigned op) const {
  const ProblemOp &origin = ops[op];
  func::FuncOp program = function;
  if (origin.isArgument()) {
    return withLocation(describeArgument(program, origin.index) +
                            writtenArgument(program, origin.index),
                        values[problem.ops[op].results[0]].getLoc());
  }
  if (origin.isResult)
    return describeOwnResult(program, origin.index);
  std::string text = describeOp(origin.op);
  if (const auto &boundary = problem.ops[op].boundary)
    return withLocation(
        describeBoundary(origin.op, origin.index, boundary->isEntry),
        origin.op->getLoc());
  return withLocation(text + writtenSharding(origin.op), origin.op->getLoc());
}

std::string ExtractedProblem::describeUse(unsigned op, unsigned operand) const {
  if (ops[op].isResult || problem.ops[op].boundary)
    return describe(op);
  OpOperand *use = ops[op].operands[operand];
  if (ops[op].isArgument()) // what is returned in its memory
    return describeOwnResult(function, use->getOperandNumber());
  Operation *user = use->getOwner();
  return "operand " + std::to_string(use->getOperandNumber()) + " of " +
         withLocation(describeOp(user) + writtenSharding(user), user->getLoc());
}

/// `from shoal.sharding_constraint at moe.mlir:6:12 via math.exp, shoal.slice`:
/// the annotation, and every op that the axis came through. Of a long way the
/// ends; what lies between stands at the values on the way.
static std::string describeChain(const ExtractedProblem &extracted,
                                 ArrayRef<unsigned> chain) {
  constexpr size_t kFirst = 2, kLast = 4;
  std::string text = "from " + extracted.describe(chain.front());
  ArrayRef<unsigned> way = chain.drop_front();
  for (auto [i, op] : llvm::enumerate(way)) {
    bool isLeftOut =
        way.size() > kFirst + kLast && i >= kFirst && i + kLast < way.size();
    if (i == kFirst && isLeftOut)
      text += ", ... " + std::to_string(way.size() - kFirst - kLast) + " ops";
    if (!isLeftOut)
      text += (i == 0 ? " via " : ", ") + extracted.problem.ops[op].label;
  }
  return text;
}

/// `x, y:(1)2`.
static std::string describeAxes(const ExtractedProblem &extracted,
                                ArrayRef<AxisId> axes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  MLIRContext *context = extracted.meshes[0].getContext();
  llvm::interleaveComma(toAxisRefs(axes, extracted.problem.mesh, context), os,
                        [&](AxisRefAttr axis) {
                          os << axis.getName();
                          if (!axis.isWhole())
                            os << ":(" << axis.getPreSize() << ')'
                               << axis.getSize();
                        });
  return text;
}

std::string shoal::describeOrigin(const ExtractedProblem &extracted,
                                  const Hints &hints, unsigned value,
                                  const Sharding &sharding) {
  // Several axes mostly have one origin.
  llvm::SmallVector<std::pair<std::string, AxisList>> groups;
  auto add = [&](AxisId axis, const std::string &origin) {
    auto *it = llvm::find_if(
        groups, [&](auto &entry) { return entry.first == origin; });
    if (it == groups.end())
      it = groups.insert(it, {origin, {}});
    it->second.push_back(axis);
  };
  for (auto [d, dim] : llvm::enumerate(sharding.dims))
    for (AxisId axis : dim) {
      const AxisHint &hint = hints.at(value, axis);
      bool followed = hint.state == AxisHint::Split && hint.dim == d;
      add(axis, followed ? describeChain(extracted, hints.chain(value, axis))
                         : "by cost");
    }
  for (AxisId axis : sharding.partial)
    add(axis, "partial sums, by cost");
  std::string text;
  for (auto &[origin, axes] : groups)
    text += (text.empty() ? "" : "; ") + describeAxes(extracted, axes) + ": " +
            origin;
  return text;
}
