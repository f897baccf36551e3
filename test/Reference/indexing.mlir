// What ops that read or write at places known only at run time compute.
//
// RUN: shoal-run %s --print | FileCheck %s

func.func @main() -> (
    tensor<2x3xi32> {shoal.name = "slice"}, tensor<2x3xi32> {shoal.name = "slice_clamped"},
    tensor<2x3xi32> {shoal.name = "slice_negative"}, tensor<3x4xi32> {shoal.name = "update"},
    tensor<3x4xi32> {shoal.name = "update_clamped"}, tensor<3x4xi32> {shoal.name = "rows"},
    tensor<3xi32> {shoal.name = "elements"}, tensor<2x3xi32> {shoal.name = "windows"},
    tensor<3xi32> {shoal.name = "batching"}, tensor<2x2x3xi32> {shoal.name = "stablehlo"},
    tensor<4xi32> {shoal.name = "sum"}, tensor<4xi32> {shoal.name = "overwrite"},
    tensor<4xi32> {shoal.name = "max"}, tensor<4xi32> {shoal.name = "windows_dropped"},
    tensor<4xi32> {shoal.name = "row_major"}, tensor<2x3xi32> {shoal.name = "scatter_batching"},
    tensor<2xbf16> {shoal.name = "bf16"}, tensor<3xi1> {shoal.name = "i1"}) {
  %x = arith.constant dense<[[0, 1, 2, 3], [10, 11, 12, 13], [20, 21, 22, 23]]> : tensor<3x4xi32>
  %one = arith.constant dense<1> : tensor<i32>
  %nine = arith.constant dense<9> : tensor<i32>
  %minus = arith.constant dense<-5> : tensor<i32>
  // CHECK{LITERAL}: slice: tensor<2x3xi32> = [[11, 12, 13], [21, 22, 23]]
  %slice = shoal.dynamic_slice %x [%one, %one] sizes = [2, 3] : (tensor<3x4xi32>, tensor<i32>, tensor<i32>) -> tensor<2x3xi32>
  // A start is clamped, so that the part fits.
  // CHECK{LITERAL}: slice_clamped: tensor<2x3xi32> = [[11, 12, 13], [21, 22, 23]]
  %slice_clamped = shoal.dynamic_slice %x [%nine, %nine] sizes = [2, 3] : (tensor<3x4xi32>, tensor<i32>, tensor<i32>) -> tensor<2x3xi32>
  // CHECK{LITERAL}: slice_negative: tensor<2x3xi32> = [[1, 2, 3], [11, 12, 13]]
  %slice_negative = shoal.dynamic_slice %x [%minus, %one] sizes = [2, 3] : (tensor<3x4xi32>, tensor<i32>, tensor<i32>) -> tensor<2x3xi32>

  %u = arith.constant dense<[[7, 8], [9, 6]]> : tensor<2x2xi32>
  // CHECK{LITERAL}: update: tensor<3x4xi32> = [[0, 7, 8, 3], [10, 9, 6, 13], [20, 21, 22, 23]]
  %update = shoal.dynamic_update_slice %x, %u [%minus, %one] : (tensor<3x4xi32>, tensor<2x2xi32>, tensor<i32>, tensor<i32>) -> tensor<3x4xi32>
  // CHECK{LITERAL}: update_clamped: tensor<3x4xi32> = [[0, 1, 2, 3], [10, 11, 7, 8], [20, 21, 9, 6]]
  %update_clamped = shoal.dynamic_update_slice %x, %u [%one, %nine] : (tensor<3x4xi32>, tensor<2x2xi32>, tensor<i32>, tensor<i32>) -> tensor<3x4xi32>

  // Rows of a table; a place past an end is clamped.
  %ids = arith.constant dense<[2, -1, 7]> : tensor<3xi32>
  // CHECK{LITERAL}: rows: tensor<3x4xi32> = [[20, 21, 22, 23], [0, 1, 2, 3], [20, 21, 22, 23]]
  %rows = shoal.gather %x, %ids offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0]
      index_vector_dim = 1 slice_sizes = [1, 4] : (tensor<3x4xi32>, tensor<3xi32>) -> tensor<3x4xi32>
  // Pairs (column, row): the map says which is which.
  %pairs = arith.constant dense<[[3, 1], [0, 2], [2, 0]]> : tensor<3x2xi64>
  // CHECK: elements: tensor<3xi32> = [13, 20, 2]
  %elements = shoal.gather %x, %pairs offset_dims = [] collapsed_slice_dims = [0, 1] start_index_map = [1, 0]
      index_vector_dim = 1 slice_sizes = [1, 1] : (tensor<3x4xi32>, tensor<3x2xi64>) -> tensor<3xi32>
  // Windows of 1 x 3; the second begins at column 1 at most.
  %places = arith.constant dense<[[1, 2], [0, 3]]> : tensor<2x2xi8>
  // CHECK{LITERAL}: windows: tensor<2x3xi32> = [[1, 2, 3], [21, 22, 23]]
  %windows = shoal.gather %x, %places offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [1, 0]
      index_vector_dim = 0 slice_sizes = [1, 3] : (tensor<3x4xi32>, tensor<2x2xi8>) -> tensor<2x3xi32>
  // An element of each row.
  // CHECK: batching: tensor<3xi32> = [2, 10, 23]
  %batching = shoal.gather %x, %ids offset_dims = [] collapsed_slice_dims = [1] operand_batching_dims = [0]
      start_indices_batching_dims = [0] start_index_map = [1] index_vector_dim = 1 slice_sizes = [1, 1]
      : (tensor<3x4xi32>, tensor<3xi32>) -> tensor<3xi32>
  // Offset dimensions in front of and behind a batch dimension.
  %starts = arith.constant dense<[0, 1]> : tensor<2xi32>
  // CHECK{LITERAL}: stablehlo: tensor<2x2x3xi32> = [[[0, 1, 2], [1, 2, 3]], [[10, 11, 12], [11, 12, 13]]]
  %stablehlo = shoal.gather %x, %starts offset_dims = [0, 2] collapsed_slice_dims = [] start_index_map = [1]
      index_vector_dim = 1 slice_sizes = [2, 3] : (tensor<3x4xi32>, tensor<2xi32>) -> tensor<2x2x3xi32>

  %line = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  // Twice to 2; what lies outside is dropped.
  %to = arith.constant dense<[2, -1, 2, 4, 0]> : tensor<5xi32>
  %what = arith.constant dense<[10, 20, -30, 40, -50]> : tensor<5xi32>
  // CHECK: sum: tensor<4xi32> = [-49, 2, -17, 4]
  %sum = shoal.scatter sum %line, %to, %what update_window_dims = [] inserted_window_dims = [0]
      scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<4xi32>, tensor<5xi32>, tensor<5xi32>) -> tensor<4xi32>
  // The last one stays.
  // CHECK: overwrite: tensor<4xi32> = [-50, 2, -30, 4]
  %overwrite = shoal.scatter overwrite %line, %to, %what update_window_dims = [] inserted_window_dims = [0]
      scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<4xi32>, tensor<5xi32>, tensor<5xi32>) -> tensor<4xi32>
  // CHECK: max: tensor<4xi32> = [1, 2, 10, 4]
  %max = shoal.scatter max %line, %to, %what update_window_dims = [] inserted_window_dims = [0]
      scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<4xi32>, tensor<5xi32>, tensor<5xi32>) -> tensor<4xi32>
  // Of a window that hangs over an end, the part inside counts.
  %ends = arith.constant dense<[[-1], [3]]> : tensor<2x1xi32>
  // CHECK: windows_dropped: tensor<4xi32> = [9, 2, 3, 13]
  %windows_dropped = shoal.scatter sum %line, %ends, %u update_window_dims = [1] inserted_window_dims = []
      scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<4xi32>, tensor<2x1xi32>, tensor<2x2xi32>) -> tensor<4xi32>
  // The window dimension is the major one: of the updates [[7, 8], [9, 6]], 6
  // (row 1 of the window that begins at 0) comes after 8 (row 0 of the one at 1).
  %steps = arith.constant dense<[1, 0]> : tensor<2xi32>
  // CHECK: row_major: tensor<4xi32> = [8, 6, 9, 4]
  %row_major = shoal.scatter overwrite %line, %steps, %u update_window_dims = [0] inserted_window_dims = []
      scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<4xi32>, tensor<2xi32>, tensor<2x2xi32>) -> tensor<4xi32>
  %grid = arith.constant dense<[[1, 1, 1], [2, 2, 2]]> : tensor<2x3xi32>
  // CHECK{LITERAL}: scatter_batching: tensor<2x3xi32> = [[1, 8, 1], [11, 2, 2]]
  %two = arith.constant dense<[7, 9]> : tensor<2xi32>
  %scatter_batching = shoal.scatter sum %grid, %steps, %two update_window_dims = [] inserted_window_dims = [1]
      input_batching_dims = [0] scatter_indices_batching_dims = [0] scatter_dims_to_operand_dims = [1]
      index_vector_dim = 1 : (tensor<2x3xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x3xi32>
  // Rounded once: 256 + 1 + 1 is 258, though 256 + 1 is 256.
  %wide = arith.constant dense<[256.0, 0.0]> : tensor<2xbf16>
  %ones = arith.constant dense<1.0> : tensor<2xbf16>
  %same = arith.constant dense<0> : tensor<2xi32>
  // CHECK: bf16: tensor<2xbf16> = [258, 0]
  %bf16 = shoal.scatter sum %wide, %same, %ones update_window_dims = [] inserted_window_dims = [0]
      scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<2xbf16>, tensor<2xi32>, tensor<2xbf16>) -> tensor<2xbf16>
  %bits = arith.constant dense<[false, true, false]> : tensor<3xi1>
  %more = arith.constant dense<[false, true]> : tensor<2xi1>
  // CHECK: i1: tensor<3xi1> = [1, 1, 0]
  %i1 = shoal.scatter or %bits, %steps, %more update_window_dims = [] inserted_window_dims = [0]
      scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : (tensor<3xi1>, tensor<2xi32>, tensor<2xi1>) -> tensor<3xi1>
  return %slice, %slice_clamped, %slice_negative, %update, %update_clamped, %rows, %elements, %windows, %batching,
      %stablehlo, %sum, %overwrite, %max, %windows_dropped, %row_major, %scatter_batching, %bf16, %i1
      : tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x3xi32>, tensor<3x4xi32>, tensor<3x4xi32>, tensor<3x4xi32>, tensor<3xi32>,
        tensor<2x3xi32>, tensor<3xi32>, tensor<2x2x3xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>,
        tensor<4xi32>, tensor<2x3xi32>, tensor<2xbf16>, tensor<3xi1>
}
