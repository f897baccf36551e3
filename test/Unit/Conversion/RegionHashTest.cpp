// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Equal regions have equal hashes, and, what the hash is for, others as a rule
// have others.

#include "shoal/Conversion/Cleanup/RegionHash.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <set>

using namespace mlir;
using namespace shoal;

namespace {

class RegionHashTest : public ::testing::Test {
protected:
  RegionHashTest() {
    context
        .loadDialect<arith::ArithDialect, func::FuncDialect, scf::SCFDialect>();
  }

  /// Of each scf.if of a function of these arguments.
  std::vector<size_t> hashes(const std::string &body) {
    module = parseSourceString<ModuleOp>(
        "func.func @f(%c: i1, %a: f32, %b: f32) {\n" + body + "return\n}",
        &context);
    std::vector<size_t> found;
    module->walk([&](scf::IfOp op) { found.push_back(hashRegions(op)); });
    return found;
  }

  static std::string choice(const std::string &op, const std::string &name) {
    return "%of" + name + " = scf.if %c -> f32 {\n%in" + name + " = " + op +
           " : f32\nscf.yield %in" + name +
           " : f32\n} else {\nscf.yield %a : f32\n}\n";
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(RegionHashTest, EqualRegions) {
  std::vector<size_t> found = hashes(
      "%p = arith.negf %a : f32\n%q = arith.negf %b : f32\n" +
      choice("arith.addf %a, %p", "0") + choice("arith.addf %p, %a", "1") +
      choice("arith.addf %a, %q", "2"));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0], found[1]); // it commutes
  // %p and %q could become one before the regions are compared.
  EXPECT_EQ(found[0], found[2]);
}

TEST_F(RegionHashTest, OtherRegions) {
  std::string body;
  constexpr int kCount = 1000;
  for (int i = 0; i < kCount; ++i) {
    std::string name = std::to_string(i);
    body += "%k" + name + " = arith.constant " + name + ".5 : f32\n";
    body += choice("arith.mulf %a, %k" + name, name);
  }
  body += choice("arith.subf %a, %b", "x") + choice("arith.subf %b, %a", "y") +
          choice("arith.divf %b, %a", "z");
  std::vector<size_t> found = hashes(body);
  EXPECT_EQ(std::set<size_t>(found.begin(), found.end()).size(),
            size_t(kCount + 3));
}

} // namespace
