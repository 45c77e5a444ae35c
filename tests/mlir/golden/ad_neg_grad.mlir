func.func @f(%x: tensor<2x2xf32> {bufferization.writable = false}) -> tensor<2x2xf32> attributes {llvm.emit_c_interface} {
  %y = arith.negf %x : tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}
func.func @ad(%x: tensor<2x2xf32> {bufferization.writable = false}) -> (tensor<2x2xf32>, tensor<2x2xf32>) attributes {llvm.emit_c_interface} {
  %cst = arith.constant 1.0 : f32
  %y = arith.negf %x : tensor<2x2xf32>
  %0 = tensor.empty() : tensor<2x2xf32>
  %d_y = linalg.fill ins(%cst : f32) outs(%0 : tensor<2x2xf32>) -> tensor<2x2xf32>
  %d_x = arith.negf %d_y : tensor<2x2xf32>
  return %y, %d_x : tensor<2x2xf32>, tensor<2x2xf32>
}
func.func @main() -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %cst = arith.constant 1.0 : f32
  %0 = tensor.empty() : tensor<2x2xf32>
  %x = linalg.fill ins(%cst : f32) outs(%0 : tensor<2x2xf32>) -> tensor<2x2xf32>
  %1, %2 = func.call @ad(%x) : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>)
  return %1, %2 : tensor<2x2xf32>, tensor<2x2xf32>
}
