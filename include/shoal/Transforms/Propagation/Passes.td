// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_TRANSFORMS_PROPAGATION_PASSES_TD
#define SHOAL_TRANSFORMS_PROPAGATION_PASSES_TD

include "mlir/Pass/PassBase.td"
include "shoal/Transforms/Options/PartitionOptions.td"

def Propagate : Pass<"shoal-propagate", "::mlir::ModuleOp"> {
  let summary = "Writes what the annotations suggest for every value";
  let description = [{
    Assumes functions of one block after inlining, `--shoal-decompose-composites`
    and `--shoal-resolve-annotations`. Spreads the axes of the annotations
    (`shoal.sharding` of arguments and results, `sharding_constraint`) through
    the factor rules of the ops, both ways, to a fixpoint: priorities of the
    user in ascending order, in each first elementwise ops, then broadcasts and
    reductions, then contractions.

    The outcome is a hint, nothing is bound to it: `--shoal-assign` starts from
    the same hints, which it computes itself, and overwrites the attributes.
    `shoal.shardings` and `shoal.origin` on ops hold a hint and its origin for
    each result, `shoal.argument_hints` and `shoal.argument_origins` on the
    function those of its arguments. An origin lists for each axis the
    annotation that it came from and the last op that it came through; earlier
    ones stand at the values on the way.

    ```mlir
    shoal.mesh @mesh = <["x" = 4]>
    func.func @f(%x: tensor<8x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {} ]>}) -> tensor<8x16xf32> {
      %y = math.exp %x : tensor<8x16xf32>
      return %y : tensor<8x16xf32>
    }
    ```
    becomes
    ```mlir
    ...
      %y = math.exp %x {shoal.origin = ["x: from argument 0 at f.mlir:2:14 via math.exp"],
                        shoal.shardings = [#shoal.sharding<@mesh, [{"x"}, {} ]>]} : tensor<8x16xf32>
    ```
  }];
}

def Assign : Pass<"shoal-assign", "::mlir::ModuleOp"> {
  let summary = "Chooses the sharding of every value by cost, and reshards";
  let description = [{
    Assumes what `--shoal-propagate` assumes; the mesh is the module's first
    one, others may differ from it in the order of the devices. Chooses for
    every op which axes split which of its factors, so that bytes sent plus
    operations computed twice cost least over the whole function (see
    `assignShardings`). Annotations hold exactly; open dimensions, and
    arguments and results without annotation, are chosen too.

    Afterwards
    * `shoal.shardings` on every op with results, `shoal.sharding` on every
      argument and result of the function, hold the chosen shardings, without
      open dimensions; sums may be partial inside of the function;
    * a `shoal.reshard` stands, before the first user, wherever an op needs an
      operand in another sharding than that in which it was made, once for all
      users that need the same; its `why` names the first of them;
    * `shoal.origin` on ops, and `shoal.argument_origins` on the function, say
      for each axis that splits the value whether the choice followed an
      annotation, and through which ops, or cost alone;
    * annotations stay in place, their operand being what they ask for;
    * an op without operands is there once for each sharding that users need, and
      so are ops whose result is made of less than it is, where making it again
      is cheaper than moving it.

    A value that is split where it is made, larger than `max-replicated-bytes`,
    and needed whole by a user that is no annotation is an error at both, unless
    its name is in `allow-replicated` or it has `shoal.allow_replicated`.

    Einsums that `--shoal-sparsify-einsums` will compute from rows count what is
    moved then, of all rows that are read by place on each device. The function's
    attribute `shoal.global_einsum_flops` says what is left of products.

    With `machine-file` costs are seconds on the cluster of that file
    (docs/guide/Machines.md): of each collective by the levels that its groups
    lie on, of products by the sizes that a device has of them, of all else by
    its operations and what it writes. Nothing is taken to run beside anything
    else.

    Where all devices together compute more than `warn-repeated-work` times the
    operations of an even split, a warning at the op that repeats most says how
    much, with notes at the next ones; beyond `max-repeated-work` it is an error.

    ```mlir
    shoal.mesh @mesh = <["x" = 4]>
    func.func @f(%x: tensor<8x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {} ]>})
        -> (tensor<8x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"} ]>}) {
      return %x : tensor<8x16xf32>
    }
    ```
    becomes
    ```mlir
    ...
      %0 = shoal.reshard %x <@mesh, [{"x"}, {} ]> -> <@mesh, [{}, {"x"} ]> {..., why = "result 0 of @f"} : tensor<8x16xf32>
      return %0 : tensor<8x16xf32>
    ```
  }];
  let options = [
    Option<"machine", "machine", "::shoal::MachineKind",
           "::shoal::MachineKind::CPU",
           "Whose balance and latency count, cpu or gpu "
           "(shoal/Machine/Machine.h)", [{::llvm::cl::values(
             clEnumValN(::shoal::MachineKind::CPU, "cpu", "A core of a CPU"),
             clEnumValN(::shoal::MachineKind::GPU, "gpu", "A GPU"))}]>,
    PassOptionOf<FlopsPerByte>,
    PassOptionOf<MachineFile, "machine-file">,
    PassOptionOf<RepeatMargin>,
    PassOptionOf<Lint>,
    PassOptionOf<Certify>,
    PassOptionOf<WarnRepeatedWork>,
    PassOptionOf<MaxRepeatedWork>,
    PassOptionOf<DenseOneHots>,
    PassOptionOf<OneHotGain>,
    Option<"memoryWeight", "memory-weight", "double", "0.002",
           "Cost of a byte that a device writes, in bytes sent">,
    Option<"latencyBytes", "latency-bytes", "double", "-1.0",
           "Cost of a reshard besides its bytes, in bytes sent; negative for "
           "the machine's, or none where flops-per-byte is given">,
    Option<"pricePlans", "price-plans", "bool", "true",
           "Count the bytes of the plans that --shoal-plan-reshards makes, not "
           "the least bytes that any plan could have">,
    Option<"effort", "effort", "::shoal::SearchEffort",
           "::shoal::SearchEffort::Full",
           "How far the search for shardings goes", [{::llvm::cl::values(
             clEnumValN(::shoal::SearchEffort::Greedy, "greedy",
                        "The choice of one op after the other"),
             clEnumValN(::shoal::SearchEffort::Descent, "descent",
                        "Then changes of single ops"),
             clEnumValN(::shoal::SearchEffort::Quick, "quick",
                        "Then of many at a time, from two starts"),
             clEnumValN(::shoal::SearchEffort::Full, "full",
                        "The same from all starts"))}]>,
    Option<"foldRepeats", "fold-repeats", "bool", "true",
           "Search layers that repeat once">,
    PassOptionOf<MaxReplicatedBytes>,
    PassListOptionOf<AllowReplicated>
  ];
}

def VerifyAssignment : Pass<"shoal-verify-assignment", "::mlir::ModuleOp"> {
  let summary = "Checks what --shoal-assign leaves";
  let description = [{
    Every value has a sharding without open dimensions over the mesh, arguments
    and results of functions are not partial; each op's operands and results fit
    one split of its factors; a reshard starts from its operand's sharding and
    ends in its own; annotations hold. Changes nothing.

    ```mlir
    shoal.mesh @mesh = <["x" = 2]>
    func.func @f(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"} ]>})
        -> (tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{} ]>}) {
      %y = math.exp %x {shoal.shardings = [#shoal.sharding<@mesh, [{"x"} ]>]} : tensor<8xf32>
      return %y : tensor<8xf32>
    }
    ```
    is an error, as a reshard is missing:
    ```text
    f.mlir:2:1: error: result 0: sharding is #shoal.sharding<@mesh, [{} ]> but #shoal.sharding<@mesh, [{"x"} ]> is returned
    ```
  }];
}

def Explain : Pass<"shoal-explain", "::mlir::ModuleOp"> {
  let summary = "Prints each value's sharding and origin, each reshard's bytes";
  let description = [{
    A value's brackets hold the chain of decisions behind its sharding: the
    annotation that each axis came from and the ops that it came through, or
    that cost chose. A reshard's line says which operand of which op asked for
    it, both shardings, its bytes, what the axes that lie elsewhere behind it are
    for, where the mesh says so, and the annotations that met there: those
    behind the sharding that the value has, and those behind what its user
    makes. Collectives carry the operand and the shardings in their `why`.

    Reads what `--shoal-propagate` or `--shoal-assign` wrote and prints text to
    the standard error stream, a line a value. Changes nothing.

    ```mlir
    shoal.mesh @mesh = <["x" = 4]>
    func.func @f(%x: tensor<8x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {} ]>})
        -> (tensor<8x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"} ]>})
        attributes {shoal.argument_origins = ["x: from argument 0"]} {
      %0 = shoal.reshard %x <@mesh, [{"x"}, {} ]> -> <@mesh, [{}, {"x"} ]>
          {why = "result 0 of @f", shoal.shardings = [#shoal.sharding<@mesh, [{}, {"x"} ]>]} : tensor<8x16xf32>
      return %0 : tensor<8x16xf32>
    }
    ```
    prints
    ```text
    @f
      %arg0 argument 0 : tensor<8x16xf32> <@mesh, [{"x"}, {} ]>  [x: from argument 0]
      %0 = reshard %arg0 : tensor<8x16xf32> <@mesh, [{"x"}, {} ]> -> <@mesh, [{}, {"x"} ]>  96 bytes, for result 0 of @f; here meets [x: from argument 0] with [what a result asks for]
      result 0 : tensor<8x16xf32> <@mesh, [{}, {"x"} ]>
      reshards send 96 bytes per device
    ```
  }];
}

#endif // SHOAL_TRANSFORMS_PROPAGATION_PASSES_TD
