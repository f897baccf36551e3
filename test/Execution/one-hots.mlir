// Einsums with one-hot operands: at sparse cost what they are dense, on one
// device and on several, with places out of range, places that several tokens
// share, weights that cancel, and dimensions that do not divide evenly.
//
// RUN: shoal-run %s --random-inputs=7 --devices=3 --compare --one-hot-gain=0 | FileCheck %s
// RUN: shoal-run %s --random-inputs=7 --devices=3 --compare --dense-one-hots | FileCheck %s
// RUN: shoal-run %s --random-inputs=7 --devices=3 --compare --one-hot-gain=0 --windowed-einsum-bytes=1 | FileCheck %s
// CHECK-COUNT-7: : ok

shoal.mesh @mesh = <["x" = 3]>

func.func @main(%x: tensor<11x4xf32>, %y: tensor<7x5x4xf32>, %at: tensor<2x11xf32>, %slot: tensor<2x11xf32>, %w: tensor<2x11xf32>)
    -> (tensor<7x5x4xf32>, tensor<11x4xf32>, tensor<11x4xf32>, tensor<7xf32>, tensor<11x7x5xf32>, tensor<11xf32>, tensor<35x4xf32>) {
  // Experts -3 ... 8 of 7, slots -2 ... 5 of 5.
  %five = arith.constant dense<3.0> : tensor<2x11xf32>
  %two = arith.constant dense<2.0> : tensor<2x11xf32>
  %ef = arith.mulf %at, %five : tensor<2x11xf32>
  %cf = arith.mulf %slot, %two : tensor<2x11xf32>
  %e = arith.fptosi %ef : tensor<2x11xf32> to tensor<2x11xi32>
  %c = arith.fptosi %cf : tensor<2x11xf32> to tensor<2x11xi32>
  %xs = shoal.sharding_constraint %x <@mesh, [{"x"}, {}]> : tensor<11x4xf32>
  %ei = shoal.iota dim = 2 : tensor<2x11x7xi32>
  %eb = shoal.broadcast_in_dim %e dims = [0, 1] : tensor<2x11xi32> -> tensor<2x11x7xi32>
  %em = arith.cmpi eq, %eb, %ei : tensor<2x11x7xi32>
  %eh = arith.uitofp %em : tensor<2x11x7xi1> to tensor<2x11x7xf32>
  %ci = shoal.iota dim = 2 : tensor<2x11x5xi32>
  %cb = shoal.broadcast_in_dim %c dims = [0, 1] : tensor<2x11xi32> -> tensor<2x11x5xi32>
  %cm = arith.cmpi eq, %ci, %cb : tensor<2x11x5xi32>
  %ch = arith.uitofp %cm : tensor<2x11x5xi1> to tensor<2x11x5xf32>
  %wb = shoal.broadcast_in_dim %w dims = [0, 1] : tensor<2x11xf32> -> tensor<2x11x7xf32>
  %we = arith.mulf %wb, %eh : tensor<2x11x7xf32>

  // Weights of choices that meet add up before they are compared.
  %combine = shoal.einsum "kse,ksc->sec" %we, %ch : (tensor<2x11x7xf32>, tensor<2x11x5xf32>) -> tensor<11x7x5xf32>
  %zero = arith.constant dense<0.0> : tensor<11x7x5xf32>
  %mask = arith.cmpf ogt, %combine, %zero : tensor<11x7x5xf32>
  %dispatch = arith.uitofp %mask : tensor<11x7x5xi1> to tensor<11x7x5xf32>
  %rows = shoal.einsum "sec,sm->ecm" %dispatch, %xs : (tensor<11x7x5xf32>, tensor<11x4xf32>) -> tensor<7x5x4xf32>
  %back = shoal.einsum "sec,ecm->sm" %combine, %y : (tensor<11x7x5xf32>, tensor<7x5x4xf32>) -> tensor<11x4xf32>

  // Over a mask whose dimensions are merged, and one that is cut and padded.
  %flat = shoal.reshape %combine : tensor<11x7x5xf32> -> tensor<11x35xf32>
  %yf = shoal.reshape %y : tensor<7x5x4xf32> -> tensor<35x4xf32>
  %merged = shoal.einsum "sc,cm->sm" %flat, %yf : (tensor<11x35xf32>, tensor<35x4xf32>) -> tensor<11x4xf32>
  %cut = shoal.slice %flat starts = [0, 3] limits = [11, 30] strides = [1, 1] : tensor<11x35xf32> -> tensor<11x27xf32>
  %nought = arith.constant dense<0.0> : tensor<f32>
  %padded = shoal.pad %cut, %nought low = [0, 5] high = [0, 3] interior = [0, 0] : tensor<11x27xf32>, tensor<f32> -> tensor<11x35xf32>
  %moved = shoal.einsum "sc,sm->cm" %padded, %xs : (tensor<11x35xf32>, tensor<11x4xf32>) -> tensor<35x4xf32>

  // What else reads masks: sums, the program's results, products of rows.
  %kept = shoal.reduce sum %dispatch dims = [0, 2] : tensor<11x7x5xf32> -> tensor<7xf32>
  %dcombine = shoal.einsum "sm,ecm->sec" %x, %y : (tensor<11x4xf32>, tensor<7x5x4xf32>) -> tensor<11x7x5xf32>
  %own = arith.mulf %dcombine, %dispatch : tensor<11x7x5xf32>
  %dweights = shoal.reduce sum %own dims = [1, 2] : tensor<11x7x5xf32> -> tensor<11xf32>
  return %rows, %back, %merged, %kept, %combine, %dweights, %moved
      : tensor<7x5x4xf32>, tensor<11x4xf32>, tensor<11x4xf32>, tensor<7xf32>, tensor<11x7x5xf32>, tensor<11xf32>, tensor<35x4xf32>
}
