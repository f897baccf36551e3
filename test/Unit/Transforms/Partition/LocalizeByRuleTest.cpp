// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// An op with a factor rule and no model of LocalizeOpInterface: its rule says
// all that a device does, or the program is refused.

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "shoal/Dialect/Shoal/FactorRules/FactorRules.h"
#include "shoal/Dialect/Shoal/IR/ContractionOps.h"
#include "shoal/Transforms/Partition/Localizer.h"
#include "shoal/Transforms/Partition/Passes.h"
#include "llvm/Support/FormatVariadic.h"
#include "gmock/gmock.h"

using namespace mlir;
using namespace shoal;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace shoal::test {

/// A reduction by the letters of an einsum: `{letters = "ij->i", kind =
/// "max"}`.
struct FoldOp : Op<FoldOp, OpTrait::ZeroRegions, OpTrait::VariadicOperands,
                   OpTrait::VariadicResults> {
  using Op::Op;
  static StringRef getOperationName() { return "test.fold"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }
};

struct FoldRule : FactorRuleOpInterface::ExternalModel<FoldRule, FoldOp> {
  FactorRule getFactorRule(Operation *op) const {
    EinsumSpec spec =
        EinsumSpec::of(op->getAttrOfType<StringAttr>("letters").getValue());
    FactorRule rule;
    std::string letters;
    auto read = [&](ArrayRef<char> term, Value value) {
      DimFactors dims;
      auto type = cast<RankedTensorType>(value.getType());
      for (auto [letter, size] : llvm::zip_equal(term, type.getShape())) {
        size_t factor = letters.find(letter);
        if (factor == std::string::npos) {
          factor = letters.size();
          letters += letter;
          rule.factors.push_back(factorOf(op, spec, letter, size));
        }
        dims.push_back({static_cast<unsigned>(factor)});
      }
      return dims;
    };
    for (auto [term, operand] : llvm::zip_equal(spec.inputs, op->getOperands()))
      rule.operands.push_back(read(term, operand));
    for (Value result : op->getResults())
      rule.results.push_back(read(spec.result, result));
    if (op->hasAttr("windows"))
      rule.windows.push_back({0, 0, RowMap(), rule.factors[0].size});
    if (op->hasAttr("gathers"))
      rule.gathers.push_back({0, 0});
    return rule;
  }

private:
  static Factor factorOf(Operation *op, const EinsumSpec &spec, char letter,
                         int64_t size) {
    Factor factor;
    factor.size = size;
    if (letter == 'w') {
      factor.kind = FactorKind::Replicated;
    } else if (!llvm::is_contained(spec.result, letter)) {
      factor.kind = FactorKind::Reduction;
      auto kind = op->getAttrOfType<StringAttr>("kind");
      if (auto other = op->getAttrOfType<StringAttr>("other");
          other && letter == 'j')
        kind = other;
      if (kind)
        factor.reduction = symbolizeReduceKind(kind.getValue());
    }
    return factor;
  }
};

struct TestDialect : Dialect {
  explicit TestDialect(MLIRContext *context)
      : Dialect(getDialectNamespace(), context, TypeID::get<TestDialect>()) {
    addOperations<FoldOp>();
    FoldOp::attachInterface<FoldRule>(*context);
  }
  static StringRef getDialectNamespace() { return "test"; }
};

/// What it makes of a row depends on where that stands.
struct LookUpOp : Op<LookUpOp, OpTrait::OneOperand, OpTrait::OneResult> {
  using Op::Op;
  static StringRef getOperationName() { return "unfinished.look_up"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }
};
struct LookUpRule : FactorRuleOpInterface::ExternalModel<LookUpRule, LookUpOp> {
  static bool hasOwnLocalForm() { return true; }
  FactorRule getFactorRule(Operation *) const { return FactorRule(); }
};
struct UnfinishedDialect : Dialect {
  explicit UnfinishedDialect(MLIRContext *context)
      : Dialect(getDialectNamespace(), context,
                TypeID::get<UnfinishedDialect>()) {
    addOperations<LookUpOp>();
    LookUpOp::attachInterface<LookUpRule>(*context);
  }
  static StringRef getDialectNamespace() { return "unfinished"; }
};

} // namespace shoal::test

namespace {

class LocalizeByRule : public testing::Test {
protected:
  LocalizeByRule() {
    DialectRegistry registry;
    registry.insert<ShoalDialect, spmd::SpmdDialect, arith::ArithDialect,
                    func::FuncDialect, test::TestDialect>();
    registerFactorRuleModels(registry);
    registerLocalizeModels(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// The program of a device, or the error.
  std::string localize(StringRef function) {
    std::string text, error;
    ScopedDiagnosticHandler handler(
        &context, [&](Diagnostic &diagnostic) { error += diagnostic.str(); });
    std::string program =
        ("shoal.mesh @mesh = <[\"x\" = 2, \"y\" = 4]>\n" + function).str();
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(program, &context);
    EXPECT_TRUE(module) << error;
    PassManager passes(&context);
    passes.addPass(createLocalize());
    if (!module || failed(passes.run(*module)))
      return error;
    llvm::raw_string_ostream os(text);
    module->print(os);
    return text;
  }

  /// A fold of 7 x 5 elements split over both axes, with these attributes.
  std::string fold(StringRef attributes, StringRef element = "f32") {
    return localize(llvm::formatv(R"mlir(
      func.func @f(%a: tensor<7x5x{1}> {{shoal.sharding = #shoal.sharding<@mesh, [{{"x"}, {{"y"}]>}) -> (tensor<{1}> {{shoal.sharding = #shoal.sharding<@mesh, []>}) {{
        %0 = "test.fold"(%a) {{letters = "ij->", {0}, shoal.shardings = [#shoal.sharding<@mesh, []>]} : (tensor<7x5x{1}>) -> tensor<{1}>
        return %0 : tensor<{1}>
      })mlir",
                                  attributes, element)
                        .str());
  }

  MLIRContext context;
};

int64_t count(StringRef text, StringRef part) { return text.count(part); }

} // namespace

TEST_F(LocalizeByRule, MasksEveryReducedDimAndFinishesWhatIsNoSum) {
  std::string program = fold("kind = \"max\"");
  EXPECT_EQ(count(program, "arith.select"), 2) << program;
  EXPECT_THAT(
      program,
      AllOf(HasSubstr("dense<0xFF800000> : tensor<4x2xf32>"),
            HasSubstr("letters = \"ij->\"} : (tensor<4x2xf32>) -> tensor<f32>"),
            HasSubstr("spmd.all_reduce max @mesh {\"x\", \"y\"}"),
            HasSubstr("why = \"max over a split dimension\""),
            Not(HasSubstr("shoal.shardings"))));
}

TEST_F(LocalizeByRule, MasksByTheIdentityOfTheKind) {
  EXPECT_THAT(fold("kind = \"prod\""), HasSubstr("dense<1.000000e+00>"));
  EXPECT_THAT(fold("kind = \"min\""), HasSubstr("dense<0x7F800000>"));
  EXPECT_THAT(fold("kind = \"min\"", "i16"), HasSubstr("dense<32767>"));
  EXPECT_THAT(fold("kind = \"and\"", "i16"), HasSubstr("dense<-1>"));
  EXPECT_THAT(fold("kind = \"and\"", "i1"), HasSubstr("dense<true>"));
  EXPECT_THAT(fold("kind = \"or\"", "i1"), HasSubstr("dense<false>"));
}

TEST_F(LocalizeByRule, SumsStayPartial) {
  std::string program = localize(R"mlir(
    func.func @f(%a: tensor<7x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}], partial = {"x"}>}) {
      %0 = "test.fold"(%a) {letters = "ij->j", kind = "sum", shoal.shardings = [#shoal.sharding<@mesh, [{}], partial = {"x"}>]} : (tensor<7x4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    })mlir");
  EXPECT_EQ(count(program, "arith.select"), 1) << program;
  EXPECT_THAT(program, AllOf(HasSubstr("dense<0.000000e+00> : tensor<4x4xf32>"),
                             HasSubstr("(tensor<4x4xf32>) -> tensor<4xf32>"),
                             Not(HasSubstr("all_reduce"))));
}

/// Where nothing is split there is no padding, and nothing to finish; all that
/// is split without being reduced carries its padding along.
TEST_F(LocalizeByRule, ClonesWhereNothingReducedIsSplit) {
  std::string program = localize(R"mlir(
    func.func @f(%a: tensor<7x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) {
      %0 = "test.fold"(%a) {letters = "ij->i", kind = "max", shoal.shardings = [#shoal.sharding<@mesh, [{"x"}]>]} : (tensor<7x5xf32>) -> tensor<7xf32>
      return %0 : tensor<7xf32>
    })mlir");
  EXPECT_THAT(program,
              AllOf(HasSubstr("(tensor<4x5xf32>) -> tensor<4xf32>"),
                    Not(HasSubstr("select")), Not(HasSubstr("all_reduce"))));
}

TEST_F(LocalizeByRule, MasksEachOperandAndFinishesEachResult) {
  std::string program = localize(R"mlir(
    func.func @f(%a: tensor<7x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<7xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}, %c: tensor<4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>}) -> (tensor<4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>}) {
      %0:2 = "test.fold"(%a, %b, %c) {letters = "ij,i,j->j", kind = "max", shoal.shardings = [#shoal.sharding<@mesh, [{}]>, #shoal.sharding<@mesh, [{}]>]} : (tensor<7x4xf32>, tensor<7xi32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
      return %0#1 : tensor<4xf32>
    })mlir");
  EXPECT_EQ(count(program, "arith.select"), 2) << program;
  EXPECT_EQ(count(program, "spmd.all_reduce max"), 2) << program;
  EXPECT_THAT(program, AllOf(HasSubstr("dense<0xFF800000> : tensor<4x4xf32>"),
                             HasSubstr("dense<-2147483648> : tensor<4xi32>")));
}

TEST_F(LocalizeByRule, RefusesWhatTheRuleDoesNotSay) {
  const char *prefix = "'test.fold' op cannot be partitioned: its factor rule ";
  EXPECT_THAT(fold("kind = \"sum\", windows"),
              HasSubstr(std::string(prefix) + "has windows"));
  EXPECT_THAT(fold("kind = \"sum\", gathers"),
              HasSubstr(std::string(prefix) + "gathers slabs"));
  EXPECT_THAT(fold("no_kind"),
              HasSubstr(std::string(prefix) + "reduces in a way of its own"));
  EXPECT_THAT(fold("kind = \"max\", other = \"min\""),
              HasSubstr(std::string(prefix) + "reduces in several ways"));
}

TEST_F(LocalizeByRule, RefusesTheSplitOfWhatTheOpNeedsWhole) {
  EXPECT_THAT(localize(R"mlir(
    func.func @f(%a: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) {
      %0 = "test.fold"(%a) {letters = "w->w", shoal.shardings = [#shoal.sharding<@mesh, [{"x"}]>]} : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    })mlir"),
              HasSubstr("its factor rule does not allow the shardings"));
}

TEST_F(LocalizeByRule, EveryOpOfADialectHasTheModelThatItNeeds) {
  EXPECT_TRUE(succeeded(verifyLocalizeModels(&context)));
}

/// Whatever the program.
TEST_F(LocalizeByRule, RefusesToRunWithoutAModel) {
  context.getOrLoadDialect<test::UnfinishedDialect>();
  EXPECT_THAT(localize("func.func @f() { return }"),
              HasSubstr("'unfinished.look_up' has a local form of its own, but "
                        "no model of LocalizeOpInterface is registered"));
}
