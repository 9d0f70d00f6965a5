// A host in C: loads a saved model without weights, calls it with a bare DLTensor*, prints the result and an error message.
#include <dlfcn.h>
#include <stdio.h>
#include <tvm/ffi/c_api.h>

int main(int count, char** arguments) {
  (void)count;
  void* library = dlopen(arguments[1], RTLD_NOW);
  TVMFFISafeCallType create = library ? (TVMFFISafeCallType)dlsym(library, "__tvm_ffi_create") : 0;
  if (!create) return fprintf(stderr, "%s\n", dlerror()), 1;

  TVMFFIAny owner = {.type_index = kTVMFFINone}, model = {.type_index = kTVMFFINone}, result = {.type_index = kTVMFFINone};
  if (create(0, &owner, 1, &model)) return 2;

  float data[4] = {1, 2, 3, 4};
  int64_t shape[1] = {4}, strides[1] = {1};
  DLTensor x = {.data = data, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = shape, .strides = strides};
  TVMFFIAny argument = {.type_index = kTVMFFIDLTensorPtr, .v_ptr = &x};
  if (TVMFFIFunctionCall(model.v_obj, &argument, 1, &result)) return 3;
  DLTensor* y = (DLTensor*)((char*)result.v_obj + sizeof(TVMFFIObject));
  for (int i = 0; i < 4; ++i) printf("%g ", ((float*)y->data)[i]);

  shape[0] = 3;
  TVMFFIAny nothing = {.type_index = kTVMFFINone};
  if (!TVMFFIFunctionCall(model.v_obj, &argument, 1, &nothing)) return 4;
  TVMFFIObjectHandle error;
  TVMFFIErrorMoveFromRaised(&error);
  TVMFFIErrorCell* cell = (TVMFFIErrorCell*)((char*)error + sizeof(TVMFFIObject));
  printf("| %.*s: %.*s\n", (int)cell->kind.size, cell->kind.data, (int)cell->message.size, cell->message.data);

  TVMFFIObjectDecRef(error);
  TVMFFIObjectDecRef(model.v_obj);
  dlclose(library);                  // the result does not need the model any more
  TVMFFIObjectDecRef(result.v_obj);
  return 0;
}
