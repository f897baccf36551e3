// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Extract.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "shoal/Sharding/Propagation.h"
#include "shoal/Transforms/Propagation/Passes.h"

namespace shoal {
#define GEN_PASS_DEF_ASSIGN
#include "shoal/Transforms/Propagation/Passes.h.inc"
} // namespace shoal

using namespace mlir;
using namespace shoal;

namespace {

/// Copies of the ops without operands, one for each user, so that each may be
/// made in the sharding that its user needs: they cost nothing.
class FreeOpCopies {
public:
  explicit FreeOpCopies(func::FuncOp function);
  /// Merges copies of equal sharding again.
  void merge();

private:
  std::vector<SmallVector<Operation *>> groups;
};

/// Writes an assignment into the function.
class Applier {
public:
  Applier(const ExtractedProblem &extracted, const Assignment &assignment)
      : extracted(extracted), assignment(assignment),
        builder(extracted.meshes[0].getContext()) {}

  void run();

private:
  void insertReshards(unsigned value);
  void writeShardings(unsigned op, const Hints &hints);
  ShardingAttr attrOf(const ValueVersion &version) const {
    return extracted.toAttr(version.sharding, version.deviceOrder);
  }

  const ExtractedProblem &extracted;
  const Assignment &assignment;
  OpBuilder builder;
  /// For each value the operands (op, number) that read it.
  std::vector<SmallVector<std::pair<unsigned, unsigned>, 2>> uses;
  SmallVector<Attribute> argumentOrigins;
};

} // namespace

FreeOpCopies::FreeOpCopies(func::FuncOp function) {
  SmallVector<Operation *> freeOps;
  for (Operation &op : function.getOps())
    if (op.getNumOperands() == 0 && op.getNumResults() > 0 &&
        op.getNumRegions() == 0 && isPure(&op))
      freeOps.push_back(&op);
  OpBuilder builder(function.getContext());
  for (Operation *op : freeOps) {
    SmallVector<Operation *> copies = {op};
    SmallVector<OpOperand *> operands;
    for (OpOperand &use : op->getUses())
      operands.push_back(&use);
    builder.setInsertionPoint(op);
    // Uses stand in reverse order of the program.
    for (OpOperand *use : llvm::drop_begin(llvm::reverse(operands))) {
      unsigned result = cast<OpResult>(use->get()).getResultNumber();
      copies.push_back(builder.clone(*op));
      use->set(copies.back()->getResult(result));
    }
    groups.push_back(std::move(copies));
  }
}

void FreeOpCopies::merge() {
  for (ArrayRef<Operation *> copies : groups) {
    llvm::MapVector<Attribute, Operation *> kept;
    for (Operation *op : copies)
      kept.insert({op->getAttr(kShardingsAttr), op});
    // Copies stand before the op they were made from, the last one nearest.
    for (auto &entry : kept)
      for (Operation *op : copies)
        if (op->getAttr(kShardingsAttr) == entry.first &&
            op->isBeforeInBlock(entry.second))
          entry.second = op;
    for (Operation *op : copies) {
      Operation *same = kept[op->getAttr(kShardingsAttr)];
      if (same == op)
        continue;
      op->replaceAllUsesWith(same);
      op->erase();
    }
  }
}

void Applier::run() {
  uses.resize(extracted.values.size());
  for (auto [op, graphOp] : llvm::enumerate(extracted.problem.ops))
    for (auto [operand, value] : llvm::enumerate(graphOp.operands))
      uses[value].push_back({unsigned(op), unsigned(operand)});
  Hints hints = propagateHints(extracted.problem);
  for (unsigned op = 0; op < extracted.ops.size(); ++op)
    writeShardings(op, hints);
  for (unsigned value = 0; value < extracted.values.size(); ++value)
    insertReshards(value);
  func::FuncOp function = extracted.function;
  function->removeAttr(kArgumentHintsAttr);
  function->setAttr(kArgumentOriginsAttr,
                    builder.getArrayAttr(argumentOrigins));
}

void Applier::writeShardings(unsigned op, const Hints &hints) {
  const ProblemOp &origin = extracted.ops[op];
  const AssignmentProblem::Op &graphOp = extracted.problem.ops[op];
  func::FuncOp function = extracted.function;
  if (origin.isResult) {
    const auto &versions = assignment.values[graphOp.operands[0]];
    function.setResultAttr(origin.index, kShardingAttr,
                           attrOf(versions[assignment.uses[op][0]]));
    return;
  }
  SmallVector<Attribute> shardings, origins;
  for (unsigned value : graphOp.results) {
    const ValueVersion &made = assignment.values[value].front();
    shardings.push_back(attrOf(made));
    origins.push_back(builder.getStringAttr(
        describeOrigin(extracted, hints, value, made.sharding)));
  }
  if (origin.isArgument()) {
    function.setArgAttr(origin.index, kShardingAttr, shardings[0]);
    argumentOrigins.push_back(origins[0]);
    return;
  }
  if (shardings.empty())
    return;
  origin.op->setAttr(kShardingsAttr, builder.getArrayAttr(shardings));
  origin.op->setAttr(kOriginAttr, builder.getArrayAttr(origins));
}

void Applier::insertReshards(unsigned value) {
  ArrayRef<ValueVersion> versions = assignment.values[value];
  // The first use of each version, be it through a version made from it.
  std::vector<std::pair<unsigned, unsigned>> firstUse(versions.size(),
                                                      {~0u, ~0u});
  for (auto [op, operand] : uses[value]) {
    unsigned version = assignment.uses[op][operand];
    firstUse[version] = std::min(firstUse[version], {op, operand});
  }
  for (unsigned version = versions.size(); version-- > 1;)
    firstUse[*versions[version].parent] =
        std::min(firstUse[*versions[version].parent], firstUse[version]);

  SmallVector<Value> made = {extracted.values[value]};
  for (unsigned version = 1; version < versions.size(); ++version) {
    auto [op, operand] = firstUse[version];
    unsigned parent = *versions[version].parent;
    Operation *user = extracted.ops[op].op;
    builder.setInsertionPoint(user);
    ShardingAttr target = attrOf(versions[version]);
    auto reshard = ReshardOp::create(
        builder, user->getLoc(), made[0].getType(), made[parent],
        attrOf(versions[parent]), target, /*step=*/nullptr,
        builder.getStringAttr(extracted.describeUse(op, operand)));
    reshard->setAttr(kShardingsAttr, builder.getArrayAttr({target}));
    made.push_back(reshard);
  }
  for (auto [op, operand] : uses[value]) {
    const ProblemOp &user = extracted.ops[op];
    unsigned number = user.isResult ? user.index : operand;
    user.op->setOperand(number, made[assignment.uses[op][operand]]);
  }
}

namespace {

struct Assign : shoal::impl::AssignBase<Assign> {
  using AssignBase::AssignBase;

  void runOnOperation() override {
    FailureOr<Mesh> mesh = collectMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isGlobalProgram(function) && failed(assign(function, *mesh)))
        return signalPassFailure();
  }

  LogicalResult assign(func::FuncOp function, const Mesh &mesh) {
    FreeOpCopies copies(function);
    FailureOr<ExtractedProblem> extracted = extractProblem(function, mesh);
    if (failed(extracted))
      return failure();
    Applier(*extracted, assignShardings(extracted->problem, getOptions()))
        .run();
    copies.merge();
    return success();
  }

  AssignmentOptions getOptions() const {
    AssignmentOptions options;
    options.pricePlans = pricePlans;
    options.flopsPerByte = flopsPerByte;
    options.memoryWeight = memoryWeight;
    options.latencyBytes = latencyBytes;
    options.descend = descend;
    options.chains = chains;
    options.secondStart = secondStart;
    return options;
  }
};

} // namespace
