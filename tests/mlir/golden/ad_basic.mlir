func.func @f(%w: tensor<3xf32> {bufferization.writable = false}, %x: tensor<3xf32> {bufferization.writable = false}) -> f32 attributes {llvm.emit_c_interface} {
  %cst = arith.constant 0.0 : f32
  %0 = arith.mulf %w, %x : tensor<3xf32>
  %1 = arith.mulf %x, %x : tensor<3xf32>
  %2 = arith.addf %0, %1 : tensor<3xf32>
  %3 = tensor.empty() : tensor<f32>
  %4 = linalg.fill ins(%cst : f32) outs(%3 : tensor<f32>) -> tensor<f32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%2 : tensor<3xf32>) outs(%4 : tensor<f32>) {
  ^bb0(%6: f32, %7: f32):
    %8 = arith.addf %7, %6 : f32
    linalg.yield %8 : f32
  } -> tensor<f32>
  %9 = tensor.extract %5[] : tensor<f32>
  return %9 : f32
}
func.func @main() -> (tensor<f32>, tensor<3xf32>, tensor<3xf32>) {
  %cst = arith.constant dense<[0.5, -1.0, 2.0]> : tensor<3xf32>
  %cst_1 = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %cst_2 = arith.constant 0.0 : f32
  %0 = arith.mulf %cst, %cst_1 : tensor<3xf32>
  %1 = arith.mulf %cst_1, %cst_1 : tensor<3xf32>
  %2 = arith.addf %0, %1 : tensor<3xf32>
  %3 = tensor.empty() : tensor<f32>
  %4 = linalg.fill ins(%cst_2 : f32) outs(%3 : tensor<f32>) -> tensor<f32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%2 : tensor<3xf32>) outs(%4 : tensor<f32>) {
  ^bb0(%6: f32, %7: f32):
    %8 = arith.addf %7, %6 : f32
    linalg.yield %8 : f32
  } -> tensor<f32>
  %9 = tensor.extract %5[] : tensor<f32>
  %d_x = arith.addf %cst_1, %cst_1 : tensor<3xf32>
  %d_x_1 = arith.addf %d_x, %cst : tensor<3xf32>
  %10 = tensor.from_elements %9 : tensor<f32>
  return %10, %cst_1, %d_x_1 : tensor<f32>, tensor<3xf32>, tensor<3xf32>
}
