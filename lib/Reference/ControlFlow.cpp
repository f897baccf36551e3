// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Models.h"

#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"

using namespace mlir;

namespace shoal::reference {

/// A program whose loop has no end is wrong, and its user waits for an answer.
static constexpr int64_t kMaxTrips = int64_t(1) << 20;

/// The number that all devices have for the scalar `value`, which decides how
/// `op` goes on; an error where they differ, as they could then not meet in a
/// collective any more. `what` names the value.
static FailureOr<int64_t> agree(Operation *op, StringRef what,
                                const GridValue &value) {
  int64_t first = value[0][0].i;
  for (size_t device = 1; device < value.size(); ++device)
    if (value[device][0].i != first)
      return op->emitOpError()
             << what << ": device 0 has " << first << " but device " << device
             << " has " << value[device][0].i;
  return first;
}

namespace {

struct WhileModel : RegionOpInterface::ExternalModel<WhileModel, WhileOp> {
  FailureOr<GridValues> evaluateWithRegions(Operation *operation,
                                            int64_t numDevices,
                                            ArrayRef<GridValue> operands,
                                            RunRegion run) const {
    auto op = cast<WhileOp>(operation);
    GridValues carried(operands);
    for (int64_t trip = 0; trip < kMaxTrips; ++trip) {
      FailureOr<GridValues> condition = run(op.getCond(), carried, numDevices);
      if (failed(condition))
        return failure();
      FailureOr<int64_t> goesOn = agree(op, "condition", (*condition)[0]);
      if (failed(goesOn))
        return failure();
      if (!*goesOn)
        return carried;
      FailureOr<GridValues> next = run(op.getBody(), carried, numDevices);
      if (failed(next))
        return failure();
      carried = std::move(*next);
    }
    return op.emitOpError() << "still runs after " << kMaxTrips << " trips";
  }
};

struct CaseModel : RegionOpInterface::ExternalModel<CaseModel, CaseOp> {
  FailureOr<GridValues> evaluateWithRegions(Operation *operation,
                                            int64_t numDevices,
                                            ArrayRef<GridValue> operands,
                                            RunRegion run) const {
    auto op = cast<CaseOp>(operation);
    FailureOr<int64_t> index = agree(op, "index", operands[0]);
    if (failed(index))
      return failure();
    int64_t count = op.getBranches().size(), branch = *index;
    if (operands[0][0].getElementType() == ElementType::I1)
      branch = *index ? 0 : 1;
    else if (branch < 0 || branch >= count)
      branch = count - 1;
    return run(op.getBranches()[branch], {}, numDevices);
  }
};

} // namespace

template <typename Op>
static FailureOr<Tensors> forward(Op, ArrayRef<Tensor> operands) {
  return Tensors(operands);
}

void registerControlFlowModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    WhileOp::attachInterface<WhileModel>(*context);
    CaseOp::attachInterface<CaseModel>(*context);
    attach<RematBoundaryOp, forward<RematBoundaryOp>>(context);
    attach<CheckpointNameOp, forward<CheckpointNameOp>>(context);
    attach<OptimizationBarrierOp, forward<OptimizationBarrierOp>>(context);
  });
}

} // namespace shoal::reference
