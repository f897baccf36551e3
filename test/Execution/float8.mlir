// Floats of 8 bits on four ranks against the interpreter: roundings, moves,
// comparisons, arithmetic and products of both kinds. Products are of whole
// numbers, whose sums are exact in any order.
//
// REQUIRES: mpi
// RUN: rm -rf %t && mkdir %t
// RUN: shoalc %s -o %t/f
// RUN: %mpirun -n 4 %t/f --random-inputs=1 --output-dir %t/actual
// RUN: shoal-run %s --devices=0 --random-inputs=1 --output-dir %t/expected
// RUN: diff -r %t/actual %t/expected

shoal.mesh @mesh = <["x" = 2, "y" = 2]>

func.func @f(%x: tensor<9x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
             %h: tensor<7x5xf16> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {}]>},
             %d: tensor<10xf64>,
             %p: tensor<10x16xi8> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
             %q: tensor<16x12xi8> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y"}]>},
             %rows: tensor<4x1xi32>)
    -> (tensor<9x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<6x9xf8E5M2> {shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>},
        tensor<7x5xf8E4M3FN> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
        tensor<10xf8E5M2>, tensor<4x6xf8E4M3FN>, tensor<9xf8E4M3FN>, tensor<9x6xi1>,
        tensor<10x12xf32>, tensor<12x10xbf16>, tensor<10x12xf16>, tensor<10xf8E4M3FN>, tensor<9x6xf8E4M3FN>,
        tensor<9xi32>, tensor<9x6xi8>, tensor<9x2xf8E4M3FN>, tensor<9x2xi32>, tensor<9x6xf8E5M2>, tensor<9x6xf8E4M3FN>) {
  // Beyond the range of both, and below it.
  %ten = arith.constant dense<10.0> : tensor<9x6xf32>
  %steep = arith.mulf %x, %ten : tensor<9x6xf32>
  %scale = math.exp2 %steep : tensor<9x6xf32>
  %wild = arith.mulf %scale, %x : tensor<9x6xf32>
  %a = arith.truncf %wild : tensor<9x6xf32> to tensor<9x6xf8E4M3FN>
  %b = arith.truncf %wild : tensor<9x6xf32> to tensor<9x6xf8E5M2>
  %b16 = arith.extf %b : tensor<9x6xf8E5M2> to tensor<9x6xbf16>
  %b32 = arith.extf %b16 : tensor<9x6xbf16> to tensor<9x6xf32>
  %isnan = arith.cmpf uno, %a, %a : tensor<9x6xf8E4M3FN>
  // Moves, to other devices too.
  %t = shoal.transpose %b permutation = [1, 0] : tensor<9x6xf8E5M2> -> tensor<6x9xf8E5M2>
  %h8 = arith.truncf %h : tensor<7x5xf16> to tensor<7x5xf8E4M3FN>
  %d8 = arith.truncf %d : tensor<10xf64> to tensor<10xf8E5M2>
  %zero = arith.constant dense<0.0> : tensor<9x6xf8E4M3FN>
  %numbers = arith.select %isnan, %zero, %a : tensor<9x6xi1>, tensor<9x6xf8E4M3FN>
  %a32 = arith.extf %numbers : tensor<9x6xf8E4M3FN> to tensor<9x6xf32>
  %least = arith.constant dense<-6.0e+04> : tensor<f32>
  %largest = arith.constant dense<6.0e+04> : tensor<f32>
  %finite = shoal.clamp %least, %b32, %largest : tensor<f32>, tensor<9x6xf32>, tensor<f32>
  %sum = arith.subf %a32, %finite : tensor<9x6xf32>
  %g = shoal.gather %numbers, %rows offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1 slice_sizes = [1, 6]
     : (tensor<9x6xf8E4M3FN>, tensor<4x1xi32>) -> tensor<4x6xf8E4M3FN>
  // Zeros of one sign: which of the two is larger depends on their order.
  %plain = arith.addf %numbers, %zero : tensor<9x6xf8E4M3FN>
  %most = shoal.reduce max %plain dims = [1] : tensor<9x6xf8E4M3FN> -> tensor<9xf8E4M3FN>
  %place = shoal.argmax %numbers dim = 1 : tensor<9x6xf8E4M3FN> -> tensor<9xi32>
  %best, %at = shoal.top_k %numbers {k = 2} : tensor<9x6xf8E4M3FN> -> tensor<9x2xf8E4M3FN>, tensor<9x2xi32>
  %sorted = shoal.sort %b dim = 0 : (tensor<9x6xf8E5M2>) -> tensor<9x6xf8E5M2>
  %running = shoal.cumulative max %plain dim = 1 {exclusive} : tensor<9x6xf8E4M3FN>
  %half = arith.constant dense<0.5> : tensor<9x6xf8E4M3FN>
  %small = arith.mulf %numbers, %half : tensor<9x6xf8E4M3FN>
  %again = arith.addf %small, %numbers : tensor<9x6xf8E4M3FN>
  %bits = shoal.bitcast_convert %numbers : tensor<9x6xf8E4M3FN> -> tensor<9x6xi8>
  // Products.
  %p8 = arith.sitofp %p : tensor<10x16xi8> to tensor<10x16xf8E4M3FN>
  %q8 = arith.sitofp %q : tensor<16x12xi8> to tensor<16x12xf8E4M3FN>
  %q5 = arith.sitofp %q : tensor<16x12xi8> to tensor<16x12xf8E5M2>
  %y = shoal.einsum "ij,jk->ik" %p8, %q8 : (tensor<10x16xf8E4M3FN>, tensor<16x12xf8E4M3FN>) -> tensor<10x12xf32>
  %z = shoal.einsum "jk,ij->ki" %q5, %p8 : (tensor<16x12xf8E5M2>, tensor<10x16xf8E4M3FN>) -> tensor<12x10xbf16>
  %w = shoal.einsum "ij,jk->ik" %p8, %q5 : (tensor<10x16xf8E4M3FN>, tensor<16x12xf8E5M2>) -> tensor<10x12xf16>
  %rowsums = shoal.einsum "ij->i" %p8 : (tensor<10x16xf8E4M3FN>) -> tensor<10xf32>
  %r8 = arith.truncf %rowsums : tensor<10xf32> to tensor<10xf8E4M3FN>
  return %sum, %t, %h8, %d8, %g, %most, %isnan, %y, %z, %w, %r8, %again, %place, %bits, %best, %at, %sorted, %running
      : tensor<9x6xf32>, tensor<6x9xf8E5M2>, tensor<7x5xf8E4M3FN>, tensor<10xf8E5M2>, tensor<4x6xf8E4M3FN>,
        tensor<9xf8E4M3FN>, tensor<9x6xi1>, tensor<10x12xf32>, tensor<12x10xbf16>, tensor<10x12xf16>,
        tensor<10xf8E4M3FN>, tensor<9x6xf8E4M3FN>, tensor<9xi32>, tensor<9x6xi8>,
        tensor<9x2xf8E4M3FN>, tensor<9x2xi32>, tensor<9x6xf8E5M2>, tensor<9x6xf8E4M3FN>
}
