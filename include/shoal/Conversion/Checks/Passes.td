// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What looks at values while a program runs, where that is asked for.

#ifndef SHOAL_CONVERSION_CHECKS_PASSES_TD
#define SHOAL_CONVERSION_CHECKS_PASSES_TD

include "mlir/Pass/PassBase.td"

def InsertChecks : Pass<"shoal-insert-checks", "::mlir::ModuleOp"> {
  let summary = "Calls of the runtime that look at a per-device program's values";
  let description = [{
    Behind each op of a per-device program whose result is a shard of a value of
    the global program, as its location notes, stands an `rt.check`: of floats
    with `nan` and `inf`, and, with `replicas`, of values that several devices
    should hold. So, too, for the arguments. Of ops that the partitioner made
    in between nothing is checked: padding may lie in what they make. Whether an
    op of the program has made a NaN out of what had none is seen through them.

    Loops tell by `rt.iteration` how often they have gone round. Where devices may
    go different ways replicas are not compared.

    ```mlir
    shoal.mesh @mesh = <["x" = 2]>
    func.func @f(%x: tensor<4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"} ]>, shoal.global_type = tensor<8xf32>} loc("f.py":2:3))
        -> tensor<4xf32> attributes {shoal.spmd} {
      %y = math.log %x : tensor<4xf32> loc(fused<{shoal.layouts = [{type = tensor<8xf32>, sharding = #shoal.sharding<@mesh, [{"x"} ]>} ]}>["f.py":3:5])
      return %y : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    shoal.mesh @mesh = <["x" = 2]>
    func.func @f(%x: tensor<4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"} ]>, shoal.global_type = tensor<8xf32>})
        -> tensor<4xf32> attributes {shoal.spmd} {
      rt.check 0 input "arg0" at "f.py:2:3" <@mesh, [{"x"} ]> of [8] sources [] ins(%x : tensor<4xf32>) {nan}
      %y = math.log %x : tensor<4xf32>
      rt.check 1 made "math.log" at "f.py:3:5" <@mesh, [{"x"} ]> of [8] sources [0] ins(%y : tensor<4xf32>) {nan}
      return %y : tensor<4xf32>
    }
    ```
  }];
  let options = [
    Option<"nan", "nan", "bool", "true", "Ops that make a NaN">,
    Option<"inf", "inf", "bool", "false", "Ops that make an infinity">,
    Option<"replicas", "replicas", "bool", "false",
           "Values that differ between devices that should hold the same">
  ];
  let dependentDialects = ["::shoal::rt::RtDialect"];
}

#endif // SHOAL_CONVERSION_CHECKS_PASSES_TD
