// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ShapedTypeOf.h"
#include "shoal/Calls/IndexingScratch.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "shoal/Dialect/Rt/IR/RtIndexingOps.cpp.inc"

namespace shoal::rt {

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

int64_t WindowsAttr::count() const {
  int64_t windows = 1;
  for (const WindowLoop &loop : getLoops())
    windows *= loop.size;
  return windows;
}

//===----------------------------------------------------------------------===//
// gather, scatter
//===----------------------------------------------------------------------===//

namespace {

/// Which elements of a tensor nested loops visit, from 0 on: numbers of less
/// than 128 bits, as tensors have less than 2^56 elements.
struct Reach {
  __int128 low = 0, high = 0;

  void add(int64_t size, int64_t stride) {
    __int128 last = static_cast<__int128>(size - 1) * stride;
    (last < 0 ? low : high) += last;
  }
  bool isWithin(int64_t elements) const { return low >= 0 && high < elements; }
};

/// The laws of windows. Those that are not clamped need not fit.
class WindowsVerifier {
public:
  WindowsVerifier(Operation *op, WindowsAttr windows, Value operand,
                  Value indices, Value windowsTensor, bool mustFit)
      : op(op), dims(windows.getDims()), loops(windows.getLoops()),
        operand(shapedTypeOf(operand)), indices(shapedTypeOf(indices)),
        windowsTensor(shapedTypeOf(windowsTensor)), mustFit(mustFit) {}

  LogicalResult verify() {
    if (failed(verifyDims()) || failed(verifyCount()) || failed(verifyTypes()))
      return failure();
    return windowsTensor.getNumElements() == 0 ? success() : verifyPlaces();
  }

private:
  /// (C1)
  LogicalResult verifyDims() {
    if (failed(verifyEntryCount(op, "windows", dims.size(), operand.getRank())))
      return failure();
    for (auto [d, dim] : llvm::enumerate(dims)) {
      auto error = [&, d = d] {
        return op->emitOpError("windows dim ") << d << ": ";
      };
      if (dim.size != operand.getDimSize(d))
        return error() << "expected size " << operand.getDimSize(d)
                       << " but got " << dim.size;
      if (dim.window < 0 || (mustFit && dim.window > dim.size))
        return error() << "no window of " << dim.window << " fits into "
                       << dim.size;
      if (dim.place < -1 || dim.place >= indices.getNumElements())
        return error() << "place " << dim.place << " is not in " << indices;
    }
    return success();
  }

  /// (C2)
  LogicalResult verifyCount() {
    // Beyond what any tensor has, one number is as wrong as another.
    constexpr __int128 many = int64_t(1) << 56;
    __int128 elements = 1;
    for (const WindowDim &dim : dims)
      elements = std::min(elements * dim.window, many);
    for (const WindowLoop &loop : loops) {
      if (loop.size < 0)
        return op->emitOpError("windows: a loop has the size ") << loop.size;
      elements = std::min(elements * loop.size, many);
    }
    if (elements == windowsTensor.getNumElements())
      return success();
    return op->emitOpError("windows have ")
           << static_cast<int64_t>(elements)
           << " elements but the windows' tensor is " << windowsTensor;
  }

  /// (C3)
  LogicalResult verifyTypes() {
    Type index = indices.getElementType();
    if (windowsTensor.getElementType() == operand.getElementType() &&
        isa<IntegerType>(index) && !index.isInteger(1))
      return success();
    return op->emitOpError("expected windows of ")
           << operand.getElementType() << " and indices of integers but got "
           << windowsTensor << " and " << indices;
  }

  /// (C4)
  LogicalResult verifyPlaces() {
    Reach inOperand, inIndices, inWindows;
    int64_t stride = 1, lastPlace = -1;
    for (const WindowDim &dim : llvm::reverse(dims)) {
      // Wherever it begins; what lies outside is dropped.
      inOperand.add(dim.place < 0 ? std::min(dim.window, dim.size) : dim.size,
                    stride);
      inWindows.add(dim.window, dim.step);
      lastPlace = std::max(lastPlace, dim.place);
      stride *= dim.size;
    }
    inIndices.high = lastPlace;
    for (const WindowLoop &loop : loops) {
      inOperand.add(loop.size, loop.operand);
      inIndices.add(loop.size, loop.indices);
      inWindows.add(loop.size, loop.windows);
    }
    // Of no elements, or where all windows begin at 0, nothing is read.
    if ((operand.getNumElements() != 0 && failed(verify(inOperand, operand))) ||
        (lastPlace >= 0 && failed(verify(inIndices, indices))))
      return failure();
    return verify(inWindows, windowsTensor);
  }

  LogicalResult verify(const Reach &reach, ShapedType type) {
    if (reach.isWithin(type.getNumElements()))
      return success();
    return op->emitOpError("windows reach out of ") << type;
  }

  Operation *op;
  ArrayRef<WindowDim> dims;
  ArrayRef<WindowLoop> loops;
  ShapedType operand, indices, windowsTensor;
  bool mustFit;
};

} // namespace

LogicalResult GatherOp::verify() {
  return WindowsVerifier(*this, getWindows(), getInput(), getIndices(),
                         getOutput(), /*mustFit=*/true)
      .verify();
}

std::vector<int64_t> GatherOp::getDescriptor(const ProgramMeshes &) {
  return encode(calls::GatherCall{encodeType(getInput().getType()),
                                  encodeType(getIndices().getType()),
                                  getWindows().getLayout()});
}

LogicalResult ScatterOp::verify() {
  WindowsVerifier windows(*this, getWindows(), getOutput(), getIndices(),
                          getUpdates(), /*mustFit=*/getClamps());
  if (failed(windows.verify()))
    return failure();
  if (!getKind()) // (C5)
    return success();
  return verifyCombiner(*this, *getKind(),
                        shapedTypeOf(getOutput()).getElementType());
}

static calls::ScatterCall describe(ScatterOp op) {
  std::optional<calls::Kind> kind;
  if (op.getKind())
    kind = encodeKind(*op.getKind());
  return {encodeType(op.getOutput().getType()),
          encodeType(op.getIndices().getType()),
          kind,
          op.getClamps(),
          op.getUnique(),
          op.getWindows().getLayout()};
}

std::vector<int64_t> ScatterOp::getDescriptor(const ProgramMeshes &) {
  return encode(describe(*this));
}

int64_t ScatterOp::getScratchBytes(const ProgramMeshes &, bool onDevice) {
  return calls::scratchBytes(describe(*this), onDevice);
}

//===----------------------------------------------------------------------===//
// rows
//===----------------------------------------------------------------------===//

Value RowsOp::getViewSource() { return getBuffer(); }

LogicalResult RowsOp::verify() {
  auto whole = dyn_cast<MemRefType>(getBuffer().getType());
  auto part = dyn_cast<MemRefType>(getRows().getType());
  for (MemRefType type : {whole, part}) // (C1)
    if (!type || !type.hasStaticShape() || !type.getLayout().isIdentity())
      return emitOpError("expected dense memrefs of static shape but got ")
             << getBuffer().getType() << " and " << getRows().getType();
  if (whole.getElementType() != part.getElementType()) // (C1)
    return emitOpError("expected one element type but got ")
           << whole << " and " << part;
  if (part.getNumElements() > whole.getNumElements()) // (C2)
    return emitOpError("expected rows of at most ")
           << whole.getNumElements() << " elements but got "
           << part.getNumElements();
  return success();
}

} // namespace shoal::rt
