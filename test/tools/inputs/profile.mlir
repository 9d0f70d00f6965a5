func.func @main(%x: tensor<?x8xf32, #relax.dims<["n", 8]>> {relax.name = "x"}) -> (tensor<?x8xf32, #relax.dims<["n", 8]>> {relax.name = "y"}) {
  %0 = "relax.exp"(%x) : (tensor<?x8xf32, #relax.dims<["n", 8]>>) -> tensor<?x8xf32, #relax.dims<["n", 8]>>
  return %0 : tensor<?x8xf32, #relax.dims<["n", 8]>>
}
