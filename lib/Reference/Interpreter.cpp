// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Reference/Interpreter.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SaveAndRestore.h"
#include <unistd.h>

using namespace mlir;

#include "shoal/Reference/ReferenceInterface.cpp.inc"

namespace shoal::reference {

namespace {
/// The values of one block, each dropped after its last use: a global
/// program's values would not all fit into memory. What a region uses from
/// outside lives as long as its op runs.
class Values {
public:
  explicit Values(Values *outer) : outer(outer) {}

  void define(Value value, GridValue contents) {
    int64_t uses = std::distance(value.use_begin(), value.use_end());
    if (uses > 0)
      slots[value] = {std::move(contents), uses};
  }

  GridValues takeOperands(Operation *op) {
    GridValues operands;
    for (Value value : op->getOperands()) {
      auto slot = slots.find(value);
      if (slot == slots.end()) {
        operands.push_back(outer->read(value));
        continue;
      }
      if (--slot->second.usesLeft > 0) {
        operands.push_back(slot->second.contents);
        continue;
      }
      operands.push_back(std::move(slot->second.contents));
      slots.erase(slot);
    }
    return operands;
  }

  /// Counts the uses in regions of `op`, which has run.
  void dropCaptured(Operation *op) {
    for (Region &region : op->getRegions())
      region.walk([&](Operation *nested) {
        for (Value value : nested->getOperands()) {
          auto slot = slots.find(value);
          if (slot != slots.end() && --slot->second.usesLeft == 0)
            slots.erase(slot);
        }
      });
  }

private:
  struct Slot {
    GridValue contents;
    int64_t usesLeft;
  };

  const GridValue &read(Value value) {
    auto slot = slots.find(value);
    return slot == slots.end() ? outer->read(value) : slot->second.contents;
  }

  /// Of the block around this one; null in a function's.
  Values *outer;
  llvm::DenseMap<Value, Slot> slots;
};

/// The functions being run, outermost first, and how to run one more.
class Interpreter {
public:
  explicit Interpreter(int64_t numDevices) : numDevices(numDevices) {}

  FailureOr<GridValues> call(FunctionOpInterface function,
                             ArrayRef<GridValue> arguments, Operation *caller);

private:
  FailureOr<GridValues> runBlock(Block &block, ArrayRef<GridValue> arguments,
                                 Values *outer);
  FailureOr<GridValues> runOp(Operation *op, ArrayRef<GridValue> operands,
                              Values &values);
  FailureOr<GridValues> runRegions(RegionOpInterface op,
                                   ArrayRef<GridValue> operands,
                                   Values &values);
  FailureOr<GridValues> runCall(CallOpInterface op,
                                ArrayRef<GridValue> operands);
  FailureOr<GridValues> runOnEachDevice(ReferenceOpInterface op,
                                        ArrayRef<GridValue> operands);

  int64_t numDevices;
  llvm::SetVector<Operation *> active;
};
} // namespace

static LogicalResult verifyResultTypes(Operation *op) {
  for (Type type : op->getResultTypes())
    if (!TensorType::from(type))
      return op->emitOpError()
             << "has a result of type " << type
             << ", expected a tensor of static shape, of a supported element "
                "type and of at most 2^40 elements";
  return success();
}

/// What the results take, on all devices, is less than the machine has: the
/// system promises more, and ends who writes it.
static LogicalResult verifyMemory(Operation *op, int64_t numDevices) {
  static const double machine = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                                static_cast<double>(sysconf(_SC_PAGESIZE));
  double bytes = 0;
  for (Type type : op->getResultTypes())
    bytes += static_cast<double>(TensorType::from(type)->numElements()) *
             sizeof(Scalar) * numDevices;
  if (bytes <= machine)
    return success();
  return op->emitOpError() << "has results of "
                           << llvm::formatv(
                                  "{0:F1} GiB on {1} device(s), more "
                                  "than the {2:F1} GiB of memory that "
                                  "this machine has",
                                  bytes / (1 << 30), numDevices,
                                  machine / (1 << 30))
                                  .str();
}

FailureOr<GridValues> Interpreter::call(FunctionOpInterface function,
                                        ArrayRef<GridValue> arguments,
                                        Operation *caller) {
  if (!active.insert(function))
    return caller->emitOpError() << "calls @" << function.getName()
                                 << ", which is still running: recursion is "
                                    "not supported";
  Region &body = function.getFunctionBody();
  if (!body.hasOneBlock())
    return function->emitOpError()
           << (body.empty() ? "has no body to run"
                            : "has several blocks, which is not supported");
  FailureOr<GridValues> results =
      runBlock(body.front(), arguments, /*outer=*/nullptr);
  active.remove(function);
  return results;
}

FailureOr<GridValues> Interpreter::runBlock(Block &block,
                                            ArrayRef<GridValue> arguments,
                                            Values *outer) {
  Values values(outer);
  for (auto [argument, contents] :
       llvm::zip_equal(block.getArguments(), arguments))
    values.define(argument, contents);
  for (Operation &op : block) {
    GridValues operands = values.takeOperands(&op);
    if (op.hasTrait<OpTrait::ReturnLike>())
      return operands;
    FailureOr<GridValues> results = runOp(&op, operands, values);
    if (failed(results))
      return failure();
    for (auto [value, contents] : llvm::zip_equal(op.getResults(), *results))
      values.define(value, std::move(contents));
  }
  return block.getParentOp()->emitOpError() << "ends without a return";
}

FailureOr<GridValues> Interpreter::runOp(Operation *op,
                                         ArrayRef<GridValue> operands,
                                         Values &values) {
  if (failed(verifyResultTypes(op)) || failed(verifyMemory(op, numDevices)))
    return failure();
  if (auto local = dyn_cast<ReferenceOpInterface>(op))
    return runOnEachDevice(local, operands);
  if (auto grid = dyn_cast<GridOpInterface>(op))
    return grid.evaluateOnGrid(numDevices, operands);
  if (auto regions = dyn_cast<RegionOpInterface>(op))
    return runRegions(regions, operands, values);
  if (auto call = dyn_cast<CallOpInterface>(op))
    return runCall(call, operands);
  return op->emitOpError() << "has no meaning in the reference interpreter";
}

FailureOr<GridValues> Interpreter::runRegions(RegionOpInterface op,
                                              ArrayRef<GridValue> operands,
                                              Values &values) {
  auto run = [&](Region &region, ArrayRef<GridValue> arguments,
                 int64_t devices) -> FailureOr<GridValues> {
    llvm::SaveAndRestore onDevices(numDevices, devices);
    return runBlock(region.front(), arguments, &values);
  };
  FailureOr<GridValues> results =
      op.evaluateWithRegions(numDevices, operands, run);
  values.dropCaptured(op);
  return results;
}

FailureOr<GridValues> Interpreter::runCall(CallOpInterface op,
                                           ArrayRef<GridValue> operands) {
  auto callee = dyn_cast_if_present<FunctionOpInterface>(op.resolveCallable());
  if (!callee)
    return op.emitOpError() << "calls something other than a function";
  return call(callee, operands, op);
}

FailureOr<GridValues>
Interpreter::runOnEachDevice(ReferenceOpInterface op,
                             ArrayRef<GridValue> operands) {
  GridValues results(op->getNumResults());
  for (int64_t device = 0; device < numDevices; ++device) {
    SmallVector<Tensor, 4> own;
    for (const GridValue &operand : operands)
      own.push_back(operand[device]);
    FailureOr<Tensors> made = op.evaluate(own);
    if (failed(made))
      return failure();
    for (auto [result, tensor] : llvm::zip_equal(results, *made))
      result.push_back(std::move(tensor));
  }
  return results;
}

FailureOr<GridValues> interpret(FunctionOpInterface function,
                                ArrayRef<GridValue> arguments,
                                int64_t numDevices) {
  return Interpreter(numDevices).call(function, arguments, function);
}

} // namespace shoal::reference
