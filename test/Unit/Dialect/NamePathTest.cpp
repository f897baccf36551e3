// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/NamePath.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace shoal;

namespace {

class NamePathTest : public ::testing::Test {
protected:
  MLIRContext context;
  Location file = FileLineColLoc::get(&context, "moe.py", 3, 5);

  Location named(StringRef name) {
    return NameLoc::get(StringAttr::get(&context, name), file);
  }
};

TEST_F(NamePathTest, NamesInInlinedFunctionsAreBehindTheCall) {
  Location call = named("jit(step)/Block_3/jit(mlp)");
  Location inner = CallSiteLoc::get(named("MLP/jit(argmax)"), call);
  EXPECT_EQ(namePath(CallSiteLoc::get(named("reduce"), inner)),
            "jit(step)/Block_3/jit(mlp)/MLP/jit(argmax)/reduce");
}

TEST_F(NamePathTest, WholeNamesStay) {
  Location call = named("jit(step)/while/body/closed_call");
  EXPECT_EQ(namePath(CallSiteLoc::get(named("jit(step)/while/body/sin"), call)),
            "jit(step)/while/body/sin");
}

TEST_F(NamePathTest, TheFirstNameOfWhatWasFused) {
  EXPECT_EQ(namePath(FusedLoc::get(
                &context, {file, named("jit(f)/add"), named("jit(f)/mul")})),
            "jit(f)/add");
  EXPECT_EQ(namePath(CallSiteLoc::get(file, named("jit(f)"))), "jit(f)");
  EXPECT_EQ(namePath(file), "");
}

} // namespace
