// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Explain.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Transforms/Sparse/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

/// Smaller tensors are nobody's concern.
static constexpr int64_t kLargeBytes = 1 << 20;

Explanation::Explanation(func::FuncOp function, const Forms &forms,
                         const Demand &demand)
    : function(function) {
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->getNumResults() != 1)
      return;
    describe(op, forms, demand);
    describeWhole(op, forms, demand);
  });
}

void Explanation::describe(Operation *op, const Forms &forms,
                           const Demand &demand) {
  Value result = op->getResult(0);
  const Note *note = forms.lookupNote(result);
  if (!note || op->getNumOperands() < 2)
    return;
  std::string subject = op->getName().stripDialect().str();
  if (auto spec = op->getAttrOfType<StringAttr>("spec"))
    subject += " \"" + spec.str() + "\"";
  bool isWhole = demand.getWhole().contains(result);
  std::string verdict = !isWhole         ? "sampled"
                        : note->isSparse ? "sparse"
                                         : "dense";
  lines.push_back({op, verdict, subject, note->text});
}

void Explanation::describeWhole(Operation *op, const Forms &forms,
                                const Demand &demand) {
  Value result = op->getResult(0);
  const Form *form = forms.lookup(result);
  if (!form || !demand.getWhole().contains(result))
    return;
  RankedTensorType type = tensorType(result);
  int64_t bytes = type.getNumElements() *
                  llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  if (bytes < kLargeBytes)
    return;
  // One of them is enough: the first of the program.
  Operation *reader = nullptr;
  for (Operation *user : result.getUsers()) {
    bool isMade = llvm::any_of(user->getResults(), [&](Value other) {
      return demand.getWhole().contains(other);
    });
    if ((isMade || user->getNumResults() == 0) &&
        (!reader || (user->getBlock() == reader->getBlock() &&
                     user->isBeforeInBlock(reader))))
      reader = user;
  }
  std::string readers =
      reader ? llvm::formatv("read by {0} at {1}", reader->getName(),
                             sourcePlace(reader->getLoc()))
                   .str()
             : "read by what others are made of";
  std::string subject;
  llvm::raw_string_ostream(subject)
      << type << " of " << llvm::formatv("{0:N}", bytes) << " bytes";
  lines.push_back({op, "whole", subject, readers});
}

void Explanation::attach() {
  if (lines.empty())
    return;
  SmallVector<std::string> texts;
  for (const Line &line : lines)
    texts.push_back(llvm::formatv("{0}: {1} at {2}: {3}", line.verdict,
                                  line.subject, sourcePlace(line.op->getLoc()),
                                  line.reason));
  Builder builder(function.getContext());
  function->setAttr(kOneHotsAttr, builder.getStrArrayAttr(llvm::map_to_vector(
                                      texts, [](const std::string &text) {
                                        return StringRef(text);
                                      })));
}

void Explanation::remark() {
  for (const Line &line : lines)
    line.op->emitRemark() << line.verdict << ": " << line.subject << ": "
                          << line.reason;
}
