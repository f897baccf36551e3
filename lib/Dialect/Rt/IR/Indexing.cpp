// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Calls/IndexingScratch.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"

using namespace mlir;

namespace shoal::rt {

static ShapedType typeOf(Value value) {
  return cast<ShapedType>(value.getType());
}

//===----------------------------------------------------------------------===//
// #rt.windows
//===----------------------------------------------------------------------===//

llvm::hash_code hash_value(const WindowDim &dim) {
  return llvm::hash_combine(dim.size, dim.window, dim.step, dim.place);
}

llvm::hash_code hash_value(const WindowLoop &loop) {
  return llvm::hash_combine(loop.size, loop.indices, loop.operand,
                            loop.windows);
}

/// `8 by 1 step 16 at 0`
static ParseResult parseDim(AsmParser &parser, WindowDim &dim) {
  if (parser.parseInteger(dim.size) || parser.parseKeyword("by") ||
      parser.parseInteger(dim.window))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("step")) &&
      parser.parseInteger(dim.step))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("at")))
    return parser.parseInteger(dim.place);
  return success();
}

/// `3 : 1, 0, 16`
static ParseResult parseLoop(AsmParser &parser, WindowLoop &loop) {
  return failure(parser.parseInteger(loop.size) || parser.parseColon() ||
                 parser.parseInteger(loop.indices) || parser.parseComma() ||
                 parser.parseInteger(loop.operand) || parser.parseComma() ||
                 parser.parseInteger(loop.windows));
}

Attribute WindowsAttr::parse(AsmParser &parser, Type) {
  SmallVector<WindowDim> dims;
  SmallVector<WindowLoop> loops;
  auto square = AsmParser::Delimiter::Square;
  if (parser.parseLess() || parser.parseCommaSeparatedList(square, [&]() {
        return parseDim(parser, dims.emplace_back());
      }))
    return {};
  while (succeeded(parser.parseOptionalKeyword("loop")))
    if (parser.parseLSquare() || parseLoop(parser, loops.emplace_back()) ||
        parser.parseRSquare())
      return {};
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), dims, loops);
}

void WindowsAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer, [&](const WindowDim &dim) {
    printer << dim.size << " by " << dim.window;
    if (dim.step != 0)
      printer << " step " << dim.step;
    if (dim.place >= 0)
      printer << " at " << dim.place;
  });
  printer << "]";
  for (const WindowLoop &loop : getLoops())
    printer << " loop [" << loop.size << " : " << loop.indices << ", "
            << loop.operand << ", " << loop.windows << "]";
  printer << ">";
}

calls::WindowLayout WindowsAttr::getLayout() const {
  calls::WindowLayout layout;
  int64_t stride = 1;
  for (const WindowDim &dim : llvm::reverse(getDims())) {
    layout.dims.push_back({dim.size, dim.window, dim.step, dim.place, stride});
    stride *= dim.size;
  }
  std::reverse(layout.dims.begin(), layout.dims.end());
  for (const WindowLoop &loop : getLoops())
    layout.steps.push_back(
        {loop.size, loop.indices, loop.operand, loop.windows});
  return layout;
}

//===----------------------------------------------------------------------===//
// gather, scatter
//===----------------------------------------------------------------------===//

/// (C1) to (C3); windows that need not fit may be longer than the operand.
static LogicalResult verifyWindows(Operation *op, WindowsAttr windows,
                                   Value operand, Value indices,
                                   Value windowsTensor, bool mustFit) {
  ShapedType type = typeOf(operand);
  if (failed(verifyEntryCount(op, "windows", windows.getDims().size(),
                              type.getRank()))) // (C1)
    return failure();
  int64_t elements = 1;
  for (auto [d, dim] : llvm::enumerate(windows.getDims())) {
    if (dim.size != type.getDimSize(d))
      return op->emitOpError("windows dim ")
             << d << ": expected size " << type.getDimSize(d) << " but got "
             << dim.size;
    if (dim.window < 0 || (mustFit && dim.window > dim.size))
      return op->emitOpError("windows dim ")
             << d << ": no window of " << dim.window << " fits into "
             << dim.size;
    if (dim.place >= typeOf(indices).getNumElements())
      return op->emitOpError("windows dim ")
             << d << ": place " << dim.place << " is not in "
             << indices.getType();
    elements *= dim.window;
  }
  for (const WindowLoop &loop : windows.getLoops())
    elements *= loop.size;
  if (elements != typeOf(windowsTensor).getNumElements()) // (C2)
    return op->emitOpError("windows have ")
           << elements << " elements but the windows' tensor is "
           << windowsTensor.getType();
  if (typeOf(windowsTensor).getElementType() != type.getElementType() ||
      !isa<IntegerType>(typeOf(indices).getElementType())) // (C3)
    return op->emitOpError("expected windows of ")
           << type.getElementType() << " and indices of integers but got "
           << windowsTensor.getType() << " and " << indices.getType();
  return success();
}

LogicalResult GatherOp::verify() {
  return verifyWindows(*this, getWindows(), getInput(), getIndices(),
                       getOutput(), /*mustFit=*/true);
}

std::vector<int64_t> GatherOp::getDescriptor(const ProgramMeshes &) {
  return encode(calls::GatherCall{encodeType(getInput().getType()),
                                  encodeType(getIndices().getType()),
                                  getWindows().getLayout()});
}

LogicalResult ScatterOp::verify() {
  return verifyWindows(*this, getWindows(), getOutput(), getIndices(),
                       getUpdates(), /*mustFit=*/getClamps());
}

static calls::ScatterCall describe(ScatterOp op) {
  std::optional<calls::Kind> kind;
  if (op.getKind())
    kind = encodeKind(*op.getKind());
  return {encodeType(op.getOutput().getType()),
          encodeType(op.getIndices().getType()), kind, op.getClamps(),
          op.getWindows().getLayout()};
}

std::vector<int64_t> ScatterOp::getDescriptor(const ProgramMeshes &) {
  return encode(describe(*this));
}

int64_t ScatterOp::getScratchBytes(const ProgramMeshes &, bool onDevice) {
  return calls::scratchBytes(describe(*this), onDevice);
}

} // namespace shoal::rt
