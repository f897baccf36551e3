// RUN: shoal-opt %s --split-input-file --verify-diagnostics --shoal-verify-kernels=device

func.func @c1_a_linalg_op_is_left(%x: memref<4xf32>, %y: memref<4xf32>) {
  // expected-error @below {{'linalg.exp' op has not become a kernel}}
  linalg.exp ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  return
}

// -----

func.func @c2_the_host_copies(%x: memref<4xf32>, %y: memref<4xf32>) {
  // expected-error @below {{'memref.copy' op touches memory of the device on the host}}
  memref.copy %x, %y : memref<4xf32> to memref<4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2]>

func.func @c3_nobody_waits(%x: memref<24xf32>, %y: memref<24xf32>) {
  // expected-note @below {{which is this}}
  rt.all_reduce sum @mesh {"x"} ins(%x : memref<24xf32>) outs(%y : memref<24xf32>) {collective = 0 : i64}
  // expected-error @below {{'func.return' op comes while a collective is under way}}
  return
}

// -----

shoal.mesh @mesh = <["x" = 2]>

func.func @c3_a_loop_begins(%x: memref<24xf32>, %y: memref<24xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note @below {{which is this}}
  rt.all_reduce sum @mesh {"x"} ins(%x : memref<24xf32>) outs(%y : memref<24xf32>) {collective = 1 : i64}
  rt.wait 0
  // expected-error @below {{'scf.for' op comes while a collective is under way}}
  scf.for %i = %c0 to %c1 step %c1 {
  }
  rt.wait 1
  return
}

// -----

// Waiting for a collective ends those before it in its stream, and no others.
module attributes {shoal.collective_streams = array<i64: 0, 1, 0>} {
  shoal.mesh @mesh = <["x" = 2, "y" = 2]>

  func.func @c3_of_streams(%x: memref<24xf32>, %y: memref<24xf32>, %z: memref<24xf32>, %w: memref<24xf32>) {
    rt.all_reduce sum @mesh {"x"} ins(%x : memref<24xf32>) outs(%y : memref<24xf32>) {collective = 0 : i64}
    // expected-note @below {{which is this}}
    rt.all_reduce sum @mesh {"y"} ins(%x : memref<24xf32>) outs(%z : memref<24xf32>) {collective = 1 : i64}
    rt.all_reduce sum @mesh {"x"} ins(%x : memref<24xf32>) outs(%w : memref<24xf32>) {collective = 2 : i64}
    rt.wait 2
    // expected-error @below {{'func.return' op comes while a collective is under way}}
    return
  }
}
