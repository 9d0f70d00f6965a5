// A host in C by legato.h: calls a model with a matrix of 3 rows, prints type, shape and sum of each result.
#include <legato.h>

int main(int count, char** arguments) {
  (void)count;
  legato_model model;
  if (legato_load(&model, arguments[1])) return fprintf(stderr, "%s\n", legato_error()), 1;
  float data[12];
  for (int i = 0; i < 12; ++i) data[i] = (float)(i - 3);
  int64_t shape[2] = {3, atoi(arguments[2])};
  DLTensor x = legato_tensor(data, kDLFloat, 32, 2, shape);
  legato_outputs outputs;
  int failed = legato_call(&model, &x, 1, &outputs);
  legato_unload(&model);                       // results stay valid
  if (failed) return fprintf(stderr, "%s\n", legato_error()), 2;
  for (int32_t i = 0; i < outputs.count; ++i) {
    const DLTensor* y = &outputs.tensors[i];
    double sum = 0;
    for (int64_t k = 0; k < y->shape[0] * y->shape[1]; ++k) sum += ((const float*)y->data)[k];
    printf("float%d %d %d %.9g\n", y->dtype.bits, (int)y->shape[0], (int)y->shape[1], sum);
  }
  legato_free_outputs(&outputs);
  return 0;
}
