// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_TRANSFORMS_IMPORT_PASSES_TD
#define SHOAL_TRANSFORMS_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposeComposites : Pass<"shoal-decompose-composites"> {
  let summary = "Writes out one_hot, softmax, top_k_gating, ... in primitive ops";
  let description = [{
    Replaces every op that has `CompositeOpInterface` by the ops it stands for,
    until none is left: einsum, reduce, broadcast_in_dim, slice, reshape, iota,
    cumulative and top_k of this dialect, and `arith` and `math` on tensors.
    The new ops carry the location of the composite. Later passes need to know
    of no composite.

    ```mlir
    func.func @activation(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
      %y = shoal.relu %x : tensor<8x16xf32>
      return %y : tensor<8x16xf32>
    }
    ```
    becomes
    ```mlir
    func.func @activation(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
      %zero = arith.constant dense<0.0> : tensor<8x16xf32>
      %y = arith.maximumf %x, %zero : tensor<8x16xf32>
      return %y : tensor<8x16xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def SplitGroups : Pass<"shoal-split-groups", "::mlir::ModuleOp"> {
  let summary = "Keeps rows of groups in parts between their ragged products";
  let description = [{
    Of the result of a ragged product each row is that of one group. Where an
    annotation splits the groups over p parts, each element of it is non-zero in
    one part alone: the parts' results are addends of a sum, of which one is not
    zero. A further product with the same groups reads in each part the rows of
    its own groups, so whatever is computed of rows in between, element by
    element, may be computed of each part's, linear or not, and no sum is needed
    in front of it.

    To say so, such products get a dimension of size p for the parts, and so does
    what is computed between them. The sum over parts stands behind the last one,
    where all that is linear lets it pass, as any partial sum.

    Assumes equal bounds to be one value (`--cse`). Products in regions that are
    written for one device stay, and so do groups that p does not divide.

    ```mlir
    shoal.mesh @mesh = <["ep" = 2]>
    func.func @experts(%x: tensor<8x4xf32>, %wi: tensor<6x4x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"ep"}, {}, {} ]>},
                       %wo: tensor<6x5x4xf32>, %b: tensor<6xi32>, %e: tensor<6xi32>) -> tensor<8x4xf32> {
      %h = shoal.ragged_einsum "TM,EMH,E->TH" rows "T" %x, %wi groups %b, %e
         : (tensor<8x4xf32>, tensor<6x4x5xf32>, tensor<6xi32>, tensor<6xi32>) -> tensor<8x5xf32>
      %a = math.exp %h : tensor<8x5xf32>
      %y = shoal.ragged_einsum "TH,EHM,E->TM" rows "T" %a, %wo groups %b, %e
         : (tensor<8x5xf32>, tensor<6x5x4xf32>, tensor<6xi32>, tensor<6xi32>) -> tensor<8x4xf32>
      return %y : tensor<8x4xf32>
    }
    ```
    becomes
    ```mlir
    ...
      %h = shoal.ragged_einsum "TM,AEMH,AE->ATH" rows "T" %x, %0 groups %1, %2
         : (tensor<8x4xf32>, tensor<2x3x4x5xf32>, tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x8x5xf32>
      %a = math.exp %h : tensor<2x8x5xf32>
    ...
      %p = shoal.ragged_einsum "ATH,AEHM,AE->ATM" rows "T" %a, %5 groups %6, %7
         : (tensor<2x8x5xf32>, tensor<2x3x5x4xf32>, tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x8x4xf32>
      %y = shoal.reduce sum %p dims = [0] : tensor<2x8x4xf32> -> tensor<8x4xf32>
    ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::shoal::ShoalDialect"];
}

def FormManualRegions : Pass<"shoal-form-manual-regions"> {
  let summary = "Makes regions of the parts written for one device";
  let description = [{
    Collects what is computed between `auto_to_manual` and `manual_to_auto`, in
    parts that no value connects, and makes a `manual_computation` over all axes
    of the mesh of each. What a part uses that reads nothing, such as constants,
    is copied into it.

    ```mlir
    shoal.mesh @mesh = <["x" = 2]>
    func.func @f(%x: tensor<8x4xf32>) -> tensor<8xf32> {
      %l = shoal.auto_to_manual %x <@mesh, [{}, {"x"} ]> : tensor<8x4xf32> -> tensor<8x2xf32>
      %s = shoal.reduce sum %l dims = [1] : tensor<8x2xf32> -> tensor<8xf32>
      %r = spmd.all_reduce sum @mesh {"x"} %s : tensor<8xf32>
      %y = shoal.manual_to_auto %r <@mesh, [{} ]> : tensor<8xf32> -> tensor<8xf32>
      return %y : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    ...
      %y = shoal.manual_computation @mesh {"x"}(%x) in [#shoal.sharding<@mesh, [{}, {"x"} ]>] out [#shoal.sharding<@mesh, [{} ]>] {
    ...
      } : (tensor<8x4xf32>) -> tensor<8xf32>
      return %y : tensor<8xf32>
    ...
    ```
  }];
  let dependentDialects = ["::shoal::ShoalDialect"];
}

def ExposeAddends : Pass<"shoal-expose-addends", "::mlir::ModuleOp"> {
  let summary = "Gives unreduced arguments and results a dimension of addends";
  let description = [{
    An argument or result of a program whose sharding is partial is a sum of
    which devices hold addends. Who calls the program has these, and not the sum:
    for each such argument or result of a public function an array with one more
    dimension, the first, with an addend for each device along the partial axes,
    which split it. It has the attribute `shoal.addends`. Nothing is reduced: a
    region for one device makes a partial value of each device's addend, or gives
    it back.

    ```mlir
    shoal.mesh @mesh = <["x" = 2, "y" = 4]>
    func.func @f(%x: tensor<8x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {} ], partial = {"y"}>}) -> tensor<8x4xf32> {
      %y = math.exp %x : tensor<8x4xf32>
      return %y : tensor<8x4xf32>
    }
    ```
    becomes
    ```mlir
    ...
    func.func @f(%x: tensor<4x8x4xf32> {shoal.addends, shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {"x"}, {} ]>}) -> tensor<8x4xf32> {
      %0 = shoal.manual_computation @mesh {"y"}(%x) in [#shoal.sharding<@mesh, [{"y"}, {"x"}, {} ]>] out [#shoal.sharding<@mesh, [{"x"}, {} ], partial = {"y"}>] {
    ...
      %y = math.exp %0 : tensor<8x4xf32>
    ...
    ```
  }];
  let dependentDialects = ["::shoal::ShoalDialect"];
}

def ResolveAnnotations : Pass<"shoal-resolve-annotations", "::mlir::ModuleOp"> {
  let summary = "Writes GShard's annotations as shardings by named axes";
  let description = [{
    Replaces `replicate`, `split` and `shard` by `sharding_constraint` over the
    module's first mesh. A device assignment that is a tiling by (sub-)axes of
    the mesh becomes these axes; any other gets a mesh of its own, with the same
    axes and another device order. A module without mesh and annotation gets a
    mesh of one device.

    ```mlir
    shoal.mesh @mesh = <["data" = 2, "expert" = 4]>
    func.func @f(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
      %y = shoal.split %x {dim = 0, num_partitions = 4} : tensor<8x16xf32>
      return %y : tensor<8x16xf32>
    }
    ```
    becomes
    ```mlir
    shoal.mesh @mesh = <["data" = 2, "expert" = 4]>
    func.func @f(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
      %y = shoal.sharding_constraint %x <@mesh, [{"expert"}, {} ]> : tensor<8x16xf32>
      return %y : tensor<8x16xf32>
    }
    ```
  }];
  let dependentDialects = ["::shoal::ShoalDialect"];
}

def UnifyMeshes : Pass<"shoal-unify-meshes", "::mlir::ModuleOp"> {
  let summary = "Writes the axes of all meshes as (sub-)axes of the first";
  let description = [{
    Several meshes may name the same devices: one for attention, one for experts
    (Megatron-Core's parallel folding). A position in a mesh is a number, and an
    axis one of its digits; what another mesh calls `"ep"` is here called by the
    axes of the first mesh that are the same digits. From then on the program
    has one mesh, but for device orders, and a reshard between the meshes is
    like any other. A mesh with `device_ids` of its own keeps them. What an
    annotation was before stays beside it, as `shoal.written`, for messages.

    An error where the meshes differ in the number of devices, or where an axis
    is no product of (sub-)axes of the first mesh, as one of 2 within 3 x 2.

    ```mlir
    shoal.mesh @attention = <["dp" = 2, "tp" = 4]>
    shoal.mesh @experts = <["ep" = 4, "etp" = 2]>
    func.func @f(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
      %y = shoal.sharding_constraint %x <@experts, [{"ep"}, {} ]> : tensor<8x16xf32>
      return %y : tensor<8x16xf32>
    }
    ```
    becomes
    ```mlir
    shoal.mesh @attention = <["dp" = 2, "tp" = 4]>
    func.func @f(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
      %y = shoal.sharding_constraint %x <@attention, [{"dp", "tp":(1)2}, {} ]> {shoal.written = ...} : tensor<8x16xf32>
      return %y : tensor<8x16xf32>
    }
    ```
  }];
  let dependentDialects = ["::shoal::ShoalDialect"];
}

def VerifyProgram : Pass<"shoal-verify-program", "::mlir::ModuleOp"> {
  let summary = "Refuses ops outside of functions, and calls that cannot all "
                "be inlined";
  let description = [{
    A program is one module of functions and meshes: another op beside them, or
    another module, would be dropped, and is an error.

    Shardings are chosen for one function, so all calls are inlined. A function
    that calls itself has no end; calls that double at every level have one, but
    twenty levels make a million ops. Counts without inlining, and is an error
    for the first, and where a function comes to more than `max-ops`. Changes
    nothing.

    ```mlir
    func.func private @twice(%x: tensor<8xf32>) -> tensor<8xf32> {
      %y = func.call @twice(%x) : (tensor<8xf32>) -> tensor<8xf32>
      return %y : tensor<8xf32>
    }
    ```
    is an error:
    ```text
    f.mlir:2:8: error: 'func.call' op makes @twice call itself: calls are inlined, and this has no end
    ```
  }];
  let options = [
    Option<"maxOps", "max-ops", "uint64_t", /*default=*/"1 << 20",
           "The most ops that a function may come to">
  ];
}

#endif // SHOAL_TRANSFORMS_IMPORT_PASSES_TD
