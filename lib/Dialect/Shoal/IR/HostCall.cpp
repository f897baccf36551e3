// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/HostCallOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "shoal/Support/PrintFormat.h"

using namespace mlir;
using namespace shoal;

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/HostCallOps.cpp.inc"

//===----------------------------------------------------------------------===//
// print
//===----------------------------------------------------------------------===//

static LogicalResult verifyField(PrintOp op,
                                 const support::FormatPiece &piece) {
  auto count = static_cast<int64_t>(op.getInputs().size());
  if (piece.operand >= count) // (P1)
    return op.emitOpError() << "format: field {" << piece.operand << "}, but "
                            << "there are " << count << " operands";
  auto type = cast<RankedTensorType>(op.getInputs()[piece.operand].getType());
  std::string name;
  llvm::raw_string_ostream(name) << type.getElementType();
  std::optional<support::ElementType> element = support::parseElementType(name);
  if (!element) // (P2)
    return op.emitOpError() << "operand " << piece.operand << ": elements of "
                            << name << " are not printed";
  if (support::Status failed =
          support::checkField(piece, *element, type.getRank())) // (P2)
    return op.emitOpError() << failed->message;
  return success();
}

LogicalResult PrintOp::verify() {
  auto pieces = support::parseFormat(getFormat());
  if (!pieces) // (P1)
    return emitOpError() << pieces.error().message;
  for (const support::FormatPiece &piece : *pieces)
    if (piece.operand >= 0 && failed(verifyField(*this, piece)))
      return failure();
  auto count = static_cast<int64_t>(getInputs().size());
  for (int64_t number :
       getUnsignedInputs().value_or(ArrayRef<int64_t>())) // (P3)
    if (number < 0 || number >= count ||
        !getElementTypeOrSelf(getInputs()[number]).isInteger())
      return emitOpError() << "unsigned_inputs: expected numbers of the "
                           << count << " operands, of integers, but got "
                           << number;
  return success();
}

//===----------------------------------------------------------------------===//
// host_call
//===----------------------------------------------------------------------===//

LogicalResult HostCallOp::verify() {
  if (static_cast<int64_t>(getNumber()) < 0) // (H1)
    return emitOpError() << "expected a number of at least 0 but got "
                         << static_cast<int64_t>(getNumber());
  if (getOnShards() && getNumResults() != 0) // (H2)
    return emitOpError() << "on_shards: expected no results but got "
                         << getNumResults();
  if (getPure() && getNumResults() == 0) // (H3)
    return emitOpError("pure: expected results, for which the call is made");
  return success();
}

void HostCallOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (!getPure())
    effects.emplace_back(MemoryEffects::Write::get());
}
