// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TaskReader.h"
#include "mlir/IR/TypeUtilities.h"
#include "shoal/CostModel/BufferBytes.h"
#include "shoal/CostModel/ScalarOperations.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Shoal/IR/LocationNotes.h"
#include "shoal/Dialect/Shoal/IR/NamePath.h"

using namespace mlir;
using namespace shoal;

static std::string typeOf(Value operand) {
  std::string text;
  llvm::raw_string_ostream(text) << getElementTypeOrSelf(operand.getType());
  return text;
}

Task TaskReader::read(Operation *op) const {
  auto call = dyn_cast<rt::RuntimeCallOpInterface>(op);
  Task task;
  // Loops of our own, whatever they are at this stage.
  bool isKernel = !call || call.runsKernel();
  task.name = isKernel ? "kernel" : op->getName().stripDialect();
  task.place = sourcePlace(op->getLoc());
  task.layer = namePath(op->getLoc());
  task.op = getNumberNote(op->getLoc());
  task.bytes = touchedBytes(op);
  task.isRagged = call && call.isRagged();
  if (auto found = program.filled.find(task.op.value_or(-1));
      task.isRagged && found != program.filled.end())
    task.filled = found->second;
  if (const auto *collective = findCollective(call)) {
    task.bytes = collective->first.bytes;
    CollectiveWork work = collective->second;
    work.packedBytes = call.getScratchBytes(meshes, onDevice);
    task.work = std::move(work);
  } else if (std::optional<ProductShape> shape =
                 call ? call.getProductShape() : std::nullopt) {
    task.work = ProductWork{typeOf(op->getOperand(0)), *shape};
  } else {
    task.work = KernelWork{countScalarOperations(op),
                           call ? call.countIndexedRows() : 0};
  }
  return task;
}

const std::pair<CollectiveCost, CollectiveWork> *
TaskReader::findCollective(rt::RuntimeCallOpInterface call) const {
  std::optional<int64_t> number =
      call ? call.getCollectiveNumber() : std::nullopt;
  auto known = static_cast<int64_t>(program.collectives.size());
  return number && *number < known ? &program.collectives[*number] : nullptr;
}
