// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Fuzz/Census.h"
#include "shoal/Dialect/Shoal/IR/MeshConversion.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"
#include "shoal/Fuzz/Fuzzer.h"
#include "shoal/InitShoal.h"
#include "gmock/gmock.h"

using namespace shoal::fuzz;

/// Ops of the dialect that no generator draws, and why.
static const std::map<std::string, std::string> kNotDrawn = {
    {"shoal.host_call", "needs a host; what it does is not all in its results"},
    {"shoal.print", "what it does is not in results"},
    {"shoal.reshard", "the assignment inserts it; users write constraints"},
    {"shoal.auto_to_manual", "becomes a manual_computation"},
    {"shoal.manual_to_auto", "becomes a manual_computation"},
};

static std::unique_ptr<mlir::MLIRContext> makeContext() {
  mlir::DialectRegistry registry;
  shoal::registerShoalDialects(registry);
  auto context = std::make_unique<mlir::MLIRContext>(
      registry, mlir::MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

/// Of large programs for 2 or 4 devices.
static Generators makeLargeGenerators() {
  ProgramKind kind;
  kind.isLarge = true;
  kind.devices = {2, 4};
  return Generators::all().ofKind(kind);
}

TEST(Census, EveryOpIsDrawn) {
  auto owner = makeContext();
  mlir::MLIRContext &context = *owner;
  Census census;
  for (uint64_t seed = 0; seed < 1500; ++seed)
    census.addDrawn(*makeProgram(context, Generators::all(), seed).module);
  unsigned known = 0;
  for (mlir::RegisteredOperationName op : context.getRegisteredOperations()) {
    if (op.getDialectNamespace() != "shoal")
      continue;
    ++known;
    std::string name = op.getStringRef().str();
    EXPECT_EQ(census.getCounts().contains(name), !kNotDrawn.contains(name))
        << name;
  }
  EXPECT_GT(known, 40u);
}

// Without LLVM's call for bug reports.
TEST(FatalErrors, EndWithOneLine) {
  auto giveUp = [] {
    shoal::reportFatalErrors();
    llvm::report_fatal_error("SmallVector unable to grow");
  };
  EXPECT_EXIT(giveUp(), testing::ExitedWithCode(1),
              "^error: LLVM gives up: SmallVector unable to grow\n$");
}

// Seeds whose programs had arguments of up to 7e8 elements, and infinities.
TEST(LargePrograms, HoldWhatTheirSizeAllows) {
  auto owner = makeContext();
  mlir::MLIRContext &context = *owner;
  Generators large = makeLargeGenerators();
  for (uint64_t seed : {41043, 42955, 43143, 44086, 65118, 65132, 65592}) {
    Program program = makeProgram(context, large, seed);
    for (mlir::Type type : program.entry.getArgumentTypes())
      EXPECT_LE(mlir::cast<mlir::ShapedType>(type).getNumElements(), 1 << 23)
          << "seed " << seed;
    program.module->walk([&](shoal::IotaOp iota) {
      auto type = iota.getType();
      if (mlir::isa<mlir::FloatType>(type.getElementType()))
        EXPECT_LT(type.getDimSize(iota.getDim()),
                  largestOf(type.getElementType()))
            << "seed " << seed;
    });
  }
}

TEST(Census, PassesThroughText) {
  auto owner = makeContext();
  mlir::MLIRContext &context = *owner;
  Census census;
  census.addDrawn(*makeProgram(context, Generators::all(), 5).module);
  ASSERT_FALSE(census.getCounts().empty());
  Census twice = Census::decode(census.encode());
  EXPECT_EQ(twice.encode(), census.encode());
  twice += census;
  for (const auto &[name, count] : census.getCounts()) {
    EXPECT_GE(count.drawn, count.programs);
    EXPECT_EQ(twice.getCounts().at(name).drawn, 2 * count.drawn);
  }
}

TEST(Census, CountsProgramsOnEachSide) {
  Census census, other;
  // A compiler and an executable, which has a threshold of its own.
  census.addSides({"rows:64:1:0\n", "rows:64:0:1\nbytes, all:0.5:0:0\n"});
  other.addSides({"rows:64:1:0\n"});
  census += Census::decode(other.encode());
  const auto &sizes = census.getSizes();
  ASSERT_EQ(sizes.size(), 2u);
  EXPECT_EQ(sizes.at("rows").value, 64);
  EXPECT_EQ(sizes.at("rows").below, 2u);
  EXPECT_EQ(sizes.at("rows").above, 1u);
  EXPECT_EQ(Census::decode(census.encode()).encode(), census.encode());
  // Where one side was never seen comes first.
  std::string text;
  llvm::raw_string_ostream os(text);
  census.printSizes(os);
  EXPECT_LT(text.find("bytes, all"), text.find("rows"));
}

/// The largest value of a program, and its devices.
static std::pair<int64_t, int64_t> extentOf(const Program &program) {
  int64_t most = 0, devices = 1;
  mlir::ModuleOp module = *program.module;
  module.walk([&](mlir::Operation *op) {
    for (mlir::Type type : op->getResultTypes())
      if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type))
        most = std::max(most, tensor.getNumElements());
  });
  mlir::FailureOr<shoal::Mesh> mesh = shoal::collectMesh(module);
  if (succeeded(mesh))
    for (const shoal::MeshAxis &axis : mesh->axes)
      devices *= axis.size;
  return {most, devices};
}

TEST(Generators, LargeProgramsReachThresholds) {
  auto owner = makeContext();
  mlir::MLIRContext &context = *owner;
  Generators large = makeLargeGenerators();
  int numLarge = 0, numOnFour = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    auto [most, devices] = extentOf(makeProgram(context, large, seed));
    EXPECT_LE(most, int64_t(1) << 24);
    EXPECT_THAT(devices, testing::AnyOf(2, 4));
    numLarge += most >= 1 << 16;
    numOnFour += devices == 4;
  }
  EXPECT_GT(numLarge, 60);
  EXPECT_GT(numOnFour, 60);
  EXPECT_LT(numOnFour, 140);
}

TEST(Check, ShrinkersRunWhatFailedAlone) {
  CheckOptions check;
  check.execute = true;
  auto runs = [&](llvm::StringRef stage) {
    CheckOptions how = upTo(stage, check);
    return std::pair(how.execute, how.rewrite);
  };
  EXPECT_EQ(runs("compare"), std::pair(false, false));
  EXPECT_EQ(runs("compare with differences"), std::pair(false, false));
  EXPECT_EQ(runs("execute"), std::pair(true, false));
  EXPECT_EQ(runs("lower to cpu"), std::pair(true, false));
  EXPECT_EQ(runs("compare executed windowed"), std::pair(true, true));
  EXPECT_EQ(runs("interpret partitioned sparse"), std::pair(false, true));
  // A pass may be one that rewrites.
  EXPECT_EQ(runs("shoal-sparsify-einsums"), std::pair(false, true));
}
