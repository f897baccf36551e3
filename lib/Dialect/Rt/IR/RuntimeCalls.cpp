// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Rt/IR/RuntimeCalls.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace shoal;
using namespace shoal::rt;

//===----------------------------------------------------------------------===//
// Encodings
//===----------------------------------------------------------------------===//

ProgramMeshes::ProgramMeshes(ModuleOp module) {
  for (auto mesh : module.getOps<MeshOp>())
    meshes.insert({mesh.getSymNameAttr(), mesh.getMesh()});
}

int64_t ProgramMeshes::numberOf(FlatSymbolRefAttr mesh) const {
  const auto *found = meshes.find(mesh.getAttr());
  assert(found != meshes.end() && "(R3) of every call");
  return found - meshes.begin();
}

MeshAttr ProgramMeshes::get(FlatSymbolRefAttr mesh) const {
  return meshes.lookup(mesh.getAttr());
}

calls::Axes ProgramMeshes::encode(FlatSymbolRefAttr symbol,
                                  AxesAttr axes) const {
  MeshAttr mesh = get(symbol);
  calls::Axes list;
  for (AxisRefAttr axis : axes.getAxes()) {
    const MeshAxisAttr *place =
        llvm::find_if(mesh.getAxes(), [&](MeshAxisAttr candidate) {
          return candidate.getName() == axis.getName();
        });
    list.push_back({place - mesh.getAxes().begin(), axis.getPreSize(),
                    axis.getSizeIn(mesh)});
  }
  return list;
}

static constexpr StringLiteral kStreamsAttr = "shoal.collective_streams";

CollectiveStreams::CollectiveStreams(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  if (auto noted = module->getAttrOfType<DenseI64ArrayAttr>(kStreamsAttr))
    streams.assign(noted.asArrayRef().begin(), noted.asArrayRef().end());
}

void CollectiveStreams::note(ModuleOp module, ArrayRef<int64_t> streams) {
  if (llvm::any_of(streams, [](int64_t stream) { return stream != 0; }))
    module->setAttr(kStreamsAttr,
                    DenseI64ArrayAttr::get(module.getContext(), streams));
}

int64_t CollectiveStreams::of(int64_t number) const {
  return number < std::ssize(streams) ? streams[number] : 0;
}

std::optional<calls::ElementType> shoal::rt::findElementType(Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << getElementTypeOrSelf(type);
  return support::parseElementType(name);
}

calls::ElementType shoal::rt::encodeType(Type type) {
  std::optional<calls::ElementType> code = findElementType(type);
  assert(code && "(R1) of every call");
  return *code;
}

calls::Kind shoal::rt::encodeKind(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
    return calls::Kind::Sum;
  case ReduceKind::Prod:
    return calls::Kind::Prod;
  case ReduceKind::Max:
    return calls::Kind::Max;
  case ReduceKind::Min:
    return calls::Kind::Min;
  case ReduceKind::And:
    return calls::Kind::And;
  case ReduceKind::Or:
    return calls::Kind::Or;
  }
  llvm_unreachable("all kinds are listed");
}

std::vector<int64_t> shoal::rt::encodeShape(Value value) {
  return cast<ShapedType>(value.getType()).getShape().vec();
}

int64_t shoal::rt::countBytes(ValueRange values) {
  int64_t bytes = 0;
  for (Value value : values)
    if (auto type = dyn_cast<ShapedType>(value.getType()))
      bytes += type.getNumElements() *
               llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  return bytes;
}

//===----------------------------------------------------------------------===//
// Laws and effects
//===----------------------------------------------------------------------===//

/// Whether the elements lie one behind the other, wherever they begin.
static bool isDense(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  return type.getLayout().isIdentity() ||
         memref::isStaticShapeAndContiguousRowMajor(type);
}

/// (R1)
static LogicalResult verifyOperand(RuntimeCallOpInterface call, Value operand,
                                   bool onTensors) {
  auto type = cast<ShapedType>(operand.getType());
  bool isExpected =
      onTensors ? isa<RankedTensorType>(type) : isa<MemRefType>(type);
  if (!isExpected || !type.hasStaticShape())
    return call->emitOpError("expected operands to be all static ")
           << (onTensors ? "tensors" : "memrefs") << " but got " << type;
  if (!isCountable(type.getShape()))
    return call->emitOpError("expected less than 2^56 elements but got ")
           << type;
  if (call.takesAnyMemref())
    return success();
  if (!onTensors && !isDense(operand))
    return call->emitOpError("expected dense memrefs but got ") << type;
  if (!findElementType(type))
    return call->emitOpError("the runtime has no elements of ")
           << type.getElementType();
  return success();
}

LogicalResult shoal::rt::verifyCall(Operation *op) {
  auto call = cast<RuntimeCallOpInterface>(op);
  // A call that writes nothing tells by its operands.
  auto destination = dyn_cast<DestinationStyleOpInterface>(op);
  bool onTensors =
      llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>) ||
      (destination && destination.getNumDpsInits() == 0 &&
       llvm::any_of(op->getOperandTypes(), llvm::IsaPred<TensorType>));
  for (Value operand : op->getOperands())
    if (failed(verifyOperand(call, operand, onTensors)))
      return failure();
  if (std::optional<int64_t> number = call.getCollectiveNumber();
      number && *number < 0) // (R5)
    return op->emitOpError("collective: expected a number of at least 0 but "
                           "got ")
           << *number;
  return success();
}

void shoal::rt::listCallEffects(
    Operation *op,
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (cast<RuntimeCallOpInterface>(op).doesMoreThanWrite())
    effects.emplace_back(MemoryEffects::Write::get());
  if (op->getNumResults() != 0)
    return;
  auto destination = cast<DestinationStyleOpInterface>(op);
  bool readsOutputs = cast<RuntimeCallOpInterface>(op).readsOutputs();
  MutableOperandRange scratch =
      cast<RuntimeCallOpInterface>(op).getScratchMutable();
  for (OpOperand &operand : op->getOpOperands()) {
    if (isa<TensorType>(operand.get().getType()))
      continue;
    bool isOutput =
        destination.isDpsInit(&operand) || llvm::is_contained(scratch, operand);
    if (!isOutput || readsOutputs)
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
    if (isOutput)
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
}

//===----------------------------------------------------------------------===//
// Bufferization
//===----------------------------------------------------------------------===//

static Value allocateDense(OpBuilder &builder, Location loc, Value like) {
  auto type = cast<MemRefType>(like.getType());
  return memref::AllocOp::create(
      builder, loc, MemRefType::get(type.getShape(), type.getElementType()));
}

LogicalResult shoal::rt::bufferizeCall(RewriterBase &rewriter, Operation *op,
                                       const BufferizationOptions &options,
                                       BufferizationState &state) {
  auto destination = cast<DestinationStyleOpInterface>(op);
  bool readsOutputs = cast<RuntimeCallOpInterface>(op).readsOutputs();
  Location loc = op->getLoc();
  SmallVector<Value> operands, written, results;
  for (OpOperand &operand : op->getOpOperands()) {
    FailureOr<Value> buffer =
        getBuffer(rewriter, operand.get(), options, state);
    if (failed(buffer))
      return failure();
    bool isOutput = destination.isDpsInit(&operand);
    Value dense = *buffer;
    if (!isDense(*buffer)) { // The runtime takes dense arrays only.
      dense = allocateDense(rewriter, loc, *buffer);
      if (!isOutput || readsOutputs)
        memref::CopyOp::create(rewriter, loc, *buffer, dense);
    }
    operands.push_back(dense);
    if (isOutput) {
      written.push_back(dense);
      results.push_back(*buffer);
    }
  }
  clone(rewriter, op, TypeRange(), operands);
  for (auto [dense, result] : llvm::zip_equal(written, results))
    if (dense != result)
      memref::CopyOp::create(rewriter, loc, dense, result);
  replaceOpWithBufferizedValues(rewriter, op, results);
  return success();
}
