// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The laws of forms (docs/internals/Sparse.md) on small programs: what a form
// or a rewrite says of each element is what the interpreter finds there, and
// there are no more exceptions than the law says.

#include "Transforms/Sparse/Forms.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "shoal/Dialect/Shoal/FactorRules/FactorRules.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"
#include "shoal/Reference/Interpreter.h"
#include "shoal/Reference/Models.h"
#include "shoal/Transforms/Sparse/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"
#include <functional>
#include <random>

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

namespace {

/// Calls visit(index) for each index of the shape.
void forEachIndex(ArrayRef<int64_t> shape,
                  function_ref<void(ArrayRef<int64_t>)> visit) {
  SmallVector<int64_t> index(shape.size(), 0);
  std::function<void(size_t)> walk = [&](size_t dim) {
    if (dim == shape.size())
      return visit(index);
    for (index[dim] = 0; index[dim] < shape[dim]; ++index[dim])
      walk(dim + 1);
  };
  walk(0);
}

int64_t offsetOf(ArrayRef<int64_t> shape, ArrayRef<int64_t> index) {
  int64_t offset = 0;
  for (auto [size, at] : llvm::zip_equal(shape, index))
    offset = offset * size + at;
  return offset;
}

/// One-hots [6, 4] and [6, 3] of places that may be out of range, as numbers.
constexpr const char *kOneHots = R"(
  %ei = shoal.iota dim = 1 : tensor<6x4xi32>
  %eb = shoal.broadcast_in_dim %e dims = [0] : tensor<6xi32> -> tensor<6x4xi32>
  %em = arith.cmpi eq, %ei, %eb : tensor<6x4xi32>
  %eh = arith.uitofp %em : tensor<6x4xi1> to tensor<6x4xf32>
  %ci = shoal.iota dim = 1 : tensor<6x3xi32>
  %cb = shoal.broadcast_in_dim %c dims = [0] : tensor<6xi32> -> tensor<6x3xi32>
  %cm = arith.cmpi eq, %cb, %ci : tensor<6x3xi32>
  %ch = arith.uitofp %cm : tensor<6x3xi1> to tensor<6x3xf32>
  %zero = arith.constant dense<0.0> : tensor<6x4xf32>
)";

class SparseLaws : public testing::Test {
protected:
  SparseLaws() {
    DialectRegistry registry;
    registry.insert<ShoalDialect, arith::ArithDialect, func::FuncDialect>();
    registerFactorRuleModels(registry);
    registerElementModels(registry);
    reference::registerReferenceModels(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// A function of %e, %c: tensor<6xi32> and `arguments`, with the one-hots of
  /// the former; all that it computes is interpreted, analysed and compared.
  void check(StringRef arguments, StringRef body) {
    std::string text = ("func.func @main(%e: tensor<6xi32>, %c: tensor<6xi32>" +
                        arguments + ") {" + kOneHots + body + "\nreturn }")
                           .str();
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    function = *module->getOps<func::FuncOp>().begin();
    numbers.clear();
    returnAll();
    forms.emplace(terms.emplace(&context), /*minGain=*/0);
    function.walk<WalkOrder::PreOrder>(
        [&](Operation *op) { forms->analyze(op); });
    for (int round = 0; round < 20; ++round)
      ASSERT_NO_FATAL_FAILURE(compare());
  }

  /// The number of exceptions of the last result, and its dimensions.
  std::string lastForm() {
    const Form *form = forms->lookup(lastResult());
    if (!form)
      return forms->lookupRewrite(lastResult()) ? "rewrite" : "none";
    std::string text = llvm::utostr(form->exceptions.size()) + " in";
    for (Term dim : form->dims)
      text += " " + llvm::itostr(dim->id);
    return text + (form->isDistinct ? "" : ", may meet");
  }

  /// Whether its rows are those of a tensor, times nothing.
  bool scattersRowsAsTheyAre() {
    return scattersRows() &&
           llvm::all_of(
               forms->lookupRewrite(lastResult())->rows->exceptions,
               [](const Exception &row) { return row.value->isElement(); });
  }

  bool scattersRows() {
    const Rewrite *rewrite = forms->lookupRewrite(lastResult());
    return rewrite && rewrite->rows;
  }

private:
  Value lastResult() {
    return function.front().getTerminator()->getPrevNode()->getResult(0);
  }

  void returnAll() {
    Operation *end = function.front().getTerminator();
    SmallVector<Value> all;
    for (Operation &op : function.front().without_terminator())
      llvm::append_range(all, op.getResults());
    end->setOperands(all);
    function.setType(FunctionType::get(&context, function.getArgumentTypes(),
                                       ValueRange(all).getTypes()));
  }

  reference::Tensor draw(Type type) {
    reference::Tensor tensor(*reference::TensorType::from(type));
    for (auto &element : tensor.getMutableElements())
      element = reference::makeScalar(
          tensor.getElementType(),
          std::uniform_int_distribution<int>(-1, 4)(random));
    return tensor;
  }

  void compare() {
    reference::GridValues arguments;
    for (BlockArgument argument : function.getArguments()) {
      numbers[argument] = draw(argument.getType());
      arguments.push_back({numbers[argument]});
    }
    auto results = reference::interpret(function, arguments, 1);
    ASSERT_TRUE(succeeded(results));
    auto computed = function.front().getTerminator()->getOperands();
    for (auto [value, result] : llvm::zip_equal(computed, *results))
      numbers[value] = result.front();
    for (Value value : computed)
      ASSERT_NO_FATAL_FAILURE(compare(value));
  }

  void compare(Value value) {
    const Form *form = forms->lookup(value);
    const Rewrite *rewrite = forms->lookupRewrite(value);
    if (!form && !rewrite)
      return;
    ArrayRef<int64_t> shape = tensorType(value).getShape();
    std::vector<double> rows;
    if (rewrite && rewrite->rows)
      rows = addRows(*rewrite->rows, value);
    forEachIndex(shape, [&](ArrayRef<int64_t> index) {
      Substitution at;
      for (auto [dim, place] : llvm::zip_equal(terms->indicesOf(value), index))
        at[dim] = terms->integer(place);
      double found = form ? numberOf(forms->sample(*form, at))
                     : rewrite->rows
                         ? rows[offsetOf(shape, index)]
                         : numberOf(terms->substitute(rewrite->term, at));
      ASSERT_EQ(found, elementOf(value, index))
          << value.getDefiningOp()->getName().getStringRef().str();
    });
  }

  /// What Rewrite::rows says: each row at its places, for all that it depends
  /// on beside the result's indices.
  std::vector<double> addRows(const Form &rows, Value result) {
    ArrayRef<int64_t> shape = tensorType(result).getShape();
    std::vector<double> sums(tensorType(result).getNumElements(), 0);
    TermList index = terms->indicesOf(result);
    for (const Exception &row : rows.exceptions) {
      TermList over;
      auto addFree = [&](Term term) {
        for (Term dim : term->free)
          if (!llvm::is_contained(over, dim))
            over.push_back(dim);
      };
      for (Term dim : index)
        if (!llvm::is_contained(rows.dims, dim))
          addFree(dim);
      llvm::for_each(row.places, addFree);
      addFree(row.value);
      auto sizes = llvm::map_to_vector(over, [](Term t) { return t->size; });
      forEachIndex(sizes, [&](ArrayRef<int64_t> here) {
        Substitution at;
        for (auto [dim, place] : llvm::zip_equal(over, here))
          at[dim] = terms->integer(place);
        for (auto [dim, place] : llvm::zip_equal(rows.dims, row.places))
          at[dim] =
              terms->integer(int64_t(numberOf(terms->substitute(place, at))));
        SmallVector<int64_t> target;
        for (Term dim : index) {
          target.push_back(int64_t(numberOf(at[dim])));
          if (target.back() < 0 || target.back() >= dim->size)
            return;
        }
        sums[offsetOf(shape, target)] +=
            numberOf(terms->substitute(row.value, at));
      });
    }
    return sums;
  }

  double elementOf(Value value, ArrayRef<int64_t> index) {
    const reference::Tensor &tensor = numbers[value];
    reference::Scalar element = tensor[offsetOf(tensor.getShape(), index)];
    return reference::isFloat(tensor.getElementType()) ? element.f
                                                       : double(element.i);
  }

  Term numberTerm(Type type, double value) {
    return terms->number(isa<FloatType>(type)
                             ? TypedAttr(FloatAttr::get(type, value))
                             : TypedAttr(IntegerAttr::get(type, value)));
  }

  /// A term without indices, by the numbers of the tensors.
  double numberOf(Term term) {
    Term number = evaluate(term);
    EXPECT_TRUE(number->isNumber());
    if (auto real = dyn_cast<FloatAttr>(number->number))
      return real.getValueAsDouble();
    auto whole = cast<IntegerAttr>(number->number);
    return term->type.isInteger(1) ? double(whole.getValue().getZExtValue())
                                   : double(whole.getInt());
  }

  Term evaluate(Term term) {
    TermList operands;
    if (term->kind == TermKind::Element || term->kind == TermKind::Op)
      for (Term operand : term->operands)
        operands.push_back(evaluate(operand));
    if (term->kind == TermKind::Op)
      return terms->op(*term->name, term->attributes, term->type, operands);
    if (term->kind == TermKind::Sum)
      return evaluateSum(term);
    if (term->kind == TermKind::Number)
      return term;
    EXPECT_EQ(term->kind, TermKind::Element);
    SmallVector<int64_t> index;
    for (auto [place, size] :
         llvm::zip_equal(operands, tensorType(term->value).getShape()))
      index.push_back(
          std::clamp(int64_t(numberOf(place)), int64_t(0), size - 1));
    return numberTerm(term->type, elementOf(term->value, index));
  }

  Term evaluateSum(Term term) {
    double total = 0;
    auto sizes = llvm::map_to_vector(term->bound,
                                     [](Term index) { return index->size; });
    forEachIndex(sizes, [&](ArrayRef<int64_t> index) {
      Substitution at;
      for (auto [dim, place] : llvm::zip_equal(term->bound, index))
        at[dim] = terms->integer(place);
      double product = 1;
      for (Term factor : term->operands)
        product *= numberOf(terms->substitute(factor, at));
      total += product;
    });
    return numberTerm(term->type, total);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  std::optional<Terms> terms;
  std::optional<Forms> forms;
  llvm::DenseMap<Value, reference::Tensor> numbers;
  std::mt19937 random{5};
};

TEST_F(SparseLaws, L2PlacesOfAFormAreNested) {
  const char *body = R"(
    %places = arith.select %em, %cw, %none : tensor<6x4xi1>, tensor<6x4xi32>
    %pb = shoal.broadcast_in_dim %places dims = [0, 1] : tensor<6x4xi32> -> tensor<6x4x3xi32>
    %i = shoal.iota dim = 2 : tensor<6x4x3xi32>
    %m = arith.cmpi eq, %pb, %i : tensor<6x4x3xi32>
  )";
  std::string places = "%cw = shoal.broadcast_in_dim %c dims = [0] : "
                       "tensor<6xi32> -> tensor<6x4xi32>\n";
  std::string out = "%none = arith.constant dense<-1> : tensor<6x4xi32>\n";
  check("", places + out + body);
  EXPECT_EQ(lastForm(), "1 in 1 2");
  // Where none are chosen there is a place, too: it is one of L1.
  std::string first = "%none = arith.constant dense<0> : tensor<6x4xi32>\n";
  check("", places + first + body);
  EXPECT_EQ(lastForm(), "1 in 2");
}

TEST_F(SparseLaws, L4ZerosHaveTheirPlacesInAProduct) {
  check(", %x: tensor<6x4xf32>", "%y = arith.mulf %eh, %x : tensor<6x4xf32>");
  EXPECT_EQ(lastForm(), "1 in 1");
  check(", %x: tensor<6x4xf32>",
        "%y = arith.select %em, %x, %zero : tensor<6x4xi1>, tensor<6x4xf32>");
  EXPECT_EQ(lastForm(), "1 in 1");
  check(", %x: tensor<6x4xi1>", "%y = arith.andi %x, %em : tensor<6x4xi1>");
  EXPECT_EQ(lastForm(), "1 in 1");
  // Ones annihilate nothing.
  check(", %x: tensor<6x4xi1>", "%y = arith.ori %x, %em : tensor<6x4xi1>");
  EXPECT_EQ(lastForm(), "none");
}

/// Weights of two choices of which the first one counts, in one place each.
constexpr const char *kTwoChoices = R"(
  %di = shoal.broadcast_in_dim %d dims = [0] : tensor<6xi32> -> tensor<6x4xi32>
  %dm = arith.cmpi eq, %di, %ei : tensor<6x4xi32>
  %second = arith.select %dm, %x, %zero : tensor<6x4xi1>, tensor<6x4xf32>
  %two = arith.select %em, %x, %second : tensor<6x4xi1>, tensor<6x4xf32>
)";

TEST_F(SparseLaws, L6FormsWithTheSamePlacesCombineOneByOne) {
  for (const char *op : {"mulf", "addf", "maximumf"}) {
    check(", %d: tensor<6xi32>, %x: tensor<6x4xf32>",
          std::string(kTwoChoices) + "%y = arith." + op +
              " %two, %two : tensor<6x4xf32>");
    EXPECT_EQ(lastForm(), "2 in 1") << op;
  }
}

TEST_F(SparseLaws, L7SumsHaveBothLists) {
  check(", %d: tensor<6xi32>, %x: tensor<6x4xf32>",
        std::string(kTwoChoices) +
            "%y = arith.addf %eh, %second : tensor<6x4xf32>");
  EXPECT_EQ(lastForm(), "2 in 1, may meet");
  check(", %d: tensor<6xi32>, %x: tensor<6x4xf32>",
        std::string(kTwoChoices) +
            "%y = arith.subf %second, %eh : tensor<6x4xf32>");
  EXPECT_EQ(lastForm(), "2 in 1, may meet");
}

constexpr const char *kMask = R"(
  %m = shoal.einsum "SE,SC->SEC" %eh, %ch : (tensor<6x4xf32>, tensor<6x3xf32>) -> tensor<6x4x3xf32>
)";

TEST_F(SparseLaws, L9SumsOverPlaces) {
  std::string mask = kMask;
  check("", mask + "%y = shoal.reduce sum %m dims = [2] : "
                   "tensor<6x4x3xf32> -> tensor<6x4xf32>");
  EXPECT_EQ(lastForm(), "1 in 1");
  check("", mask + "%y = shoal.reduce sum %m dims = [1, 2] : "
                   "tensor<6x4x3xf32> -> tensor<6xf32>");
  EXPECT_EQ(lastForm(), "rewrite");
  EXPECT_FALSE(scattersRows());
}

TEST_F(SparseLaws, L9ChoicesAreWrittenOutUpToSixteen) {
  auto sumOfTokens = [&](int tokens) {
    std::string n = llvm::itostr(tokens);
    std::string hot = "tensor<" + n + "x4xi32>";
    check(", %p: tensor<" + n + "xi32>",
          "%i = shoal.iota dim = 1 : " + hot +
              "\n%b = shoal.broadcast_in_dim %p dims = [0] : tensor<" + n +
              "xi32> -> " + hot + "\n%m = arith.cmpi eq, %i, %b : " + hot +
              "\n%h = arith.uitofp %m : tensor<" + n + "x4xi1> to tensor<" + n +
              "x4xf32>\n%y = shoal.reduce sum %h dims = [0] : tensor<" + n +
              "x4xf32> -> tensor<4xf32>");
  };
  sumOfTokens(16);
  EXPECT_EQ(lastForm(), "16 in 0, may meet");
  sumOfTokens(17);
  EXPECT_EQ(lastForm(), "rewrite");
  EXPECT_TRUE(scattersRows());
}

TEST_F(SparseLaws, L10AnEinsumIsASumOfProductsThatNobodyMakes) {
  std::string mask = kMask;
  check("", mask);
  EXPECT_EQ(lastForm(), "1 in 1 2");
  check(", %x: tensor<4x3x2xf32>",
        mask + "%y = shoal.einsum \"SEC,ECM->SM\" %m, %x : (tensor<6x4x3xf32>, "
               "tensor<4x3x2xf32>) -> tensor<6x2xf32>");
  EXPECT_EQ(lastForm(), "rewrite");
  EXPECT_FALSE(scattersRows());
  // Of 18 tokens as of 6: rows that are added at their places.
  check(", %x: tensor<6x2xf32>, %q: tensor<18xi32>, %z: tensor<18x2xf32>", R"(
    %i = shoal.iota dim = 1 : tensor<18x4xi32>
    %b = shoal.broadcast_in_dim %q dims = [0] : tensor<18xi32> -> tensor<18x4xi32>
    %h = arith.cmpi eq, %i, %b : tensor<18x4xi32>
    %f = arith.uitofp %h : tensor<18x4xi1> to tensor<18x4xf32>
    %y = shoal.einsum "SE,SM->EM" %f, %z : (tensor<18x4xf32>, tensor<18x2xf32>) -> tensor<4x2xf32>
  )");
  EXPECT_TRUE(scattersRows());
}

TEST_F(SparseLaws, L11ViewsMovePlaces) {
  struct View {
    const char *op, *form;
  };
  for (View view : {
           View{"shoal.transpose %m permutation = [2, 0, 1] : "
                "tensor<6x4x3xf32> -> tensor<3x6x4xf32>",
                "1 in 0 2"},
           View{"shoal.reshape %m : tensor<6x4x3xf32> -> tensor<6x12xf32>",
                "1 in 1"},
           View{"shoal.reshape %m : tensor<6x4x3xf32> -> tensor<2x3x4x3xf32>",
                "1 in 2 3"},
           View{"shoal.slice %m starts = [1, 1, 0] limits = [5, 4, 3] strides "
                "= [2, 1, 1] : tensor<6x4x3xf32> -> tensor<2x3x3xf32>",
                "1 in 1 2"},
           View{"shoal.slice %m starts = [0, 0, 1] limits = [6, 4, 2] strides "
                "= [1, 1, 1] : tensor<6x4x3xf32> -> tensor<6x4x1xf32>",
                "1 in 1"},
           View{"shoal.reverse %m dims = [1] : tensor<6x4x3xf32>", "1 in 1 2"},
           View{"shoal.broadcast_in_dim %m dims = [0, 2, 3] : "
                "tensor<6x4x3xf32> -> tensor<6x2x4x3xf32>",
                "1 in 2 3"},
       }) {
    check("", std::string(kMask) + "%y = " + view.op);
    EXPECT_EQ(lastForm(), view.form) << view.op;
  }
  // Tokens and what they choose in one dimension: nothing has places.
  check("",
        std::string(kMask) +
            "%y = shoal.reshape %m : tensor<6x4x3xf32> -> tensor<24x3xf32>");
  EXPECT_NE(lastForm(), "1 in 0 1");
}

TEST_F(SparseLaws, L12NumbersIntoWhichAFewArePut) {
  auto put = [&](int updates) {
    std::string n = llvm::itostr(updates);
    check(", %p: tensor<6x" + n + "x1xi32>, %w: tensor<6x" + n + "xf32>",
          "%y = shoal.scatter overwrite %zero, %p, %w update_window_dims = [] "
          "inserted_window_dims = [1] input_batching_dims = [0] "
          "scatter_indices_batching_dims = [0] scatter_dims_to_operand_dims = "
          "[1] index_vector_dim = 2 : (tensor<6x4xf32>, tensor<6x" +
              n + "x1xi32>, tensor<6x" + n + "xf32>) -> tensor<6x4xf32>");
  };
  put(2);
  EXPECT_EQ(lastForm(), "2 in 1");
  put(17);
  EXPECT_EQ(lastForm(), "none");
}

/// Rows of 18 tokens to slots of their own choice, times `weight`.
std::string sendRows(std::string weight) {
  return weight + R"(
    %i = shoal.iota dim = 1 : tensor<18x4xi32>
    %b = shoal.broadcast_in_dim %p dims = [0] : tensor<18xi32> -> tensor<18x4xi32>
    %h = arith.cmpi eq, %i, %b : tensor<18x4xi32>
    %f = arith.uitofp %h : tensor<18x4xi1> to tensor<18x4xf32>
    %wb = shoal.broadcast_in_dim %w dims = [0] : tensor<18xf32> -> tensor<18x4xf32>
    %m = arith.mulf %wb, %f : tensor<18x4xf32>
    %y = shoal.einsum "SE,SM->EM" %m, %x : (tensor<18x4xf32>, tensor<18x2xf32>) -> tensor<4x2xf32>
  )";
}

TEST_F(SparseLaws, L13AWeightThatDropsWhatHasNoPlaceIsOne) {
  const char *arguments = ", %p: tensor<18xi32>, %x: tensor<18x2xf32>";
  auto keepBelow = [](int limit) {
    return "%limit = arith.constant dense<" + llvm::itostr(limit) +
           "> : tensor<18xi32>\n"
           "%keep = arith.cmpi slt, %p, %limit : tensor<18xi32>\n"
           "%whole = arith.extui %keep : tensor<18xi1> to tensor<18xi32>\n"
           "%w = arith.sitofp %whole : tensor<18xi32> to tensor<18xf32>\n";
  };
  check(arguments, sendRows(keepBelow(4)));
  EXPECT_TRUE(scattersRowsAsTheyAre());
  // A slot less: one that has a place is dropped.
  check(arguments, sendRows(keepBelow(3)));
  EXPECT_TRUE(scattersRows());
  EXPECT_FALSE(scattersRowsAsTheyAre());
}

TEST_F(SparseLaws, L13APlaceThatIsChosenIsThereWhereItWasChosen) {
  // Places by a condition, and weights by the same one.
  check(", %q: tensor<18xi32>, %k: tensor<18xi1>, %x: tensor<18x2xf32>",
        sendRows(R"(
    %none = arith.constant dense<-1> : tensor<18xi32>
    %p = arith.select %k, %q, %none : tensor<18xi1>, tensor<18xi32>
    %w = arith.uitofp %k : tensor<18xi1> to tensor<18xf32>
  )"));
  EXPECT_TRUE(scattersRowsAsTheyAre());
}

} // namespace
