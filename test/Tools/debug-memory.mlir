// What the passes that give values their memory decide, and how often.

// DEFINE: %{plan} = shoal-opt %s --shoal-results-to-out-params --shoal-overlap-collectives --shoal-plan-memory="background" \
// DEFINE:   --shoal-insert-waits --mlir-disable-threading -o /dev/null
// RUN: %{plan} --shoal-statistics 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: %if asserts %{ %{plan} --debug-only=shoal-results-to-out-params 2>&1 | FileCheck %s --check-prefix=RESULTS %}
// RUN: %if asserts %{ %{plan} --debug-only=shoal-overlap-collectives 2>&1 | FileCheck %s --check-prefix=ORDER %}
// RUN: %if asserts %{ %{plan} --debug-only=shoal-plan-memory 2>&1 | FileCheck %s --check-prefix=PLAN %}
// RUN: %if asserts %{ %{plan} --debug-only=shoal-insert-waits 2>&1 | FileCheck %s --check-prefix=WAITS %}

// COUNT-DAG: 2 shoal-insert-waits {{ *}}- Collectives that run in the background
// COUNT-DAG: 2 shoal-insert-waits {{ *}}- Waits inserted
// COUNT-DAG: 1 shoal-overlap-collectives {{ *}}- Orders that need too much memory
// COUNT-DAG: 2 shoal-overlap-collectives {{ *}}- Parts of blocks with collectives
// COUNT-DAG: 1 shoal-overlap-collectives {{ *}}- Parts that got another order
// COUNT-DAG: 2 shoal-plan-memory {{ *}}- Buffers placed in arenas
// COUNT-DAG: 262144 shoal-plan-memory {{ *}}- Bytes of arenas
// COUNT-DAG: 524288 shoal-plan-memory {{ *}}- Bytes of buffers
// COUNT-DAG: 2 shoal-results-to-out-params {{ *}}- Results copied to the caller's buffers
// COUNT-DAG: 1 shoal-results-to-out-params {{ *}}- Results made in donated arguments
// COUNT-DAG: 1 shoal-results-to-out-params {{ *}}- Results made in the caller's buffers

func.func @results(%x: memref<8xf32>, %old: memref<8xf32>) -> (memref<8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>)
    attributes {shoal.donors = array<i64: 1, 0, -1, -1>} {
  %y = memref.alloc() : memref<8xf32>
  // RESULTS: not in the donated argument 0: the result made at {{.*}}:[[# @LINE + 2]]:8 begins while it is used
  // RESULTS: what is allocated at {{.*}}debug-memory.mlir:[[# @LINE + 1]]:8 is argument 3
  %z = memref.alloc() : memref<8xf32>
  linalg.exp ins(%x : memref<8xf32>) outs(%y : memref<8xf32>)
  linalg.exp ins(%x : memref<8xf32>) outs(%z : memref<8xf32>)
  return %y, %z, %x, %z : memref<8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>
}

shoal.mesh @mesh = <["x" = 16]>

// ORDER: [shoal-overlap-collectives {{.*}}] the part that ends at {{.*}}debug-memory.mlir:[[# @LINE + 8]]:3
// ORDER-NEXT: 2 of 3 ops elsewhere: an arena of 0 bytes, of 5120 allowed{{$}}
func.func @time_for_work(%x: memref<4096xf32>, %sum: memref<4096xf32>, %y: memref<4096xf32>, %z: memref<4096xf32>,
                         %w: memref<4096xf32>) {
  rt.all_reduce sum @mesh {"x"} ins(%x : memref<4096xf32>) outs(%sum : memref<4096xf32>) {collective = 0 : i64}
  // WAITS: waits for collective 0 in front of linalg.exp at {{.*}}:[[# @LINE + 1]]:3, which touches what it reads or writes
  linalg.exp ins(%sum : memref<4096xf32>) outs(%y : memref<4096xf32>)
  linalg.exp ins(%z : memref<4096xf32>) outs(%w : memref<4096xf32>)
  return
}

// ORDER: the part that ends at {{.*}}:[[# @LINE + 14]]:3
// ORDER-NEXT: 3 of 4 ops elsewhere: an arena of 524288 bytes, of {{.*}} allowed: rejected
// ORDER-NEXT: 0 of 4 ops elsewhere: an arena of 262144 bytes, of {{[0-9]+}} allowed{{$}}
// PLAN: [shoal-plan-memory {{.*}}] what collectives read stays until waits
// PLAN: @no_memory: 2 buffers in results of 0 bytes and an arena of 262144, 262144 live at a time
// PLAN: bytes [0, 262144), memref<16x4096xf32>, from rt.all_gather at {{.*}}:[[# @LINE + 5]]:3 to linalg.reduce at
// PLAN: bytes [0, 262144), memref<65536xf32>, from linalg.exp at
func.func @no_memory(%x: memref<1x4096xf32>, %z: memref<65536xf32>, %y: memref<4096xf32>, %w: memref<f32>) {
  %all = memref.alloc() : memref<16x4096xf32>
  %big = memref.alloc() : memref<65536xf32>
  rt.all_gather @mesh [{"x"}, {}] ins(%x : memref<1x4096xf32>) outs(%all : memref<16x4096xf32>) {collective = 1 : i64}
  linalg.reduce { arith.addf } ins(%all : memref<16x4096xf32>) outs(%y : memref<4096xf32>) dimensions = [0]
  linalg.exp ins(%z : memref<65536xf32>) outs(%big : memref<65536xf32>)
  linalg.reduce { arith.addf } ins(%big : memref<65536xf32>) outs(%w : memref<f32>) dimensions = [0]
  return
}
