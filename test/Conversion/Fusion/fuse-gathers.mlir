// RUN: shoal-opt %s --shoal-to-linalg --convert-elementwise-to-linalg --canonicalize --shoal-fuse-elementwise \
// RUN:   --shoal-fuse-gathers --canonicalize --cse --split-input-file | FileCheck %s

// Rows of pairs, as a layer of experts combines them: the starts are clamped,
// the operand is read as it lies.
// CHECK-DAG: #[[PAIR:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func @combine
// CHECK-DAG: %[[ROWS:.*]] = tensor.expand_shape %arg1 {{.*}} into tensor<16x2xi32>
// CHECK-DAG: %[[FLAT:.*]] = tensor.collapse_shape %arg0 {{.*}} into tensor<5120xbf16>
// CHECK-NOT: {{[^a-z]}}rt.
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "reduction", "parallel"]
// CHECK-SAME: ins(%[[ROWS]], %arg2 :
// CHECK: ^bb0(%[[START:.*]]: i32, %[[WEIGHT:.*]]: f32, %{{.*}}: f32):
// CHECK: %[[COLUMN:.*]] = linalg.index 2
// CHECK: %[[LOW:.*]] = arith.maxsi %[[START]], %c0_i32
// CHECK: %[[CLAMPED:.*]] = arith.minsi %[[LOW]], %c39_i32
// CHECK: %[[ROW:.*]] = arith.index_cast %[[CLAMPED]]
// CHECK: %[[BEGIN:.*]] = arith.muli %[[ROW]], %c128
// CHECK: %[[PLACE:.*]] = arith.addi %[[BEGIN]], %[[COLUMN]]
// CHECK: tensor.extract %[[FLAT]][%[[PLACE]]]
// CHECK-NOT: linalg.generic
func.func @combine(%outputs: tensor<40x128xbf16>, %places: tensor<32xi32>, %weights: tensor<16x2xf32>) -> tensor<16x128xf32> {
  %rows = shoal.gather %outputs, %places offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0]
      index_vector_dim = 1 slice_sizes = [1, 128] : (tensor<40x128xbf16>, tensor<32xi32>) -> tensor<32x128xbf16>
  %pairs = shoal.reshape %rows : tensor<32x128xbf16> -> tensor<16x2x128xbf16>
  %wide = arith.extf %pairs : tensor<16x2x128xbf16> to tensor<16x2x128xf32>
  %each = shoal.broadcast_in_dim %weights dims = [0, 1] : tensor<16x2xf32> -> tensor<16x2x128xf32>
  %weighted = arith.mulf %wide, %each : tensor<16x2x128xf32>
  %sum = shoal.reduce sum %weighted dims = [1] : tensor<16x2x128xf32> -> tensor<16x128xf32>
  return %sum : tensor<16x128xf32>
}

// -----

// Two components in front of the other dimensions of the indices; indices too
// narrow for the last row need no upper bound.
// CHECK-DAG: #[[SECOND:.*]] = affine_map<(d0, d1) -> (1, d0)>
// CHECK-DAG: #[[FIRST:.*]] = affine_map<(d0, d1) -> (0, d0)>
// CHECK-LABEL: func.func @components
// CHECK-NOT: {{[^a-z]}}rt.
// CHECK: linalg.generic {indexing_maps = [#[[SECOND]], #[[FIRST]],
// CHECK-SAME: ins(%arg1, %arg1 :
// CHECK: ^bb0(%[[OUTER:.*]]: i8, %[[INNER:.*]]: i8, %{{.*}}: f32):
// CHECK: arith.maxsi %[[OUTER]], %c0_i8
// CHECK-NOT: arith.minsi
// CHECK: arith.maxsi %[[INNER]], %c0_i8
// CHECK: arith.minsi %{{.*}}, %c2_i8
func.func @components(%x: tensor<300x3x8xf32>, %places: tensor<2x10xi8>) -> tensor<10x8xf32> {
  %0 = shoal.gather %x, %places offset_dims = [1] collapsed_slice_dims = [0, 1] start_index_map = [1, 0]
      index_vector_dim = 0 slice_sizes = [1, 1, 8] : (tensor<300x3x8xf32>, tensor<2x10xi8>) -> tensor<10x8xf32>
  %1 = math.exp %0 : tensor<10x8xf32>
  return %1 : tensor<10x8xf32>
}

// -----

// A batch dimension in front, windows of two rows.
// CHECK-LABEL: func.func @batched_windows
// CHECK-NOT: {{[^a-z]}}rt.
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel", "parallel"]
// CHECK-SAME: ins(%arg1 : tensor<5xi32>)
// CHECK-COUNT-3: linalg.index
// CHECK: arith.minsi %{{.*}}, %c4_i32
// CHECK: tensor.extract %{{.*}} : tensor<240xf32>
func.func @batched_windows(%x: tensor<5x6x8xf32>, %starts: tensor<5xi32>) -> tensor<5x2x8xf32> {
  %0 = shoal.gather %x, %starts offset_dims = [1, 2] collapsed_slice_dims = [] operand_batching_dims = [0]
      start_indices_batching_dims = [0] start_index_map = [1] index_vector_dim = 1 slice_sizes = [1, 2, 8]
      : (tensor<5x6x8xf32>, tensor<5xi32>) -> tensor<5x2x8xf32>
  %1 = math.exp %0 : tensor<5x2x8xf32>
  return %1 : tensor<5x2x8xf32>
}

// -----

// Two readers each read rows of 256 bytes for themselves, but not of 4.
// CHECK-LABEL: func.func @two_readers
// CHECK-NOT: {{[^a-z]}}rt.
// CHECK-COUNT-2: tensor.extract
// CHECK-LABEL: func.func @two_readers_of_elements
// CHECK: rt.gather
// CHECK-NOT: tensor.extract
func.func @two_readers(%x: tensor<40x64xf32>, %rows: tensor<32xi32>) -> (tensor<32x64xf32>, tensor<64xf32>) {
  %0 = shoal.gather %x, %rows offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1
      slice_sizes = [1, 64] : (tensor<40x64xf32>, tensor<32xi32>) -> tensor<32x64xf32>
  %1 = math.exp %0 : tensor<32x64xf32>
  %2 = shoal.reduce max %0 dims = [0] : tensor<32x64xf32> -> tensor<64xf32>
  return %1, %2 : tensor<32x64xf32>, tensor<64xf32>
}
func.func @two_readers_of_elements(%x: tensor<40xf32>, %rows: tensor<32xi32>) -> (tensor<32xf32>, tensor<f32>) {
  %0 = shoal.gather %x, %rows offset_dims = [] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1
      slice_sizes = [1] : (tensor<40xf32>, tensor<32xi32>) -> tensor<32xf32>
  %1 = math.exp %0 : tensor<32xf32>
  %2 = shoal.reduce max %0 dims = [0] : tensor<32xf32> -> tensor<f32>
  return %1, %2 : tensor<32xf32>, tensor<f32>
}

// -----

// A reader that is no loop beside one that is; one that would read the rows
// across; one that reads each row several times.
// CHECK-LABEL: func.func @other_readers
// CHECK-COUNT-3: rt.gather
// CHECK-NOT: tensor.extract
func.func @other_readers(%x: tensor<40x64xf32>, %y: tensor<40x64xf32>, %z: tensor<40x64xf32>, %rows: tensor<32xi32>)
    -> (tensor<32x64xf32>, tensor<64xf32>, tensor<64x32xf32>, tensor<3x32x64xf32>) {
  %0 = shoal.gather %x, %rows offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1
      slice_sizes = [1, 64] : (tensor<40x64xf32>, tensor<32xi32>) -> tensor<32x64xf32>
  %1 = shoal.cumulative sum %0 dim = 0 : tensor<32x64xf32>
  %2 = shoal.reduce max %0 dims = [0] : tensor<32x64xf32> -> tensor<64xf32>
  %3 = shoal.gather %y, %rows offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1
      slice_sizes = [1, 64] : (tensor<40x64xf32>, tensor<32xi32>) -> tensor<32x64xf32>
  %4 = shoal.transpose %3 permutation = [1, 0] : tensor<32x64xf32> -> tensor<64x32xf32>
  %5 = shoal.gather %z, %rows offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1
      slice_sizes = [1, 64] : (tensor<40x64xf32>, tensor<32xi32>) -> tensor<32x64xf32>
  %6 = shoal.broadcast_in_dim %5 dims = [1, 2] : tensor<32x64xf32> -> tensor<3x32x64xf32>
  return %1, %2, %4, %6 : tensor<32x64xf32>, tensor<64xf32>, tensor<64x32xf32>, tensor<3x32x64xf32>
}

// -----

// The operand may be written over before the reader comes. Not so in the
// second function, whose reader comes first.
// CHECK-LABEL: func.func @written_between
// CHECK: rt.gather
// CHECK-NOT: tensor.extract
// CHECK-LABEL: func.func @written_behind
// CHECK-NOT: rt.gather
// CHECK: tensor.extract
func.func @written_between(%x: tensor<40x64xf32>, %rows: tensor<32xi32>, %new: tensor<32x64xf32>)
    -> (tensor<32x64xf32>, tensor<40x64xf32>) {
  %own = math.exp %x : tensor<40x64xf32>
  %0 = shoal.gather %own, %rows offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1
      slice_sizes = [1, 64] : (tensor<40x64xf32>, tensor<32xi32>) -> tensor<32x64xf32>
  %1 = shoal.scatter overwrite %own, %rows, %new update_window_dims = [1] inserted_window_dims = [0]
      scatter_dims_to_operand_dims = [0] index_vector_dim = 1
      : (tensor<40x64xf32>, tensor<32xi32>, tensor<32x64xf32>) -> tensor<40x64xf32>
  %2 = math.exp %0 : tensor<32x64xf32>
  return %2, %1 : tensor<32x64xf32>, tensor<40x64xf32>
}
func.func @written_behind(%x: tensor<40x64xf32>, %rows: tensor<32xi32>, %new: tensor<32x64xf32>)
    -> (tensor<32x64xf32>, tensor<40x64xf32>) {
  %own = math.exp %x : tensor<40x64xf32>
  %0 = shoal.gather %own, %rows offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1
      slice_sizes = [1, 64] : (tensor<40x64xf32>, tensor<32xi32>) -> tensor<32x64xf32>
  %2 = math.exp %0 : tensor<32x64xf32>
  %1 = shoal.scatter overwrite %own, %rows, %new update_window_dims = [1] inserted_window_dims = [0]
      scatter_dims_to_operand_dims = [0] index_vector_dim = 1
      : (tensor<40x64xf32>, tensor<32xi32>, tensor<32x64xf32>) -> tensor<40x64xf32>
  return %2, %1 : tensor<32x64xf32>, tensor<40x64xf32>
}

// -----

// Nothing but the gathered tensor says how long the rows are.
// CHECK-LABEL: func.func @unknown_length
// CHECK: rt.gather
func.func @unknown_length(%x: tensor<40x64xf32>, %rows: tensor<32xi32>) -> tensor<32xf32> {
  %0 = shoal.gather %x, %rows offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1
      slice_sizes = [1, 64] : (tensor<40x64xf32>, tensor<32xi32>) -> tensor<32x64xf32>
  %1 = shoal.reduce sum %0 dims = [1] : tensor<32x64xf32> -> tensor<32xf32>
  return %1 : tensor<32xf32>
}
