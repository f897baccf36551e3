// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AxisSyntax.h"
#include "mlir/IR/DialectImplementation.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace shoal;

int64_t AxisRefAttr::getSizeIn(MeshAttr mesh) const {
  return isWhole() ? *mesh.getAxisSize(getName()) : getSize();
}

LogicalResult AxisRefAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  StringRef name, int64_t preSize,
                                  int64_t size) {
  if (name.empty()) // (X1)
    return emitError() << "axis has an empty name";
  bool isWhole = preSize == 1 && size == 0;
  int64_t end;
  if (!isWhole && (preSize < 1 || size < 2 ||
                   llvm::MulOverflow(preSize, size, end) || end > kMaxDevices))
    return emitError() << "sub-axis of \"" << name
                       << "\": expected a size of at least 2 behind a major "
                          "part of at least 1 and a product of at most 2^31 "
                          "but got ("
                       << preSize << ")" << size;
  return success();
}

/// `"x"` or `"x":(2)4`.
static FailureOr<AxisRefAttr> parseAxisRef(AsmParser &parser) {
  std::string name;
  int64_t preSize = 1, size = 0;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseString(&name))
    return failure();
  if (succeeded(parser.parseOptionalColon())) {
    if (parser.parseLParen() || parser.parseInteger(preSize) ||
        parser.parseRParen() || parser.parseInteger(size))
      return failure();
    // In memory a size of 0 is a whole axis; in text it is none.
    if (size == 0)
      size = -1;
  }
  // As declared: the base's own template needs the attribute's storage.
  auto emitError = [&]() { return parser.emitError(loc); };
  AxisRefAttr axis =
      AxisRefAttr::getChecked(EmitError(emitError), parser.getContext(),
                              StringRef(name), preSize, size);
  if (!axis)
    return failure();
  return axis;
}

static void printAxisRef(raw_ostream &os, AxisRefAttr axis) {
  os << '"';
  llvm::printEscapedString(axis.getName(), os);
  os << '"';
  if (!axis.isWhole())
    os << ":(" << axis.getPreSize() << ')' << axis.getSize();
}

Attribute AxisRefAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<AxisRefAttr> axis = parseAxisRef(parser);
  if (failed(axis) || parser.parseGreater())
    return {};
  return *axis;
}

void AxisRefAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printAxisRef(printer.getStream(), *this);
  printer << '>';
}

ParseResult shoal::parseAxes(AsmParser &parser,
                             SmallVectorImpl<AxisRefAttr> &axes, bool *isOpen) {
  if (parser.parseLBrace())
    return failure();
  if (succeeded(parser.parseOptionalRBrace()))
    return success();
  do {
    if (isOpen && succeeded(parser.parseOptionalQuestion())) {
      *isOpen = true;
      break;
    }
    FailureOr<AxisRefAttr> axis = parseAxisRef(parser);
    if (failed(axis))
      return failure();
    axes.push_back(*axis);
  } while (succeeded(parser.parseOptionalComma()));
  return parser.parseRBrace();
}

void shoal::printAxes(raw_ostream &os, ArrayRef<AxisRefAttr> axes,
                      bool isOpen) {
  os << '{';
  llvm::interleaveComma(axes, os,
                        [&](AxisRefAttr axis) { printAxisRef(os, axis); });
  if (isOpen)
    os << (axes.empty() ? "?" : ", ?");
  os << '}';
}

std::string shoal::toString(AxesAttr axes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printAxes(os, axes.getAxes());
  return text;
}

Attribute AxesAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRefAttr> axes;
  if (parseAxes(parser, axes))
    return {};
  return AxesAttr::get(parser.getContext(), axes);
}

void AxesAttr::print(AsmPrinter &printer) const {
  printAxes(printer.getStream(), getAxes());
}

ParseResult shoal::parseAxesPerDim(AsmParser &parser, ArrayAttr &axes) {
  SmallVector<Attribute> lists;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() {
        SmallVector<AxisRefAttr> list;
        if (parseAxes(parser, list))
          return failure();
        lists.push_back(AxesAttr::get(parser.getContext(), list));
        return success();
      }))
    return failure();
  axes = ArrayAttr::get(parser.getContext(), lists);
  return success();
}

void shoal::printAxesPerDim(AsmPrinter &printer, Operation *, ArrayAttr axes) {
  printer << '[';
  llvm::interleaveComma(axes.getAsRange<AxesAttr>(), printer,
                        [&](AxesAttr list) { list.print(printer); });
  printer << ']';
}
