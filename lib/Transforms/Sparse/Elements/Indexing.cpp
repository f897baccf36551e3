// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Forms.h"
#include "Models.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Shoal/IR/IndexingOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

// Models replace the interface's defaults.
// NOLINTBEGIN(bugprone-derived-method-shadowing-base-method)
namespace {

struct Gather : ElementOpInterface::ExternalModel<Gather, GatherOp> {
  std::optional<TermList> mapIndex(Operation *op, Terms &terms,
                                   TermRange index) const;
};

/// Where a window that starts at `place` begins.
Term clampStart(Terms &terms, Term place, int64_t last) {
  auto known = terms.range(place);
  bool isInside = known && !known->smin().isNegative() &&
                  known->smax().sle(APInt(known->smax().getBitWidth(), last));
  if (!isInside) {
    place = terms.op<arith::MaxSIOp>(place->type,
                                     {place, terms.integer(0, place->type)});
    place = terms.op<arith::MinSIOp>(place->type,
                                     {place, terms.integer(last, place->type)});
  }
  return terms.convert(place, terms.integer(0)->type);
}

} // namespace
// NOLINTEND(bugprone-derived-method-shadowing-base-method)

std::optional<TermList> Gather::mapIndex(Operation *op, Terms &terms,
                                         TermRange index) const {
  auto gather = cast<GatherOp>(op);
  RankedTensorType operand = tensorType(gather.getInput());
  RankedTensorType indices = tensorType(gather.getIndices());
  // Narrow types cannot hold the clamps.
  if (indices.getElementTypeBitWidth() < 32 ||
      llvm::is_contained(operand.getShape(), 0))
    return std::nullopt;
  TermList line;
  for (auto [dim, at] : llvm::enumerate(index))
    if (!llvm::is_contained(gather.getOffsetDims(), int64_t(dim)))
      line.push_back(at);
  const auto *window = gather.getOffsetDims().begin();
  TermList map;
  for (int64_t dim = 0; dim < operand.getRank(); ++dim) {
    const auto *batch = llvm::find(gather.getOperandBatchingDims(), dim);
    if (batch != gather.getOperandBatchingDims().end()) {
      int64_t from = gather.getStartIndicesBatchingDims()
                         [batch - gather.getOperandBatchingDims().begin()];
      map.push_back(line[from - (from > int64_t(gather.getIndexVectorDim()))]);
      continue;
    }
    bool isCollapsed = llvm::is_contained(gather.getCollapsedSliceDims(), dim);
    Term offset = isCollapsed ? terms.integer(0) : index[*window++];
    const auto *entry = llvm::find(gather.getStartIndexMap(), dim);
    if (entry == gather.getStartIndexMap().end()) {
      map.push_back(offset);
      continue;
    }
    TermList at = line;
    if (int64_t(gather.getIndexVectorDim()) < indices.getRank())
      at.insert(at.begin() + gather.getIndexVectorDim(),
                terms.integer(entry - gather.getStartIndexMap().begin()));
    Term start =
        clampStart(terms, terms.element(gather.getIndices(), at),
                   operand.getDimSize(dim) - gather.getSliceSizes()[dim]);
    map.push_back(isCollapsed ? start : terms.add(start, offset));
  }
  return map;
}

void shoal::registerIndexingElementModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    GatherOp::attachInterface<Gather>(*context);
  });
}
