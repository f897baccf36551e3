// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_TRANSFORMS_COLLECTIVES_PASSES_TD
#define SHOAL_TRANSFORMS_COLLECTIVES_PASSES_TD

include "mlir/Pass/PassBase.td"
include "shoal/Transforms/Options/PartitionOptions.td"

def MergeCollectives : Pass<"shoal-merge-collectives", "::mlir::func::FuncOp"> {
  let summary = "Merges ops, and so collectives, that compute the same";
  let description = [{
    As `--cse`, but collectives that differ in their `why` alone are the same:
    the one that is left names both reasons. Ops that no one reads go away
    first. Assumes per-device functions; leaves others as they are.

    ```mlir
    shoal.mesh @mesh = <["x" = 4]>
    func.func @f(%a: tensor<2xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {shoal.spmd} {
      %0 = spmd.all_gather @mesh [{"x"} ] %a {why = "b"} : tensor<2xf32> -> tensor<8xf32>
      %1 = spmd.all_gather @mesh [{"x"} ] %a {why = "c"} : tensor<2xf32> -> tensor<8xf32>
      return %0, %1 : tensor<8xf32>, tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    shoal.mesh @mesh = <["x" = 4]>
    func.func @f(%a: tensor<2xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {shoal.spmd} {
      %0 = spmd.all_gather @mesh [{"x"} ] %a {why = "b; c"} : tensor<2xf32> -> tensor<8xf32>
      return %0, %0 : tensor<8xf32>, tensor<8xf32>
    }
    ```
  }];
}

def SimplifyCollectives : Pass<"shoal-simplify-collectives", "::mlir::ModuleOp"> {
  let summary = "Cancels and fuses collectives that follow each other";
  let description = [{
    Every rewrite sends fewer bytes, or as many in fewer messages:

    | before | after |
    |---|---|
    | all_gather over P, R, then all_slice over P, S | all_gather over R, all_slice over S, or nothing |
    | all_gather of one dimension, all_slice of another over the same axes | all_to_all |
    | all_slice, then all_gather over the same axes, of what all devices hold | nothing, or a smaller all_slice |
    | all_reduce, then all_slice over axes that were summed over | reduce_scatter, all_reduce over the rest |
    | all_reduce, then all_slice over others | all_slice, all_reduce |
    | all_to_all and back; collective_permute and back | nothing |
    | all_to_all, then all_gather of its target dimension | all_gather of its source dimension |
    | all_gather of all_gather, all_reduce of all_reduce, permute of permute | one |
    | all_gather over S beside all_gather over R, S of the same | the second one gathers the first over R |

    Where dimensions do not divide evenly, blocks within blocks may not be the
    blocks over all axes; there a rewrite that needs that does not happen. The
    first op of a pair stays where others need its result, and then only
    rewrites that leave nothing to send behind happen. That a value is the same
    on all devices is proved by the analysis of `--shoal-verify-collectives`.

    ```mlir
    shoal.mesh @mesh = <["x" = 4]>
    func.func @f(%a: tensor<8x16xf32>) -> tensor<8x4xf32> attributes {shoal.spmd} {
      %0 = spmd.all_reduce sum @mesh {"x"} %a : tensor<8x16xf32>
      %1 = spmd.all_slice @mesh [{}, {"x"} ] %0 : tensor<8x16xf32> -> tensor<8x4xf32>
      return %1 : tensor<8x4xf32>
    }
    ```
    becomes
    ```mlir
    shoal.mesh @mesh = <["x" = 4]>
    func.func @f(%a: tensor<8x16xf32>) -> tensor<8x4xf32> attributes {shoal.spmd} {
      %0 = spmd.reduce_scatter sum @mesh [{}, {"x"} ] %a : tensor<8x16xf32> -> tensor<8x4xf32>
      return %0 : tensor<8x4xf32>
    }
    ```
  }];
}

def HoistCollectives : Pass<"shoal-hoist-collectives", "::mlir::func::FuncOp"> {
  let summary = "Takes loop-invariant collectives out of loops";
  let description = [{
    A collective in the body of a loop whose operands do not change from one
    iteration to the next is done once, before the loop, and so is what it is
    computed from. Values that iterations hand on unchanged count as unchanging.
    Loops are the ops of `RegionBranchOpInterface` or `JoinOpInterface` whose
    regions may run again.
    Collectives in a branch inside of the body stay: they may never run.

    ```mlir
    shoal.mesh @mesh = <["x" = 2]>
    func.func @f(%w: tensor<2xf32>, %t: tensor<4xf32>, %n: index) -> tensor<4xf32> attributes {shoal.spmd} {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %0 = scf.for %i = %zero to %n step %one iter_args(%y = %t) -> (tensor<4xf32>) {
        %1 = spmd.all_gather @mesh [{"x"} ] %w : tensor<2xf32> -> tensor<4xf32>
        %2 = arith.addf %y, %1 : tensor<4xf32>
        scf.yield %2 : tensor<4xf32>
      }
      return %0 : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    shoal.mesh @mesh = <["x" = 2]>
    func.func @f(%w: tensor<2xf32>, %t: tensor<4xf32>, %n: index) -> tensor<4xf32> attributes {shoal.spmd} {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %0 = spmd.all_gather @mesh [{"x"} ] %w : tensor<2xf32> -> tensor<4xf32>
      %1 = scf.for %i = %zero to %n step %one iter_args(%y = %t) -> (tensor<4xf32>) {
        %2 = arith.addf %y, %0 : tensor<4xf32>
        scf.yield %2 : tensor<4xf32>
      }
      return %1 : tensor<4xf32>
    }
    ```
  }];
}

def WindowEinsums : Pass<"shoal-window-einsums", "::mlir::ModuleOp"> {
  let summary = "Loops of permutes and partial einsums instead of large values";
  let description = [{
    The windowed einsum of GSPMD, or collective matmul. An all_gather that only
    einsums read, and a reduce_scatter that sums an einsum's result, become a
    loop over the devices of their group, if the gathered or scattered value has
    more than `bytes` bytes and the loop holds less:

    | before | in the loop |
    |---|---|
    | all_gather, the letter in the result of the einsum | an einsum of the block that is here, written to its rows; the block goes to the next device |
    | all_gather, the letter summed over | an einsum of the block, added up; the block goes to the next device |
    | reduce_scatter | an einsum of one block of rows, added to the sum that comes from the device before |

    With p devices p - 1 blocks are sent, as many bytes as by the collective
    where blocks are even, with its `why`. In each step the collective_permute
    and the einsum do not depend on each other, so that a target that sends in
    the background does both at once. The program's size does not depend on p;
    two devices need no loop.

    ```mlir
    shoal.mesh @mesh = <["x" = 4]>
    func.func @f(%x: tensor<64x32xf32>, %w: tensor<32x8xf32>) -> tensor<256x8xf32> attributes {shoal.spmd} {
      %0 = spmd.all_gather @mesh [{"x"}, {} ] %x {why = "operand 0"} : tensor<64x32xf32> -> tensor<256x32xf32>
      %1 = shoal.einsum "BK,KN->BN" %0, %w : (tensor<256x32xf32>, tensor<32x8xf32>) -> tensor<256x8xf32>
      return %1 : tensor<256x8xf32>
    }
    ```
    becomes
    ```mlir
    ...
      %2:3 = shoal.while (%i = %zero, %block = %x, %y = %zeros) : tensor<i64>, tensor<64x32xf32>, tensor<256x8xf32> cond {
        %three = arith.constant dense<3> : tensor<i64>
        %more = arith.cmpi slt, %i, %three : tensor<i64>
        shoal.yield %more : tensor<i1>
      } do {
        %next = spmd.collective_permute @mesh {"x"} -> @mesh {"x"} %block {shift = 1 : i64, why = "operand 0"} : tensor<64x32xf32>
        ...
        %rows = shoal.einsum "BK,KN->BN" %block, %w : (tensor<64x32xf32>, tensor<32x8xf32>) -> tensor<64x8xf32>
        ...
        %sum = shoal.dynamic_update_slice %y, %rows[%row, %zero] : (tensor<256x8xf32>, tensor<64x8xf32>, tensor<i64>, tensor<i64>) -> tensor<256x8xf32>
        ...
        shoal.yield %plus, %next, %sum : tensor<i64>, tensor<64x32xf32>, tensor<256x8xf32>
      }
    ...
    ```
    and the einsum of the last block.

    All einsums that read a gathered value share one loop. Where the letter's
    dimension is uneven, operands are padded, and rows past the end are masked
    where they would be summed. Sums of narrow floats stay in f32 within a
    device.

    A remark tells why a value above the limit stays:
    * it has another reader, or several dimensions are gathered or scattered;
    * an einsum waits for another one's result, takes a diagonal along the
      letter, or reads the value by two letters;
    * devices of the group are to have the same result, but each would add up
      blocks in another order, beginning with its own;
    * the results are the same on the devices, and the function has choices that
      depend on data: behind a loop, equality can no longer be proved;
    * the loop holds as much.
  }];
  let options = [
    PassOptionOf<WindowedEinsumBytes, "bytes", "bytes">,
    PassOptionOf<WindowedEinsumOverlap, "overlap", "overlap">
  ];
  let dependentDialects = ["::shoal::ShoalDialect"];
}

def SplitExchanges : Pass<"shoal-split-exchanges", "::mlir::ModuleOp"> {
  let summary = "Makes exchanges in two steps, where the machine is faster so";
  let description = [{
    An all_to_all of n devices sends n - 1 messages a device. In two steps, of a
    machine's units of b devices, it sends b - 1 within the unit and n / b - 1
    among equal places of the units, each as much larger (the two-dimensional
    exchange of Tutel, arXiv 2206.03382, section 3.4): the same bytes cross
    between units in fewer messages, and nearly as many more within them. Where
    messages are small or many that is faster. Each all_to_all of one move of
    even blocks is priced on the cluster of `machine-file`, whole and in two
    steps at each of its levels, and the fastest is taken; without a machine
    file all stay as they are.

    The dimension that is taken apart is seen as blocks of units and of devices
    in them, of which each step takes apart one; so both steps are all_to_alls
    like any other, and the result is the same to the bit.

    ```mlir
    shoal.mesh @mesh = <["ep" = 32]>
    func.func @f(%x: tensor<32x2xf32>) -> tensor<1x64xf32> attributes {shoal.spmd} {
      %0 = spmd.all_to_all @mesh [{"ep"} : 1 -> 0] %x : tensor<32x2xf32> -> tensor<1x64xf32>
      return %0 : tensor<1x64xf32>
    }
    ```
    becomes, with `machine-file=machines/dgx-h100.toml`, whose nodes have 8
    devices:
    ```mlir
    shoal.mesh @mesh = <["ep" = 32]>
    func.func @f(%x: tensor<32x2xf32>) -> tensor<1x64xf32> attributes {shoal.spmd} {
      %0 = shoal.reshape %x : tensor<32x2xf32> -> tensor<4x8x1x2xf32>
      %1 = spmd.all_to_all @mesh [{"ep":(4)8} : 3 -> 1] %0 : tensor<4x8x1x2xf32> -> tensor<4x1x1x16xf32>
      %2 = spmd.all_to_all @mesh [{"ep":(1)4} : 3 -> 0] %1 : tensor<4x1x1x16xf32> -> tensor<1x1x1x64xf32>
      %3 = shoal.reshape %2 : tensor<1x1x1x64xf32> -> tensor<1x64xf32>
      return %3 : tensor<1x64xf32>
    }
    ```
  }];
  let options = [
    PassOptionOf<MachineFile, "machine-file">
  ];
  let dependentDialects = ["::shoal::ShoalDialect"];
}

def CombineCollectives : Pass<"shoal-combine-collectives", "::mlir::ModuleOp"> {
  let summary = "Makes one message of several small ones";
  let description = [{
    all_reduces, all_gathers and reduce_scatters of one kind, group and element
    type that do not depend on each other are combined, in program order, up to
    `max-bytes` a message (the larger of operand and result). Operands are
    flattened, put one behind the other, and the parts of the result get their
    shapes back. The packing is in the program and not in the collective: a
    message has to be contiguous for MPI anyhow, and so it needs no other form
    of any collective, its memory is planned, and what produces an operand can
    write it in place.

    The combined op stands where the last of them stood. Ops with as many
    collectives before them on the longest way are taken together, which makes
    the outcome a function of the program and rules out cycles.

    Gathers bring together what is much larger than what each device has, and the
    message is held beside all that is unpacked from it, before it is needed. As
    many are combined as do not make their place the one where most is held.

    A message varies between devices wherever one of its parts does. A result
    that a choice between regions with collectives depends on is therefore
    combined only with those that vary over the same mesh axes (see
    `Uniformity`): devices must still agree on the choice.

    ```mlir
    shoal.mesh @mesh = <["x" = 2]>
    func.func @f(%a: tensor<f32>, %b: tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>) attributes {shoal.spmd} {
      %0 = spmd.all_reduce sum @mesh {"x"} %a : tensor<f32>
      %1 = spmd.all_reduce sum @mesh {"x"} %b : tensor<3xf32>
      return %0, %1 : tensor<f32>, tensor<3xf32>
    }
    ```
    becomes
    ```mlir
    ...
      %0 = shoal.reshape %a : tensor<f32> -> tensor<1x1xf32>
      %1 = shoal.reshape %b : tensor<3xf32> -> tensor<1x3xf32>
      %2 = shoal.concatenate %0, %1 dim = 1 : (tensor<1x1xf32>, tensor<1x3xf32>) -> tensor<1x4xf32>
      %3 = spmd.all_reduce sum @mesh {"x"} %2 {why = "2 combined"} : tensor<1x4xf32>
    ...
    ```
    and slices and reshapes of the result.
  }];
  let options = [
    PassOptionOf<CombineBytes, "max-bytes", "maxBytes">
  ];
  let dependentDialects = ["::shoal::ShoalDialect"];
}

def VerifyCollectives : Pass<"shoal-verify-collectives", "::mlir::ModuleOp"> {
  let summary = "Proves that all devices run the same collectives";
  let description = [{
    A per-device program is one sequence of ops; devices can come to differ in
    what they run only where a value chooses between regions. The pass computes
    for each value the mesh axes that it may vary over (see `Uniformity`), and
    fails where such a choice varies over an axis that a collective inside of
    the op spans: some devices of a group would wait for others that never
    come. The error names the op, the axes, the collective, and where the value
    came to differ. A program that passes cannot deadlock, under any schedule
    that keeps the order of the collectives of a group. Changes nothing.

    ```mlir
    shoal.mesh @mesh = <["x" = 2]>
    func.func @f(%p: tensor<i1>, %a: tensor<2xf32>) -> tensor<2xf32> attributes {shoal.spmd} {
      %0 = tensor.extract %p[] : tensor<i1>
      %1 = scf.if %0 -> tensor<2xf32> {
        %2 = spmd.all_reduce sum @mesh {"x"} %a : tensor<2xf32>
        scf.yield %2 : tensor<2xf32>
      } else {
        scf.yield %a : tensor<2xf32>
      }
      return %1 : tensor<2xf32>
    }
    ```
    is an error, as the argument `%p` says nothing of its sharding:
    ```text
    f.mlir:4:8: error: 'scf.if' op may take another way on other devices along {"x"}, but holds a collective over {"x"}: devices that skip it leave the others waiting
    ...
    f.mlir:5:10: note: spmd.all_reduce is here
    ...
    f.mlir:2:14: note: it differs because of argument 0
    ```
  }];
}

def PrintCollectives : Pass<"shoal-print-collectives", "::mlir::ModuleOp"> {
  let summary = "Prints the collectives of per-device programs, and their bytes";
  let description = [{
    A line for each to the standard error stream, in program order, with the
    bytes that one device sends, how often it runs in a loop and the op's
    `why`; then the sum over all runs. Loops of unknown count run once. Changes
    nothing.

    ```mlir
    shoal.mesh @mesh = <["x" = 2]>
    func.func @f(%a: tensor<16xf32>) -> tensor<16xf32> attributes {shoal.spmd} {
      %0 = spmd.all_reduce sum @mesh {"x"} %a {why = "result 0 of @f"} : tensor<16xf32>
      return %0 : tensor<16xf32>
    }
    ```
    prints
    ```text
    @f
      all_reduce {"x"} : tensor<16xf32> -> tensor<16xf32>  64 bytes, for result 0 of @f
      in all 64 bytes in 1 collectives
    ```
  }];
}

#endif // SHOAL_TRANSFORMS_COLLECTIVES_PASSES_TD
