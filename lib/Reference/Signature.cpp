// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Reference/Signature.h"

#include "mlir/IR/BuiltinOps.h"
#include "shoal/Dialect/Shoal/IR/Addends.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Dialect/Shoal/IR/ComplexArrays.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace shoal::reference {

namespace {
/// Reads the ports of one function.
class Reader {
public:
  Reader(FunctionOpInterface function, std::optional<DeviceGrid> grid)
      : function(function), grid(grid) {}

  FailureOr<Port> readArgument(unsigned index) {
    return read(
        "argument " + std::to_string(index), "arg" + std::to_string(index),
        function.getArgumentTypes()[index], function.getArgAttrDict(index));
  }

  FailureOr<Port> readResult(unsigned index) {
    return read(
        "result " + std::to_string(index), "result" + std::to_string(index),
        function.getResultTypes()[index], function.getResultAttrDict(index));
  }

private:
  FailureOr<Port> read(std::string place, std::string defaultName, Type type,
                       DictionaryAttr attributes) {
    std::optional<TensorType> local = TensorType::from(type);
    if (!local)
      return function.emitError()
             << place << ": type " << type
             << " is not a tensor of static shape, of a supported element type "
                "and of at most 2^40 elements";
    Port port{
        std::move(place), std::move(defaultName), *local, *local, grid, {}, {}};
    if (auto name =
            attributes ? attributes.getAs<StringAttr>(kNameAttr) : nullptr)
      port.name = name.str();
    port.isComplex = attributes && attributes.contains(kComplexAttr);
    port.isAddends = attributes && attributes.contains(kAddendsAttr);
    if (grid && attributes && failed(readSharding(port, attributes)))
      return failure();
    return port;
  }

  LogicalResult readSharding(Port &port, DictionaryAttr attributes) {
    if (auto type = attributes.getAs<TypeAttr>(kGlobalTypeAttr)) {
      std::optional<TensorType> global = TensorType::from(type.getValue());
      if (!global || global->element != port.local.element ||
          global->rank() != port.local.rank())
        return function.emitError()
               << port.place << ": " << kGlobalTypeAttr << " "
               << type.getValue() << " does not fit the local type "
               << port.local.str();
      port.global = *global;
    }
    port.digits.resize(port.global.rank());
    if (auto sharding = attributes.getAs<ShardingAttr>(kShardingAttr)) {
      if (!sharding.getPartial().empty())
        return function.emitError() << port.place << ": is a partial sum";
      FailureOr<DeviceGrid> own =
          DeviceGrid::lookUp(function, sharding.getMesh(), grid->numDevices());
      if (failed(own))
        return failure();
      port.grid = *own;
      for (auto [digits, dim] :
           llvm::zip_equal(port.digits, sharding.getDims())) {
        digits = port.grid->digitsOf(dim.getAxes());
      }
    }
    return verifyLocalShape(port);
  }

  LogicalResult verifyLocalShape(const Port &port) {
    for (auto [dim, digits] : llvm::enumerate(port.digits)) {
      int64_t shards = DeviceGrid::sizeOf(digits);
      int64_t rows = shardSize(port.global.shape[dim], shards);
      if (port.local.shape[dim] != rows)
        return function.emitError()
               << port.place << " dim " << dim << ": " << port.global.shape[dim]
               << " rows over " << shards << " devices make shards of " << rows
               << " rows but the local size is " << port.local.shape[dim];
    }
    return success();
  }

  FunctionOpInterface function;
  std::optional<DeviceGrid> grid;
};
} // namespace

/// Where the devices of a per-device program stand unless a sharding names
/// another mesh: on the first of the module. Without any there is one device.
static DeviceGrid gridOf(FunctionOpInterface function) {
  auto module = function->getParentOfType<ModuleOp>();
  for (MeshOp mesh : module.getOps<MeshOp>())
    return DeviceGrid(mesh.getMesh());
  return DeviceGrid(MeshAttr::get(function.getContext(), {}, {}));
}

static LogicalResult verifyNames(FunctionOpInterface function,
                                 ArrayRef<Port> ports) {
  llvm::StringMap<StringRef> placeOf;
  for (const Port &port : ports) {
    auto [earlier, isNew] = placeOf.try_emplace(port.name, port.place);
    if (!isNew)
      return function.emitError() << port.place << ": has the name \""
                                  << port.name << "\" of " << earlier->second;
  }
  return success();
}

FailureOr<Signature> Signature::read(FunctionOpInterface function) {
  Signature signature;
  std::optional<DeviceGrid> grid;
  if (function->hasAttr(kSpmdAttr)) {
    grid = gridOf(function);
    signature.numDevices = grid->numDevices();
  }
  Reader reader(function, grid);
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    FailureOr<Port> port = reader.readArgument(i);
    if (failed(port))
      return failure();
    signature.arguments.push_back(*port);
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    FailureOr<Port> port = reader.readResult(i);
    if (failed(port))
      return failure();
    signature.results.push_back(*port);
  }
  if (failed(verifyNames(function, signature.arguments)) ||
      failed(verifyNames(function, signature.results)))
    return failure();
  return signature;
}

} // namespace shoal::reference
