// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_TRANSFORMS_REMATERIALIZE_PASSES_TD
#define SHOAL_TRANSFORMS_REMATERIALIZE_PASSES_TD

include "mlir/Pass/PassBase.td"
include "shoal/Transforms/Options/PartitionOptions.td"

def Rematerialize : Pass<"shoal-rematerialize", "::mlir::ModuleOp"> {
  let summary = "Backward passes compute again what they would hold";
  let description = [{
    Of a per-device function, or a global one without annotations: what is held
    from the forward pass for the backward pass is computed again instead where
    a policy or a limit asks for it ([Rematerialization.md](../guide/Rematerialization.md)).
    Ops of the backward pass are those made by `--shoal-differentiate`, or by
    JAX, and what depends on them.

    * The policy `remat` says what is saved: `everything`, which is the default, `nothing`, `dots`
      (results of products), `dots_no_batch`, `selective` (all but what lies between
      two products of values that are not weights), or `names:a,b` (values of
      `shoal.checkpoint_name`); `offload` is an error, as no target has a memory
      beside the device's. Between two `shoal.remat_boundary` that of
      the first one holds.
    * With a `memory-limit` so much of what is saved is computed again, for the
      fewest operations, that a device holds no more. This counts the arguments
      and what is made and still read in the order of the ops; `shoalc --memory-limit`
      looks at the arena of the compiled program instead.

    * Whatever the policy, a loop keeps no rows for another one that walks it
      backwards of slices of what is around both: reading a row is as much as
      reading the slice again.
    * Nothing that sends runs again, but by `remat-collectives`: `params` are
      gathers, or other moves, of what is only an argument or a part of it,
      converted or not; they run again, and so do the conversions behind them.
      With `repeat` whatever sends may, for the operations that take as long.

    Behind an
    `optimization_barrier` what is computed again is kept apart from what was
    computed first. The function's attribute `shoal.rematerialized` says what
    became of it; boundaries and names are gone.

    ```mlir
    func.func @f(%x: tensor<8xf32>, %g: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %in = shoal.remat_boundary %x {region = 0, policy = "nothing"} : tensor<8xf32>
      %y = math.exp %in : tensor<8xf32>
      %z = math.tanh %y : tensor<8xf32>
      %out = shoal.remat_boundary %z {region = 0} : tensor<8xf32>
      %gx = arith.mulf %g, %y : tensor<8xf32> loc(fused<"gradient">["f.py":1:1])
      return %out, %gx : tensor<8xf32>, tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<8xf32>, %g: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {...} {
      %0 = math.exp %x : tensor<8xf32>
      %1 = math.tanh %0 : tensor<8xf32>
      %2 = shoal.optimization_barrier %x : tensor<8xf32>
      %3 = math.exp %2 : tensor<8xf32>
      %4 = arith.mulf %g, %3 : tensor<8xf32>
      return %1, %4 : tensor<8xf32>, tensor<8xf32>
    }
    ```
  }];
  let options = [
    PassOptionOf<Remat>,
    PassOptionOf<RematCollectives>,
    PassOptionOf<MemoryLimit>,
    Option<"machine", "machine", "::shoal::MachineKind",
           "::shoal::MachineKind::CPU",
           "Whose memory's speed counts, cpu or gpu "
           "(shoal/Machine/Machine.h)", [{::llvm::cl::values(
             clEnumValN(::shoal::MachineKind::CPU, "cpu", "A core of a CPU"),
             clEnumValN(::shoal::MachineKind::GPU, "gpu", "A GPU"))}]>,
    Option<"explain", "explain", "bool", "false",
           "Remarks: what is computed again, and what that costs">
  ];
  let dependentDialects = ["::shoal::ShoalDialect"];
}

#endif // SHOAL_TRANSFORMS_REMATERIALIZE_PASSES_TD
