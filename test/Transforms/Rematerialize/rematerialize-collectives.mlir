// What a backward pass sends again.
//
// RUN: shoal-opt %s -split-input-file --shoal-rematerialize | FileCheck %s --check-prefix=SAVE
// RUN: shoal-opt %s -split-input-file --shoal-rematerialize=remat-collectives=params | FileCheck %s --check-prefix=PARAMS
// RUN: shoal-opt %s -split-input-file --shoal-rematerialize="remat=nothing remat-collectives=repeat" | FileCheck %s --check-prefix=REPEAT

// A weight is gathered, and widened, for each use. Nothing else runs again.
// SAVE-LABEL: @gathered_weight
// SAVE-COUNT-1: spmd.all_gather
// SAVE-NOT: spmd.all_gather
// SAVE: return

// PARAMS-LABEL: @gathered_weight
// PARAMS: = spmd.all_gather
// PARAMS: arith.extf
// PARAMS: %[[TANH:.*]] = math.tanh
// PARAMS: arith.mulf %{{.*}}, %[[TANH]]
// PARAMS: %[[SHARD:.*]] = shoal.optimization_barrier %arg0
// PARAMS: %[[WHOLE:.*]] = spmd.all_gather @mesh [{"x"}, {}] %[[SHARD]]
// PARAMS: %[[WIDE:.*]] = arith.extf %[[WHOLE]]
// PARAMS: shoal.einsum "BH,MH->BM" %{{.*}}, %[[WIDE]]
shoal.mesh @mesh = <["x" = 4]>
func.func @gathered_weight(%w: tensor<2x8xbf16>, %x: tensor<4x8xf32>, %g: tensor<4x8xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>) attributes {shoal.spmd = @mesh} {
  %whole = spmd.all_gather @mesh [{"x"}, {}] %w : tensor<2x8xbf16> -> tensor<8x8xbf16>
  %wide = arith.extf %whole : tensor<8x8xbf16> to tensor<8x8xf32>
  %h = shoal.einsum "BM,MH->BH" %x, %wide : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %y = math.tanh %h : tensor<4x8xf32>
  %gh = arith.mulf %g, %y : tensor<4x8xf32> loc(fused<"gradient">["f.py":1:1])
  %gx = shoal.einsum "BH,MH->BM" %gh, %wide : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %y, %gx : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// What was computed is no parameter, and neither is a sum of what devices have.
// The cut repeats whichever costs least: a sum of an argument saves its bytes,
// and so does a gather of what has fewer.
// PARAMS-LABEL: @computed
// PARAMS: = spmd.all_gather
// PARAMS: spmd.all_reduce
// PARAMS-NOT: = spmd.all
// PARAMS: return

// REPEAT-LABEL: @computed
// REPEAT: = spmd.all_gather
// REPEAT: spmd.all_reduce
// REPEAT: shoal.optimization_barrier
// REPEAT: = spmd.all_gather
shoal.mesh @mesh = <["x" = 4]>
func.func @computed(%x: tensor<2xf32>, %w: tensor<8xf32>, %g: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>) attributes {shoal.spmd = @mesh} {
  %e = math.exp %x : tensor<2xf32>
  %all = spmd.all_gather @mesh [{"x"}] %e : tensor<2xf32> -> tensor<8xf32>
  %sum = spmd.all_reduce sum @mesh {"x"} %w : tensor<8xf32>
  %y = arith.mulf %all, %sum : tensor<8xf32>
  %z = math.tanh %y : tensor<8xf32>
  %ga = arith.mulf %g, %all : tensor<8xf32> loc(fused<"gradient">["f.py":1:1])
  %gs = arith.mulf %ga, %sum : tensor<8xf32>
  return %z, %gs : tensor<8xf32>, tensor<8xf32>
}

// -----

// Of one function alone.
// SAVE-LABEL: @in_a_boundary
// SAVE: %[[FIRST:.*]] = spmd.all_gather @mesh [{"x"}] %arg0
// SAVE: spmd.all_gather @mesh [{"x"}] %arg1
// SAVE: %[[SHARD:.*]] = shoal.optimization_barrier %arg1
// SAVE: spmd.all_gather @mesh [{"x"}] %[[SHARD]]
// SAVE-NOT: spmd.all_gather
shoal.mesh @mesh = <["x" = 4]>
func.func @in_a_boundary(%v: tensor<2xf32>, %w: tensor<2xf32>, %g: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>) attributes {shoal.spmd = @mesh} {
  %first = spmd.all_gather @mesh [{"x"}] %v : tensor<2xf32> -> tensor<8xf32>
  %in = shoal.remat_boundary %w {region = 0, policy = "everything", collectives = "params"} : tensor<2xf32>
  %second = spmd.all_gather @mesh [{"x"}] %in : tensor<2xf32> -> tensor<8xf32>
  %y = arith.mulf %first, %second : tensor<8xf32>
  %out = shoal.remat_boundary %y {region = 0} : tensor<8xf32>
  %z = math.tanh %out : tensor<8xf32>
  %gf = arith.mulf %g, %first : tensor<8xf32> loc(fused<"gradient">["f.py":1:1])
  %gs = arith.mulf %gf, %second : tensor<8xf32>
  return %z, %gs : tensor<8xf32>, tensor<8xf32>
}

// -----

// The gather stands in front of the boundary that uses it.
// SAVE-LABEL: @in_front_of_a_boundary
// SAVE-COUNT-1: spmd.all_gather
// SAVE-NOT: spmd.all_gather

// PARAMS-LABEL: @in_front_of_a_boundary
// PARAMS-COUNT-2: = spmd.all_gather
// PARAMS-NOT: spmd.all_gather
// PARAMS: return
shoal.mesh @mesh = <["x" = 4]>
func.func @in_front_of_a_boundary(%w: tensor<2xf32>, %x: tensor<8xf32>, %g: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>) attributes {shoal.spmd = @mesh} {
  %whole = spmd.all_gather @mesh [{"x"}] %w : tensor<2xf32> -> tensor<8xf32>
  %in:2 = shoal.remat_boundary %whole, %x {region = 0, policy = "nothing"} : tensor<8xf32>, tensor<8xf32>
  %y = arith.mulf %in#0, %in#1 : tensor<8xf32>
  %t = math.tanh %y : tensor<8xf32>
  %out = shoal.remat_boundary %t {region = 0} : tensor<8xf32>
  %gy = arith.mulf %g, %out : tensor<8xf32> loc(fused<"gradient">["f.py":1:1])
  %gx = arith.mulf %gy, %in#0 : tensor<8xf32>
  return %out, %gx : tensor<8xf32>, tensor<8xf32>
}
