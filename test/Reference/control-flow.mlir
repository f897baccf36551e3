// RUN: rm -rf %t && split-file %s %t
// RUN: shoal-run %t/values.mlir --print | FileCheck %t/values.mlir
// RUN: not shoal-run %t/condition-differs.mlir 2>&1 | FileCheck %t/condition-differs.mlir
// RUN: not shoal-run %t/index-differs.mlir 2>&1 | FileCheck %t/index-differs.mlir

//--- values.mlir

func.func private @pick(%i: tensor<i32>) -> tensor<i32> {
  %a = arith.constant dense<10> : tensor<i32>
  %b = arith.constant dense<20> : tensor<i32>
  %c = arith.constant dense<30> : tensor<i32>
  %r = shoal.case %i : (tensor<i32>) -> tensor<i32> {
    shoal.yield %a : tensor<i32>
  }, {
    shoal.yield %b : tensor<i32>
  }, {
    shoal.yield %c : tensor<i32>
  }
  return %r : tensor<i32>
}

func.func @main() -> (tensor<i32> {shoal.name = "sum"}, tensor<i32> {shoal.name = "fibonacci"},
                      tensor<i32> {shoal.name = "first"}, tensor<i32> {shoal.name = "below"},
                      tensor<i32> {shoal.name = "past"}, tensor<i32> {shoal.name = "never"},
                      tensor<i32> {shoal.name = "nested"}) {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %ten = arith.constant dense<10> : tensor<i32>
  %minus = arith.constant dense<-1> : tensor<i32>
  %three = arith.constant dense<3> : tensor<i32>
  // CHECK: sum: tensor<i32> = 45
  %s:2 = shoal.while (%i = %zero, %a = %zero) : tensor<i32>, tensor<i32> cond {
    %more = arith.cmpi slt, %i, %ten : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %b = arith.addi %a, %i : tensor<i32>
    %j = arith.addi %i, %one : tensor<i32>
    shoal.yield %j, %b : tensor<i32>, tensor<i32>
  }
  // Carried values change places.
  // CHECK: fibonacci: tensor<i32> = 55
  %f:3 = shoal.while (%i = %zero, %a = %zero, %b = %one) : tensor<i32>, tensor<i32>, tensor<i32> cond {
    %more = arith.cmpi slt, %i, %ten : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %c = arith.addi %a, %b : tensor<i32>
    %j = arith.addi %i, %one : tensor<i32>
    shoal.yield %j, %b, %c : tensor<i32>, tensor<i32>, tensor<i32>
  }
  // CHECK: first: tensor<i32> = 10
  // CHECK: below: tensor<i32> = 30
  // CHECK: past: tensor<i32> = 30
  %first = call @pick(%zero) : (tensor<i32>) -> tensor<i32>
  %below = call @pick(%minus) : (tensor<i32>) -> tensor<i32>
  %past = call @pick(%three) : (tensor<i32>) -> tensor<i32>
  // CHECK: never: tensor<i32> = 3
  %false = arith.constant dense<false> : tensor<i1>
  %never = shoal.while (%a = %three) : tensor<i32> cond {
    shoal.yield %false : tensor<i1>
  } do {
    shoal.yield %zero : tensor<i32>
  }
  // A choice in a loop: 10 + 20 + 30 + 30.
  // CHECK: nested: tensor<i32> = 90
  %four = arith.constant dense<4> : tensor<i32>
  %n:2 = shoal.while (%i = %zero, %a = %zero) : tensor<i32>, tensor<i32> cond {
    %more = arith.cmpi slt, %i, %four : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %p = func.call @pick(%i) : (tensor<i32>) -> tensor<i32>
    %b = arith.addi %a, %p : tensor<i32>
    %j = arith.addi %i, %one : tensor<i32>
    shoal.yield %j, %b : tensor<i32>, tensor<i32>
  }
  return %s#1, %f#1, %first, %below, %past, %never, %n#1
    : tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>
}

//--- condition-differs.mlir

// Device i would go round i times.
shoal.mesh @mesh = <["x" = 4]>
func.func @main() -> tensor<i32> attributes {shoal.spmd} {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %n = spmd.axis_index @mesh {"x"} : tensor<i32>
  // CHECK: condition-differs.mlir:[[#@LINE+1]]:8: error: 'shoal.while' op condition: device 0 has 0 but device 1 has 1
  %r = shoal.while (%i = %zero) : tensor<i32> cond {
    %more = arith.cmpi slt, %i, %n : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %j = arith.addi %i, %one : tensor<i32>
    shoal.yield %j : tensor<i32>
  }
  return %r : tensor<i32>
}

//--- index-differs.mlir

shoal.mesh @mesh = <["x" = 2, "y" = 2]>
func.func @main() -> tensor<i32> attributes {shoal.spmd} {
  %n = spmd.axis_index @mesh {"x"} : tensor<i32>
  // CHECK: error: 'shoal.case' op index: device 0 has 0 but device 2 has 1
  %r = shoal.case %n : (tensor<i32>) -> tensor<i32> {
    shoal.yield %n : tensor<i32>
  }, {
    shoal.yield %n : tensor<i32>
  }
  return %r : tensor<i32>
}
