// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_CONTROL_FLOW_OPS_TD
#define SHOAL_CONTROL_FLOW_OPS_TD

include "mlir/Interfaces/ControlFlowInterfaces.td"
include "shoal/Dialect/Shoal/IR/ShoalOpBase.td"

def Shoal_ScalarI1 : 0DTensorOf<[I1]>;
def Shoal_BranchIndex : 0DTensorOf<[I1, I32]>;

def Shoal_YieldOp : Shoal_Op<"yield", [Pure, ReturnLike, Terminator]> {
  let summary = "Ends a region with its results";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

class Shoal_JoinOp<string mnemonic, list<Trait> traits = []>
    : Shoal_Op<mnemonic, [SingleBlock, RecursiveMemoryEffects,
                          DeclareOpInterfaceMethods<JoinOpInterface>] # traits> {
  let hasRegionVerifier = 1;
}

def Shoal_WhileOp : Shoal_JoinOp<"while", [RecursivelySpeculatable]> {
  let summary = "Repeats a body while a condition holds";
  let description = [{
    StableHLO while. The carried values begin as the operands. As long as the
    condition, which sees them, yields true, the body computes their next
    values; the results are the last ones. Both regions may use values from
    outside.
    ```mlir
    func.func @power(%x: tensor<8x8xf32>, %n: tensor<i32>) -> tensor<8x8xf32> {
      %zero = arith.constant dense<0> : tensor<i32>
      %one = arith.constant dense<1> : tensor<i32>
      %r:2 = shoal.while (%i = %zero, %a = %x) : tensor<i32>, tensor<8x8xf32> cond {
        %more = arith.cmpi slt, %i, %n : tensor<i32>
        shoal.yield %more : tensor<i1>
      } do {
        %next = arith.addi %i, %one : tensor<i32>
        %b = shoal.einsum "IK,KJ->IJ" %a, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
        shoal.yield %next, %b : tensor<i32>, tensor<8x8xf32>
      }
      return %r#1 : tensor<8x8xf32>
    }
    ```
    Every device runs the loop equally often: after partitioning each holds the
    whole condition. A carried value has one sharding all around the loop, or is
    a partial sum all around it; reshards stand before the loop or at the yield.

    Costs of the body count as often as it runs where a carried counter starts
    and ends at constants and steps by one; else 10 times.

    What every trip yields as it came, as StableHLO carries all that regions
    use, becomes a value from outside when the op is canonicalised.

    Constraints:
    * (W1) operands, results and arguments of both regions have the same types;
    * (W2) the condition ends in a yield of one tensor<i1>, the body in one of
      the carried values.
  }];
  let arguments = (ins Variadic<Shoal_Tensor>:$inits);
  let results = (outs Variadic<Shoal_Tensor>:$results);
  let regions = (region SizedRegion<1>:$cond, SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasCanonicalizeMethod = 1;
  let extraClassDeclaration = [{
    /// How often the body runs, where constants tell.
    std::optional<int64_t> getTripCount();
  }];
}

def Shoal_CaseOp : Shoal_JoinOp<"case", [RecursivelySpeculatable]> {
  let summary = "Runs one of several branches";
  let description = [{
    StableHLO case: branch number `index`; the last one where there is no such
    branch, be it below 0 or past the end. With an index of i1 and two branches
    it is StableHLO if: the first branch where the index is true, else the
    second. Branches may use values from outside.
    ```mlir
    func.func @choose(%i: tensor<i32>, %x: tensor<8x4xf32>) -> tensor<8x4xf32> {
      %r = shoal.case %i : (tensor<i32>) -> tensor<8x4xf32> {
        shoal.yield %x : tensor<8x4xf32>
      }, {
        %y = arith.addf %x, %x : tensor<8x4xf32>
        shoal.yield %y : tensor<8x4xf32>
      }
      return %r : tensor<8x4xf32>
    }
    ```
    Every device runs the same branch: after partitioning each holds the whole
    index.

    Constraints:
    * (B1) at least one branch; exactly two where the index is of i1;
    * (B2) branches have no arguments and end in a yield of the results' types.
  }];
  let arguments = (ins Shoal_BranchIndex:$index);
  let results = (outs Variadic<Shoal_Tensor>:$results);
  let regions = (region VariadicRegion<SizedRegion<1>>:$branches);
  let assemblyFormat = [{
    $index attr-dict `:` functional-type(operands, results) $branches
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Shoal_OptimizationBarrierOp : Shoal_Op<"optimization_barrier",
    [Pure, DeclareOpInterfaceMethods<ForwardingOpInterface>]> {
  let summary = "Keeps computations from moving across it";
  let description = [{
    StableHLO optimization_barrier: its operands. Nothing folds across it, and
    no equal values before and behind it are merged.
    ```mlir
    %y:2 = shoal.optimization_barrier %x, %z : tensor<8x4xf32>, tensor<8xf32>
    ```
    Constraints:
    * (O1) at least one operand; the results have the operands' types.
  }];
  let arguments = (ins Variadic<Shoal_Tensor>:$inputs);
  let results = (outs Variadic<Shoal_Tensor>:$results);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Shoal_CheckpointNameOp : Shoal_Op<"checkpoint_name",
    [Pure, SameOperandsAndResultType, DeclareOpInterfaceMethods<ForwardingOpInterface>]> {
  let summary = "Gives a value a name that policies of rematerialisation know";
  let description = [{
    The identity on values. `--shoal-rematerialize` with the policy `names:scores`
    keeps a value of this name for the backward pass, and computes what has none
    again; then the name is gone.
    ```mlir
    %y = shoal.checkpoint_name %x "scores" : tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Shoal_Tensor:$input, StrAttr:$label);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = "$input $label attr-dict `:` type($input)";
}

def Shoal_RematBoundaryOp : Shoal_Op<"remat_boundary",
    [Pure, DeclareOpInterfaceMethods<ForwardingOpInterface>]> {
  let summary = "Where a function begins or ends of which a policy says what is kept";
  let description = [{
    Its operands. The ops between the boundary with a `policy` and that without
    one, of the same `region`, are those of a function behind `shoal.remat`:
    what the policy does not save of them, a backward pass computes again, from
    the operands of the first boundary and from values of around. `collectives`
    beside the policy says what it sends again. Gradients pass through. `--shoal-rematerialize` reads and removes both.
    ```mlir
    func.func @rematerialized(%x: tensor<8xf32>) -> tensor<8xf32> {
      %in = shoal.remat_boundary %x {region = 0, policy = "nothing"} : tensor<8xf32>
      %y = math.exp %in : tensor<8xf32>
      %z = math.tanh %y : tensor<8xf32>
      %out = shoal.remat_boundary %z {region = 0} : tensor<8xf32>
      return %out : tensor<8xf32>
    }
    ```
    Constraints:
    * (K1) at least one operand; the results have the operands' types;
    * (K2) the policy is one of `--shoal-rematerialize` (its option `remat`);
    * (K3) `collectives` stands beside a policy and is one of its option
      `remat-collectives`.
  }];
  let arguments = (ins Variadic<Shoal_Tensor>:$inputs, I64Attr:$region,
                       OptionalAttr<StrAttr>:$policy,
                       OptionalAttr<StrAttr>:$collectives);
  let results = (outs Variadic<Shoal_Tensor>:$results);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

#endif // SHOAL_CONTROL_FLOW_OPS_TD
