// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Forms.h"
#include "Models.h"
#include "shoal/Dialect/Shoal/IR/OrderingOps.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"

using namespace mlir;
using namespace shoal;

// Models replace the interface's defaults.
// NOLINTBEGIN(bugprone-derived-method-shadowing-base-method)
namespace {

/// The places are rows of the operand, and those of one line differ.
struct TopK : ElementOpInterface::ExternalModel<TopK, TopKOp> {
  int64_t getLimit(Operation *op, unsigned result) const {
    auto shape = sparse::tensorType(op->getOperand(0)).getShape();
    return result == 1 ? shape.back() : 0;
  }
  int64_t getDistinctDim(Operation *op, unsigned result) const {
    return result == 1 ? sparse::tensorType(op->getResult(1)).getRank() - 1
                       : -1;
  }
};

/// A dimension and its rows.
struct Counted {
  int64_t dim, size;
};

/// What a tensor counts the rows of, if it does nothing else.
std::optional<Counted> findCounted(Value tensor) {
  if (auto iota = tensor.getDefiningOp<IotaOp>()) {
    auto dim = int64_t(iota.getDim());
    return Counted{dim, sparse::tensorType(tensor).getDimSize(dim)};
  }
  auto broadcast = tensor.getDefiningOp<BroadcastInDimOp>();
  if (!broadcast)
    return std::nullopt;
  auto counted = findCounted(broadcast->getOperand(0));
  if (counted)
    counted->dim = broadcast.getDims()[counted->dim];
  return counted;
}

/// Elements change their places: those of a counter, as of an argsort, are
/// still its numbers, and along what it counts each is there once.
struct Sort : ElementOpInterface::ExternalModel<Sort, SortOp> {
  int64_t getLimit(Operation *op, unsigned result) const {
    auto counted = findCounted(op->getOperand(result));
    return counted ? counted->size : 0;
  }
  int64_t getDistinctDim(Operation *op, unsigned result) const {
    auto counted = findCounted(op->getOperand(result));
    auto dim = int64_t(cast<SortOp>(op).getDim());
    RankedTensorType type = sparse::tensorType(op->getResult(result));
    bool isPermuted =
        counted && counted->dim == dim && counted->size == type.getDimSize(dim);
    return isPermuted ? dim : -1;
  }
};

} // namespace
// NOLINTEND(bugprone-derived-method-shadowing-base-method)

void shoal::registerOrderingElementModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    TopKOp::attachInterface<TopK>(*context);
    SortOp::attachInterface<Sort>(*context);
  });
}
