// Rows that loops read and write where they lie (--shoal-place-rows). Results are
// compared with the interpreter's, byte by byte: only exact operations here.
//
// RUN: split-file %s %t
// RUN: shoalc %t/rows.mlir -o %t/rows
// RUN: %t/rows --random-inputs=1 --output-dir %t/rows.out --check-memory
// RUN: shoal-run %t/rows.mlir --random-inputs=1 --output-dir %t/rows.ref
// RUN: cmp %t/rows.out/scaled.npy %t/rows.ref/scaled.npy
// RUN: cmp %t/rows.out/turned.npy %t/rows.ref/turned.npy
// RUN: cmp %t/rows.out/moved.npy %t/rows.ref/moved.npy
// RUN: cmp %t/rows.out/last.npy %t/rows.ref/last.npy
// RUN: shoalc %t/inner.mlir -o %t/inner
// RUN: %t/inner --random-inputs=1 --output-dir %t/inner.out --check-memory
// RUN: shoal-run %t/inner.mlir --random-inputs=1 --output-dir %t/inner.ref
// RUN: cmp %t/inner.out/result0.npy %t/inner.ref/result0.npy

//--- rows.mlir

// `scaled`: from a row of an input to one of a result. `turned`: from the end,
// places outside of it moved to its ends. `moved`: a row is read and another one of
// the same buffer is written in a trip. `last`: what is carried is a row, too.
func.func @main(%x: tensor<5x4x16xf32>, %s: tensor<4x16xf32>)
    -> (tensor<5x4x16xf32> {shoal.name = "scaled"}, tensor<5x4x16xf32> {shoal.name = "turned"},
        tensor<5x4x16xf32> {shoal.name = "moved"}, tensor<1x4x16xf32> {shoal.name = "last"}) {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %five = arith.constant dense<5> : tensor<i32>
  %six = arith.constant dense<6> : tensor<i32>
  %rows = arith.constant dense<0.0> : tensor<5x4x16xf32>
  %start = shoal.slice %x starts = [0, 0, 0] limits = [1, 4, 16] strides = [1, 1, 1] : tensor<5x4x16xf32> -> tensor<1x4x16xf32>
  %r:5 = shoal.while (%i = %zero, %a = %rows, %b = %rows, %c = %x, %d = %start) : tensor<i32>, tensor<5x4x16xf32>, tensor<5x4x16xf32>, tensor<5x4x16xf32>, tensor<1x4x16xf32> cond {
    %more = arith.cmpi slt, %i, %five : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %row = shoal.dynamic_slice %x[%i, %zero, %zero] sizes = [1, 4, 16] : (tensor<5x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x16xf32>
    %flat = shoal.reshape %row : tensor<1x4x16xf32> -> tensor<4x16xf32>
    %product = arith.mulf %flat, %s : tensor<4x16xf32>
    %turned = shoal.transpose %product permutation = [1, 0] : tensor<4x16xf32> -> tensor<16x4xf32>
    %scaled = shoal.reshape %product : tensor<4x16xf32> -> tensor<1x4x16xf32>
    %a2 = shoal.dynamic_update_slice %a, %scaled[%i, %zero, %zero] : (tensor<5x4x16xf32>, tensor<1x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x4x16xf32>
    %back = arith.subi %six, %i : tensor<i32>
    %other = shoal.reshape %turned : tensor<16x4xf32> -> tensor<1x4x16xf32>
    %b2 = shoal.dynamic_update_slice %b, %other[%back, %zero, %zero] : (tensor<5x4x16xf32>, tensor<1x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x4x16xf32>
    %before = shoal.dynamic_slice %c[%back, %zero, %zero] sizes = [1, 4, 16] : (tensor<5x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x16xf32>
    %sum = arith.addf %before, %scaled : tensor<1x4x16xf32>
    %c2 = shoal.dynamic_update_slice %c, %sum[%i, %zero, %zero] : (tensor<5x4x16xf32>, tensor<1x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x4x16xf32>
    %d2 = arith.maximumf %d, %sum : tensor<1x4x16xf32>
    shoal.yield %next, %a2, %b2, %c2, %d2 : tensor<i32>, tensor<5x4x16xf32>, tensor<5x4x16xf32>, tensor<5x4x16xf32>, tensor<1x4x16xf32>
  }
  return %r#1, %r#2, %r#3, %r#4 : tensor<5x4x16xf32>, tensor<5x4x16xf32>, tensor<5x4x16xf32>, tensor<1x4x16xf32>
}

//--- inner.mlir

// A row that a loop in the loop reads; two places of one row.
func.func @main(%x: tensor<3x2x4x16xf32>) -> tensor<3x2x4x16xf32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %two = arith.constant dense<2> : tensor<i32>
  %three = arith.constant dense<3> : tensor<i32>
  %rows = arith.constant dense<0.0> : tensor<3x2x4x16xf32>
  %r:2 = shoal.while (%i = %zero, %a = %rows) : tensor<i32>, tensor<3x2x4x16xf32> cond {
    %more = arith.cmpi slt, %i, %three : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %row = shoal.dynamic_slice %x[%i, %zero, %zero, %zero] sizes = [1, 2, 4, 16] : (tensor<3x2x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x4x16xf32>
    %q:2 = shoal.while (%j = %zero, %b = %a) : tensor<i32>, tensor<3x2x4x16xf32> cond {
      %more = arith.cmpi slt, %j, %two : tensor<i32>
      shoal.yield %more : tensor<i1>
    } do {
      %next_j = arith.addi %j, %one : tensor<i32>
      %part = shoal.dynamic_slice %row[%zero, %j, %zero, %zero] sizes = [1, 1, 4, 16] : (tensor<1x2x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x1x4x16xf32>
      %twice = arith.addf %part, %part : tensor<1x1x4x16xf32>
      %b2 = shoal.dynamic_update_slice %b, %twice[%i, %j, %zero, %zero] : (tensor<3x2x4x16xf32>, tensor<1x1x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x2x4x16xf32>
      shoal.yield %next_j, %b2 : tensor<i32>, tensor<3x2x4x16xf32>
    }
    shoal.yield %next, %q#1 : tensor<i32>, tensor<3x2x4x16xf32>
  }
  return %r#1 : tensor<3x2x4x16xf32>
}
