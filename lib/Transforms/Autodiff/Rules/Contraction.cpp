// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Products: the gradient of an operand is the product of the cotangent and the
// other operand, summed over the letters that the operand has not.

#include "Rules.h"
#include "shoal/Dialect/Shoal/IR/ContractionOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace shoal;

using Term = SmallVector<char, 6>;

static std::string join(ArrayRef<Term> inputs, const Term &result) {
  auto texts = llvm::map_range(
      inputs, [](const Term &t) { return std::string(t.begin(), t.end()); });
  return llvm::join(texts, ",") + "->" +
         std::string(result.begin(), result.end());
}

static bool isNarrow(Value value) {
  return tensorTypeOf(value).getElementTypeBitWidth() < 16;
}

/// The shape of a tensor with the letters `term`, as `like` has them by
/// `letters`.
static SmallVector<int64_t> shapeOf(const Term &term, const Term &letters,
                                    Value like) {
  SmallVector<int64_t> shape;
  for (char letter : term)
    shape.push_back(tensorTypeOf(like).getDimSize(llvm::find(letters, letter) -
                                                  letters.begin()));
  return shape;
}

namespace {

struct Einsum : DifferentiableOpInterface::ExternalModel<Einsum, EinsumOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<EinsumOp>(operation);
    for (unsigned i = 0; i < op.getInputs().size(); ++i)
      if (vjp.wants(i))
        vjp.add(i, transposed(op, i, vjp.cotangent(), vjp.b));
    return success();
  }

private:
  static Value transposed(EinsumOp op, unsigned i, Value g, TensorBuilder &b) {
    EinsumSpec spec = op.getTerms();
    Value operand = op.getInputs()[i];
    SmallVector<Term> terms{spec.result};
    SmallVector<Value> inputs{g};
    if (op.getInputs().size() == 2) {
      Value other = op.getInputs()[1 - i];
      // A product takes one type of elements: the narrower one's, as the
      // forward product did. Products of 8 bits have no result of 8 bits.
      if (isNarrow(other))
        other = b.convert(other, getElementTypeOrSelf(g));
      inputs = {b.convert(g, getElementTypeOrSelf(other)), other};
      terms.push_back(spec.inputs[1 - i]);
    }
    // A letter that is summed alone has the same gradient everywhere.
    Term kept;
    for (char letter : spec.inputs[i])
      if (!llvm::is_contained(kept, letter) &&
          llvm::any_of(terms, [&](const Term &term) {
            return llvm::is_contained(term, letter);
          }))
        kept.push_back(letter);
    Type element = isNarrow(operand) ? getElementTypeOrSelf(inputs[0])
                                     : getElementTypeOrSelf(operand);
    if (inputs.size() == 1)
      element = getElementTypeOrSelf(g);
    auto type =
        RankedTensorType::get(shapeOf(kept, spec.inputs[i], operand), element);
    Value product = EinsumOp::create(b, type, join(terms, kept), inputs);
    return b.convert(spread(product, kept, spec.inputs[i], operand, b),
                     getElementTypeOrSelf(operand));
  }

  /// `product`, of the letters `kept`, along the letters `term` of `operand`:
  /// a repeated letter's elements are those of its diagonal, zero elsewhere.
  static Value spread(Value product, const Term &kept, const Term &term,
                      Value operand, TensorBuilder &b) {
    if (kept == term)
      return product;
    SmallVector<int64_t> dims;
    for (char letter : kept)
      dims.push_back(llvm::find(term, letter) - term.begin());
    ArrayRef<int64_t> shape = tensorTypeOf(operand).getShape();
    Value result = b.broadcast(product, shape, dims);
    for (auto [dim, letter] : llvm::enumerate(term)) {
      int64_t first = llvm::find(term, letter) - term.begin();
      if (first == static_cast<int64_t>(dim))
        continue;
      Value mask = b.compare(arith::CmpIPredicate::eq,
                             b.iota(shape, b.getI32Type(), first),
                             b.iota(shape, b.getI32Type(), dim));
      result = b.keepWhere(mask, result);
    }
    return result;
  }
};

/// The same exchange of terms; groups and the ragged letter stay. Rows of no
/// group have gradients of exact zeros.
struct RaggedEinsum
    : DifferentiableOpInterface::ExternalModel<RaggedEinsum, RaggedEinsumOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<RaggedEinsumOp>(operation);
    for (unsigned i : {0, 1})
      if (vjp.wants(i))
        vjp.add(i, transposed(op, i, vjp.cotangent(), vjp.b));
    return success();
  }

private:
  static Value transposed(RaggedEinsumOp op, unsigned i, Value g,
                          TensorBuilder &b) {
    EinsumSpec spec = op.getTerms();
    Value operand = op->getOperand(i), other = op->getOperand(1 - i);
    Term letters = spec.result;
    // A letter that stands in this operand alone: its gradient is the same
    // along it, but for the rows of no group.
    for (char letter : spec.inputs[i])
      if (!llvm::is_contained(letters, letter) &&
          !llvm::is_contained(spec.inputs[1 - i], letter) &&
          !llvm::is_contained(spec.inputs[2], letter)) {
        SmallVector<int64_t> shape(tensorTypeOf(g).getShape());
        auto dims = llvm::to_vector(llvm::seq<int64_t>(shape.size()));
        shape.append(shapeOf({letter}, spec.inputs[i], operand));
        g = b.broadcast(g, shape, dims);
        letters.push_back(letter);
      }
    g = b.convert(g, getElementTypeOrSelf(other));
    SmallVector<Term> terms{letters, spec.inputs[1 - i]};
    SmallVector<Value> inputs{g, other};
    if (i == 1) {
      std::swap(terms[0], terms[1]);
      std::swap(inputs[0], inputs[1]);
    }
    terms.push_back(spec.inputs[2]);
    return RaggedEinsumOp::create(
        b, operand.getType(), join(terms, spec.inputs[i]), op.getRows(),
        inputs[0], inputs[1], op.getBegins(), op.getEnds());
  }
};

} // namespace

void shoal::registerContractionDerivativeRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    EinsumOp::attachInterface<Einsum>(*context);
    RaggedEinsumOp::attachInterface<RaggedEinsum>(*context);
  });
}
