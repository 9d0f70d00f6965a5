// Packed functions in C. compact(x): the elements that are above 0, as a new tensor. same(x): x itself. fail(x): an error, every time.
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

static const DLTensor* tensor_of(const TVMFFIAny* argument) {
  return (const DLTensor*)((const char*)argument->v_obj + sizeof(TVMFFIObject));
}

static void delete_tensor(DLManagedTensor* self) {
  free(self->dl_tensor.data);
  free(self->dl_tensor.shape);
  free(self);
}

int __tvm_ffi_compact(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  (void)self;
  if (count != 1) return TVMFFIErrorSetRaisedFromCStr("TypeError", "compact takes one tensor"), -1;
  const DLTensor* x = tensor_of(&args[0]);
  int64_t n = x->shape[0], kept = 0;
  float* data = malloc(sizeof(float) * (n + 1));
  for (int64_t i = 0; i < n; ++i)
    if (((const float*)x->data)[i] > 0) data[kept++] = ((const float*)x->data)[i];
  DLManagedTensor* made = calloc(1, sizeof(DLManagedTensor));
  made->dl_tensor = *x;
  made->dl_tensor.data = data;
  made->dl_tensor.shape = malloc(2 * sizeof(int64_t));
  made->dl_tensor.shape[0] = kept;
  made->dl_tensor.strides = made->dl_tensor.shape + 1;
  made->dl_tensor.strides[0] = 1;
  made->deleter = delete_tensor;
  result->type_index = kTVMFFITensor;
  return TVMFFITensorFromDLPack(made, 0, 0, (TVMFFIObjectHandle*)&result->v_obj);
}

int __tvm_ffi_same(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  (void)self, (void)count;
  return TVMFFIAnyViewToOwnedAny(&args[0], result);
}

int __tvm_ffi_fail(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  (void)self, (void)args, (void)count, (void)result;
  TVMFFIErrorSetRaisedFromCStr("ValueError", "as it was told");
  return -1;
}
