// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AxisSyntax.h"
#include "mlir/IR/DialectImplementation.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace shoal;

/// `["data" = 2, "expert" = 4]`
static ParseResult parseMeshAxes(AsmParser &parser,
                                 SmallVectorImpl<MeshAxisAttr> &axes) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() {
    std::string name;
    int64_t size;
    if (parser.parseString(&name) || parser.parseEqual() ||
        parser.parseInteger(size))
      return failure();
    axes.push_back(MeshAxisAttr::get(parser.getContext(), name, size));
    return success();
  });
}

static void printMeshAxes(AsmPrinter &printer, ArrayRef<MeshAxisAttr> axes) {
  printer << '[';
  llvm::interleaveComma(axes, printer, [&](MeshAxisAttr axis) {
    printer.printString(axis.getName());
    printer << " = " << axis.getSize();
  });
  printer << ']';
}

bool ReduceKindAttr::classof(Attribute attribute) {
  auto number = dyn_cast<IntegerAttr>(attribute);
  return number && number.getType().isSignlessInteger(32) &&
         symbolizeReduceKind(number.getValue().getZExtValue());
}

ReduceKindAttr ReduceKindAttr::get(MLIRContext *context, ReduceKind kind) {
  auto type = IntegerType::get(context, 32);
  return cast<ReduceKindAttr>(
      IntegerAttr::get(type, static_cast<int64_t>(kind)));
}

ReduceKind ReduceKindAttr::getValue() const {
  return static_cast<ReduceKind>(IntegerAttr::getInt());
}

#define GET_ATTRDEF_CLASSES
#include "shoal/Dialect/Shoal/IR/ShoalAttrs.cpp.inc"

void ShoalDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "shoal/Dialect/Shoal/IR/ShoalAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// MeshAttr
//===----------------------------------------------------------------------===//

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<MeshAxisAttr> axes,
                               ArrayRef<int64_t> deviceIds) {
  llvm::StringSet<> names;
  int64_t devices = 1;
  for (MeshAxisAttr axis : axes) { // (M1)
    if (axis.getName().empty())
      return emitError() << "mesh axis has an empty name";
    if (!names.insert(axis.getName()).second)
      return emitError() << "mesh axis \"" << axis.getName()
                         << "\" is defined twice";
    if (axis.getSize() < 1)
      return emitError() << "mesh axis \"" << axis.getName()
                         << "\": expected a size of at least 1 but got "
                         << axis.getSize();
    if (llvm::MulOverflow(devices, axis.getSize(), devices) ||
        devices > kMaxDevices)
      return emitError() << "mesh has more than 2^31 devices";
  }
  if (deviceIds.empty())
    return success();
  if (static_cast<int64_t>(deviceIds.size()) != devices) // (M2)
    return emitError() << "device_ids: expected " << devices
                       << " devices but got " << deviceIds.size();
  llvm::SmallVector<bool> seen(devices, false);
  for (int64_t id : deviceIds) {
    if (id < 0 || id >= devices)
      return emitError() << "device_ids: device " << id << " is not in 0 to "
                         << devices - 1;
    if (seen[id])
      return emitError() << "device_ids: device " << id << " occurs twice";
    seen[id] = true;
  }
  return success();
}

int64_t MeshAttr::getNumDevices() const {
  int64_t devices = 1;
  for (MeshAxisAttr axis : getAxes())
    devices *= axis.getSize();
  return devices;
}

std::optional<int64_t> MeshAttr::getAxisSize(StringRef name) const {
  for (MeshAxisAttr axis : getAxes())
    if (axis.getName() == name)
      return axis.getSize();
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// DimShardingAttr and ShardingAttr
//===----------------------------------------------------------------------===//

LogicalResult
DimShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                        ArrayRef<AxisRefAttr>, bool, int64_t priority) {
  if (priority < 0)
    return emitError() << "expected a priority of at least 0 but got "
                       << priority;
  return success();
}

Attribute DimShardingAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRefAttr> axes;
  bool isOpen = false;
  int64_t priority = 0;
  if (parseAxes(parser, axes, &isOpen))
    return {};
  StringRef keyword;
  if (succeeded(parser.parseOptionalKeyword(&keyword))) {
    if (!keyword.consume_front("p") || keyword.getAsInteger(10, priority)) {
      parser.emitError(parser.getCurrentLocation())
          << "expected a priority such as p1 behind the axes";
      return {};
    }
  }
  return DimShardingAttr::get(parser.getContext(), axes, isOpen, priority);
}

void DimShardingAttr::print(AsmPrinter &printer) const {
  printAxes(printer.getStream(), getAxes(), getIsOpen());
  if (getPriority() != 0)
    printer << 'p' << getPriority();
}

ShardingAttr ShardingAttr::getReplicated(FlatSymbolRefAttr mesh, int64_t rank) {
  MLIRContext *context = mesh.getContext();
  SmallVector<DimShardingAttr> dims(
      rank, DimShardingAttr::get(context, {}, false, 0));
  return ShardingAttr::get(context, mesh, dims, {}, {});
}

bool ShardingAttr::hasOpenDims() const {
  return llvm::any_of(getDims(),
                      [](DimShardingAttr dim) { return dim.getIsOpen(); });
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr mesh;
  SmallVector<DimShardingAttr> dims;
  SmallVector<AxisRefAttr> replicated, partial;
  if (parser.parseLess() || parser.parseAttribute(mesh) ||
      parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() {
        Attribute dim = DimShardingAttr::parse(parser, {});
        if (!dim)
          return failure();
        dims.push_back(cast<DimShardingAttr>(dim));
        return success();
      }))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    bool isReplicated = succeeded(parser.parseOptionalKeyword("replicated"));
    if ((!isReplicated && parser.parseKeyword("partial")) ||
        parser.parseEqual() ||
        parseAxes(parser, isReplicated ? replicated : partial))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return ShardingAttr::get(parser.getContext(), mesh, dims, replicated,
                           partial);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << '<' << getMesh() << ", [";
  llvm::interleaveComma(getDims(), printer,
                        [&](DimShardingAttr dim) { dim.print(printer); });
  printer << ']';
  if (!getReplicated().empty()) {
    printer << ", replicated = ";
    printAxes(printer.getStream(), getReplicated());
  }
  if (!getPartial().empty()) {
    printer << ", partial = ";
    printAxes(printer.getStream(), getPartial());
  }
  printer << '>';
}

LogicalResult
ShardingAttr::verifyFor(Type type, Operation *from,
                        function_ref<InFlightDiagnostic()> emitError) const {
  MeshOp mesh = lookupMesh(from, getMesh());
  if (!mesh) // (S1)
    return emitError() << "unknown mesh " << getMesh();
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return emitError() << "expected a ranked tensor but got " << type;
  if (static_cast<int64_t>(getDims().size()) != tensor.getRank()) // (S3)
    return emitError() << "sharding has " << getDims().size()
                       << " dimensions but the tensor has " << tensor.getRank();
  SmallVector<AxisRefAttr> seen; // (S2)
  for (auto [i, dim] : llvm::enumerate(getDims()))
    if (failed(verifyAxes(dim.getAxes(), mesh, seen, [&, i = i]() {
          return emitError() << "dim " << i << ": ";
        })))
      return failure();
  return success(
      succeeded(verifyAxes(getReplicated(), mesh, seen, emitError)) &&
      succeeded(verifyAxes(getPartial(), mesh, seen, emitError)));
}
