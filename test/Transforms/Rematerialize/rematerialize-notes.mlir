// Values of one place, as layers of a function are, are one note.
//
// RUN: not shoal-opt %s --shoal-rematerialize=memory-limit=100 --mlir-print-op-on-diagnostic=false 2>&1 | FileCheck %s

// CHECK: error: a device is to hold 100 bytes
// CHECK: layer.py:3:1: note: 128 bytes are held then, of 2 values of 'tensor<16xf32>'
// CHECK-NOT: layer.py

func.func @f(%x: tensor<16xf32>) -> tensor<16xf32> {
  %a = math.exp %x : tensor<16xf32> loc("layer.py":3:1)
  %b = math.sin %x : tensor<16xf32> loc("layer.py":3:1)
  %c = arith.addf %a, %b : tensor<16xf32> loc("head.py":4:1)
  %g = arith.mulf %c, %b : tensor<16xf32> loc(fused<"gradient">["f.py":1:1])
  %h = arith.mulf %g, %a : tensor<16xf32>
  return %h : tensor<16xf32>
}
