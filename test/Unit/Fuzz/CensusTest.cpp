// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Fuzz/Census.h"
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

TEST(Census, EveryOpIsDrawn) {
  mlir::DialectRegistry registry;
  shoal::registerShoalDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
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

TEST(Census, PassesThroughText) {
  mlir::DialectRegistry registry;
  shoal::registerShoalDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
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
