// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CheckReplication.h"
#include "shoal/Dialect/Shoal/IR/SignatureNames.h"

using namespace mlir;
using namespace shoal;

/// Bytes of the whole value.
static int64_t bytesOf(const AssignmentProblem::Value &value) {
  int64_t bytes = value.elementBytes;
  for (int64_t size : value.shape)
    bytes *= size;
  return bytes;
}

namespace {

class ReplicationCheck {
public:
  ReplicationCheck(const ExtractedProblem &extracted,
                   const Assignment &assignment,
                   const ReplicationLimits &limits)
      : extracted(extracted), assignment(assignment), limits(limits),
        uses(extracted.values.size()) {
    for (auto [op, graphOp] : llvm::enumerate(extracted.problem.ops))
      for (auto [operand, value] : llvm::enumerate(graphOp.operands))
        uses[value].push_back({unsigned(op), unsigned(operand)});
  }

  LogicalResult run() const {
    for (unsigned value = 0; value < extracted.values.size(); ++value)
      if (bytesOf(value) > limits.maxBytes && !isAllowed(value) &&
          failed(check(value)))
        return failure();
    return success();
  }

private:
  int64_t bytesOf(unsigned value) const {
    return ::bytesOf(extracted.problem.values[value]);
  }
  bool isSplit(const ValueVersion &version) const {
    return llvm::any_of(version.sharding.dims, [&](const AxisList &dim) {
      return extracted.problem.mesh.sizeOf(dim) > 1;
    });
  }
  bool isAllowed(unsigned value) const;
  LogicalResult check(unsigned value) const;
  InFlightDiagnostic emitError(Value value) const;

  const ExtractedProblem &extracted;
  const Assignment &assignment;
  const ReplicationLimits &limits;
  /// For each value the operands (op, number) that read it.
  std::vector<SmallVector<std::pair<unsigned, unsigned>, 2>> uses;
};

} // namespace

bool ReplicationCheck::isAllowed(unsigned id) const {
  Value value = extracted.values[id];
  auto isListed = [&](Attribute name) {
    auto text = dyn_cast_or_null<StringAttr>(name);
    return text && llvm::is_contained(limits.allowed, text.getValue());
  };
  func::FuncOp function = extracted.function;
  if (Operation *op = value.getDefiningOp())
    return op->hasAttr(kAllowReplicatedAttr) ||
           isListed(op->getAttr(kNameAttr));
  auto argument = cast<BlockArgument>(value);
  if (argument.getOwner() != &function.front())
    return false;
  unsigned index = argument.getArgNumber();
  Attribute name = function.getArgAttr(index, kNameAttr);
  return function.getArgAttr(index, kAllowReplicatedAttr) || isListed(name) ||
         (!name &&
          llvm::is_contained(limits.allowed, "arg" + std::to_string(index)));
}

InFlightDiagnostic ReplicationCheck::emitError(Value value) const {
  if (Operation *op = value.getDefiningOp())
    return op->emitError() << describeOp(op) << ": ";
  auto argument = cast<BlockArgument>(value);
  func::FuncOp function = extracted.function;
  InFlightDiagnostic error = mlir::emitError(value.getLoc());
  if (argument.getOwner() == &function.front())
    error << describeArgument(function, argument.getArgNumber()) << ": ";
  return error;
}

LogicalResult ReplicationCheck::check(unsigned value) const {
  ArrayRef<ValueVersion> versions = assignment.values[value];
  if (!isSplit(versions[0]))
    return success();
  for (auto [op, operand] : uses[value]) {
    if (isSplit(versions[assignment.uses[op][operand]]) ||
        extracted.problem.ops[op].constraint)
      continue;
    InFlightDiagnostic error =
        emitError(extracted.values[value])
        << "would be gathered whole on every device: " << bytesOf(value)
        << " bytes are more than --max-replicated-bytes=" << limits.maxBytes
        << ", and no annotation asks for it";
    error.attachNote(extracted.ops[op].op->getLoc())
        << "it is needed whole for " << extracted.describeUse(op, operand);
    return error;
  }
  return success();
}

/// Bytes that a device receives to have the operand as the op reads it.
static double gatheredBytes(const Assignment &assignment, unsigned value,
                            unsigned version) {
  double bytes = 0;
  for (std::optional<unsigned> at = version; at;
       at = assignment.values[value][*at].parent)
    bytes += assignment.values[value][*at].bytes;
  return bytes;
}

void shoal::warnOfWholeOps(const ExtractedProblem &extracted,
                           const Assignment &assignment) {
  if (extracted.problem.mesh.numDevices() == 1)
    return;
  for (auto [id, op] : llvm::enumerate(extracted.problem.ops)) {
    if (op.rule.warning.empty())
      continue;
    int64_t held = 0;
    double gathered = 0;
    for (unsigned value : llvm::concat<const unsigned>(op.operands, op.results))
      held += bytesOf(extracted.problem.values[value]);
    for (auto [value, version] :
         llvm::zip_equal(op.operands, assignment.uses[id]))
      gathered += gatheredBytes(assignment, value, version);
    Operation *operation = extracted.ops[id].op;
    operation->emitWarning()
        << "'" << operation->getName() << "' op " << op.rule.warning
        << ": every device holds all its operands and results, " << held
        << " bytes, of which " << static_cast<int64_t>(gathered)
        << " are gathered for it";
  }
}

LogicalResult shoal::checkReplication(const ExtractedProblem &extracted,
                                      const Assignment &assignment,
                                      const ReplicationLimits &limits) {
  if (limits.maxBytes < 0)
    return success();
  return ReplicationCheck(extracted, assignment, limits).run();
}
