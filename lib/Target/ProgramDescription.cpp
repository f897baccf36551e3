// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Target/ProgramDescription.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/Addends.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Dialect/Shoal/IR/CodedArrays.h"
#include "shoal/Dialect/Shoal/IR/ComplexArrays.h"
#include "shoal/Dialect/Shoal/IR/Donation.h"
#include "shoal/Dialect/Shoal/IR/HostCallOps.h"
#include "shoal/Dialect/Shoal/IR/Roles.h"
#include "shoal/Sharding/Mesh.h"
#include "shoal/Transforms/Rematerialize/Rematerialize.h"
#include "shoal/Transforms/Sparse/Passes.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace shoal;

static constexpr StringLiteral kGlobalFlopsAttr = "shoal.global_einsum_flops";

int64_t ProgramDescription::argumentBytes() const {
  int64_t bytes = sharedBytes;
  for (const TensorDescription &tensor :
       llvm::concat<const TensorDescription>(inputs, outputs))
    if (tensor.donor < 0 && tensor.offset < 0)
      bytes += sizeInBytes(tensor.localType);
  return bytes;
}

void shoal::takeDonors(Operation *function, ProgramDescription &program) {
  auto donors =
      dyn_cast_if_present<DenseI64ArrayAttr>(function->removeAttr(kDonorsAttr));
  if (donors)
    for (auto [output, donor] :
         llvm::zip_equal(program.outputs, donors.asArrayRef()))
      output.donor = donor;
}

FailureOr<func::FuncOp> shoal::findProgram(ModuleOp module) {
  func::FuncOp found;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (!func.isPublic())
      continue;
    if (found) {
      InFlightDiagnostic error = func.emitError(
          "expected one public function in a per-device program");
      error.attachNote(found.getLoc()) << "another one is here";
      return failure();
    }
    found = func;
  }
  if (!found || found.isExternal() || !found->hasAttr(kSpmdAttr))
    return module.emitError("expected a per-device program: a public function "
                            "with the attribute ")
           << kSpmdAttr;
  return found;
}

//===----------------------------------------------------------------------===//
// From the IR
//===----------------------------------------------------------------------===//

/// Checks that the shards of the global tensor have the local shape.
static LogicalResult verifyShard(func::FuncOp func,
                                 const TensorDescription &tensor) {
  auto error = [&]() {
    return func.emitError() << "\"" << tensor.name << "\": ";
  };
  auto mesh = tensor.sharding ? SymbolTable::lookupNearestSymbolFrom<MeshOp>(
                                    func, tensor.sharding.getMesh())
                              : MeshOp();
  if (tensor.sharding && !mesh)
    return error() << "the mesh " << tensor.sharding.getMesh()
                   << " is not declared";
  SmallVector<int64_t> shard(tensor.globalType.getShape());
  if (tensor.sharding)
    for (auto [size, dim] : llvm::zip(shard, tensor.sharding.getDims()))
      for (AxisRefAttr axis : dim.getAxes())
        size = shardSize(size, axis.getSizeIn(mesh.getMesh()));
  if (tensor.localType.getShape() != ArrayRef(shard))
    return error() << "expected shards of " << tensor.globalType << " to be "
                   << tensor.globalType.clone(shard) << " but got "
                   << tensor.localType;
  return success();
}

static FailureOr<TensorDescription> describe(func::FuncOp func, Type type,
                                             DictionaryAttr attrs,
                                             std::string defaultName) {
  TensorDescription tensor;
  auto name = attrs.getAs<StringAttr>(kNameAttr);
  tensor.name = name ? name.str() : std::move(defaultName);
  tensor.isDonated = bool(attrs.get(kDonatedAttr));
  tensor.localType = dyn_cast<RankedTensorType>(type);
  if (!tensor.localType || !tensor.localType.hasStaticShape())
    return func.emitError()
           << "\"" << tensor.name
           << "\": expected a tensor of static shape but got " << type;
  tensor.sharding = attrs.getAs<ShardingAttr>(kShardingAttr);
  tensor.isUnsigned = attrs.contains(kUnsignedAttr);
  tensor.isComplex = attrs.contains(kComplexAttr);
  if (auto codes = attrs.getAs<StringAttr>(kCodesAttr))
    tensor.codes = codes.str();
  tensor.isAddends = attrs.contains(kAddendsAttr);
  auto global = attrs.getAs<TypeAttr>(kGlobalTypeAttr);
  tensor.globalType = tensor.localType;
  if (global)
    tensor.globalType = dyn_cast<RankedTensorType>(global.getValue());
  if (!tensor.globalType ||
      tensor.globalType.getElementType() != tensor.localType.getElementType())
    return func.emitError()
           << "\"" << tensor.name << "\": expected " << kGlobalTypeAttr
           << " to be a tensor of " << tensor.localType.getElementType();
  if (failed(verifyShard(func, tensor)))
    return failure();
  return tensor;
}

/// Describes arguments or results: `attrsOf(i)` are those of the i-th.
static LogicalResult
describeAll(func::FuncOp func, TypeRange types, StringRef prefix,
            llvm::function_ref<DictionaryAttr(unsigned)> attrsOf,
            SmallVectorImpl<TensorDescription> &tensors) {
  llvm::StringSet<> names;
  for (auto [number, type] : llvm::enumerate(types)) {
    DictionaryAttr attrs = attrsOf(number);
    if (!attrs)
      attrs = DictionaryAttr::get(func.getContext());
    auto tensor =
        describe(func, type, attrs, llvm::formatv("{0}{1}", prefix, number));
    if (failed(tensor))
      return failure();
    if (!names.insert(tensor->name).second)
      return func.emitError()
             << "the name \"" << tensor->name << "\" occurs twice";
    tensors.push_back(*tensor);
  }
  return success();
}

static LogicalResult describeMeshes(ModuleOp module,
                                    ProgramDescription &program) {
  MeshOp first;
  for (auto mesh : module.getOps<MeshOp>()) {
    int64_t devices = mesh.getMesh().getNumDevices();
    if (!program.meshes.empty() && devices != program.devices) {
      InFlightDiagnostic error = mesh.emitError()
                                 << "has " << devices
                                 << " devices, but another mesh has "
                                 << program.devices;
      error.attachNote(first.getLoc()) << "it is here";
      return failure();
    }
    if (!first)
      first = mesh;
    program.devices = devices;
    program.meshes.push_back(
        {mesh.getSymName().str(), mesh.getMesh(),
         llvm::map_to_vector(mesh.getMesh().getAxes(), [&](MeshAxisAttr axis) {
           return rolesOf(axis.getName(), mesh);
         })});
  }
  return success();
}

static double readGlobalFlops(ModuleOp module, func::FuncOp func) {
  Attribute attr = func->getAttr(kGlobalFlopsAttr);
  if (!attr)
    attr = module->getAttr(kGlobalFlopsAttr);
  if (auto number = dyn_cast_if_present<FloatAttr>(attr))
    return number.getValueAsDouble();
  if (auto number = dyn_cast_if_present<IntegerAttr>(attr))
    return number.getValue().signedRoundToDouble();
  return 0;
}

/// In program order.
static void describeHostCalls(func::FuncOp func, ProgramDescription &program) {
  func.walk([&](Operation *op) {
    if (auto call = dyn_cast<HostCallOp>(op))
      program.hostCalls.push_back(
          {call.getNumber(), call.getCallee().str(), call.getLoc()});
    if (isa<PrintOp>(op))
      program.hostCalls.push_back({std::nullopt, "print", op->getLoc()});
  });
}

/// An attribute of texts; none where it is absent.
static std::vector<std::string> readLines(func::FuncOp func, StringRef name) {
  std::vector<std::string> lines;
  if (auto array = func->getAttrOfType<ArrayAttr>(name))
    for (auto line : array.getAsRange<StringAttr>())
      lines.push_back(line.str());
  return lines;
}

FailureOr<ProgramDescription> shoal::describeProgram(ModuleOp module) {
  FailureOr<func::FuncOp> found = findProgram(module);
  if (failed(found))
    return failure();
  func::FuncOp func = *found;
  ProgramDescription program;
  program.name = func.getName();
  if (failed(describeMeshes(module, program)) ||
      failed(describeAll(
          func, func.getArgumentTypes(), "arg",
          [&](unsigned i) { return func.getArgAttrDict(i); },
          program.inputs)) ||
      failed(describeAll(
          func, func.getResultTypes(), "result",
          [&](unsigned i) { return func.getResultAttrDict(i); },
          program.outputs)))
    return failure();
  program.collectives = listCollectives(module);
  describeHostCalls(func, program);
  func.walk([&](rt::CheckOp) { ++program.checks; });
  program.arithmetic = countArithmetic(func);
  program.oneHots = readLines(func, kOneHotsAttr);
  program.rematerialized = readLines(func, kRematerializedAttr);
  program.certificate = Certificate::fromAttr(func->getAttr(kCertificateAttr));
  program.globalEinsumFlops = readGlobalFlops(module, func);
  return program;
}

//===----------------------------------------------------------------------===//
// To JSON
//===----------------------------------------------------------------------===//

static std::string print(Attribute attr, StringRef prefix) {
  std::string text;
  llvm::raw_string_ostream(text) << attr;
  StringRef rest = text;
  rest.consume_front(prefix);
  return rest.str();
}

static llvm::json::Value toJSON(const MeshDescription &description) {
  MeshAttr mesh = description.mesh;
  llvm::json::Array axes;
  for (auto [axis, roles] : llvm::zip_equal(mesh.getAxes(), description.roles))
    axes.push_back(llvm::json::Object{
        {"name", axis.getName()}, {"size", axis.getSize()}, {"roles", roles}});
  llvm::json::Value ids = nullptr;
  if (!mesh.getDeviceIds().empty())
    ids = llvm::json::Array(mesh.getDeviceIds());
  return llvm::json::Object{{"name", description.name},
                            {"axes", std::move(axes)},
                            {"device_ids", std::move(ids)}};
}

llvm::json::Array shoal::toMetadata(ArrayRef<AxisRefAttr> axes, MeshAttr mesh) {
  llvm::json::Array list;
  for (AxisRefAttr axis : axes) {
    const auto *place =
        llvm::find_if(mesh.getAxes(), [&](MeshAxisAttr candidate) {
          return candidate.getName() == axis.getName();
        });
    list.push_back(llvm::json::Object{{"axis", place - mesh.getAxes().begin()},
                                      {"pre", axis.getPreSize()},
                                      {"size", axis.getSizeIn(mesh)}});
  }
  return list;
}

static llvm::json::Value toJSON(const TensorDescription &tensor,
                                ArrayRef<MeshDescription> meshes) {
  int64_t number = 0;
  llvm::json::Array dims;
  std::string sharding;
  if (tensor.sharding) {
    const MeshDescription *mesh =
        llvm::find_if(meshes, [&](const MeshDescription &candidate) {
          return candidate.name == tensor.sharding.getMesh().getValue();
        });
    number = mesh - meshes.begin();
    for (DimShardingAttr dim : tensor.sharding.getDims())
      dims.push_back(toMetadata(dim.getAxes(), mesh->mesh));
    sharding = print(tensor.sharding, "#shoal.sharding");
  } else {
    for (int64_t dim = 0; dim < tensor.globalType.getRank(); ++dim)
      dims.push_back(llvm::json::Array());
  }
  std::string dtype;
  llvm::raw_string_ostream(dtype) << tensor.globalType.getElementType();
  llvm::json::Object object{
      {"name", tensor.name},
      {"dtype", dtype},
      {"unsigned", tensor.isUnsigned},
      {"shape", llvm::json::Array(tensor.globalType.getShape())},
      {"local_shape", llvm::json::Array(tensor.localType.getShape())},
      {"mesh", number},
      {"dims", std::move(dims)},
      {"sharding", sharding}};
  if (tensor.isComplex)
    object["complex"] = true;
  if (!tensor.codes.empty())
    object["codes"] = tensor.codes;
  if (tensor.isAddends)
    object["addends"] = true;
  if (tensor.isDonated)
    object["donated"] = true;
  if (tensor.donor >= 0)
    object["donor"] = tensor.donor;
  if (tensor.offset >= 0)
    object["offset"] = tensor.offset;
  return object;
}

static llvm::json::Value toJSON(const HostCallDescription &call) {
  llvm::json::Value number = nullptr;
  if (call.number)
    number = *call.number;
  return llvm::json::Object{{"number", std::move(number)},
                            {"name", call.name},
                            {"loc", sourcePlace(call.location)}};
}

llvm::json::Value shoal::toMetadata(const ProgramDescription &program,
                                    StringRef target, int64_t arenaBytes) {
  llvm::json::Array meshes, inputs, outputs, collectives, hostCalls, products;
  for (const MeshDescription &mesh : program.meshes)
    meshes.push_back(toJSON(mesh));
  if (meshes.empty())
    meshes.push_back(llvm::json::Object{
        {"name", ""}, {"axes", llvm::json::Array()}, {"device_ids", nullptr}});
  for (const TensorDescription &tensor : program.inputs)
    inputs.push_back(toJSON(tensor, program.meshes));
  for (const TensorDescription &tensor : program.outputs)
    outputs.push_back(toJSON(tensor, program.meshes));
  for (const CollectiveCost &collective : program.collectives)
    collectives.push_back(
        llvm::json::Object{{"id", int64_t(collectives.size())},
                           {"kind", collective.kind},
                           {"axes", collective.axes},
                           {"bytes", collective.bytes},
                           {"loc", collective.location},
                           {"reason", collective.reason},
                           {"stream", collective.stream}});
  for (const HostCallDescription &call : program.hostCalls)
    hostCalls.push_back(toJSON(call));
  for (const ProductCall &product : program.products)
    products.push_back(
        llvm::json::Object{{"ragged", product.isRagged},
                           {"desc", product.desc},
                           {"loc", sourcePlace(product.location)}});
  return llvm::json::Object{{"name", program.name},
                            {"devices", program.devices},
                            {"target", target},
                            {"arena_bytes", arenaBytes},
                            {"shared_bytes", program.sharedBytes},
                            {"meshes", std::move(meshes)},
                            {"inputs", std::move(inputs)},
                            {"outputs", std::move(outputs)},
                            {"collectives", std::move(collectives)},
                            {"host_calls", std::move(hostCalls)},
                            {"checks", program.checks},
                            {"products", std::move(products)}};
}
