/* Calls a model that Legato saved, from C (C11 or later) or C++. See docs/c.md.
 *
 *   legato_model model;
 *   if (legato_load(&model, "model.legato")) puts(legato_error());
 *   legato_outputs outputs;
 *   if (legato_call(&model, &input, 1, &outputs)) puts(legato_error());
 *   ... outputs.tensors[0].data ...
 *   legato_free_outputs(&outputs);
 *   legato_unload(&model);
 *
 * This file is all there is: the functions are static. It needs tvm-ffi's header and library, and dlopen:
 *
 *   cc $(python -m legato config --cflags) host.c $(python -m legato config --ldflags)
 *
 * Functions return 0, or -1 if they fail; legato_error() then has the reason, of the calling thread. A model may be called by several
 * threads at once.
 */
#ifndef LEGATO_H_
#define LEGATO_H_

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tvm/ffi/c_api.h>
#include <unistd.h>

#if defined(__GNUC__)
#define LEGATO_UNUSED __attribute__((unused))
#else
#define LEGATO_UNUSED
#endif

/* A loaded model: its code, its weights, which are mapped, and the function that computes it. */
typedef struct {
  void* library;
  void* weights;
  size_t weights_size;
  TVMFFIObjectHandle function;
} legato_model;

/* The results of a call. tensors[i].data is valid until legato_free_outputs, also when the model is unloaded. */
typedef struct {
  int32_t count;
  DLTensor* tensors;
  TVMFFIObjectHandle* objects;
} legato_outputs;

static __thread char legato_message_[1024];

/* The reason of the last failure in this thread. */
LEGATO_UNUSED static const char* legato_error(void) { return legato_message_; }

LEGATO_UNUSED static int legato_fail_(const char* format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(legato_message_, sizeof legato_message_, format, values);
  va_end(values);
  return -1;
}

/* Takes the error that tvm-ffi holds for this thread. */
LEGATO_UNUSED static int legato_raised_(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  if (!error) return legato_fail_("unknown error");
  TVMFFIErrorCell* cell = (TVMFFIErrorCell*)((char*)error + sizeof(TVMFFIObject));
  legato_fail_("%.*s: %.*s", (int)cell->kind.size, cell->kind.data, (int)cell->message.size, cell->message.data);
  TVMFFIObjectDecRef(error);
  return -1;
}

/* The metadata is JSON. These read it: each takes a position in valid JSON, and returns one. */

static const char* legato_blanks_(const char* at) { return at + strspn(at, " \t\r\n"); }

static const char* legato_after_(const char* at) { /* the position after a value */
  int depth = 0;
  do {
    if (*at == '"') {
      for (++at; *at && *at != '"'; ++at)
        if (*at == '\\' && at[1]) ++at;
      if (*at) ++at;
    } else if (*at == '{' || *at == '[') {
      ++depth, ++at;
    } else if (*at == '}' || *at == ']') {
      --depth, ++at;
    } else {
      ++at;
      if (!depth) at += strcspn(at, ",]} \t\r\n");
    }
  } while (depth && *at);
  return legato_blanks_(at);
}

static const char* legato_next_(const char* at) { /* the next element of an array, after a "[" or an element; NULL at its end */
  at = legato_blanks_(at + (*at == '[' || *at == ','));
  return *at == ']' || !*at ? NULL : at;
}

static const char* legato_member_(const char* at, const char* name) { /* the value of a member of an object; NULL if there is none */
  size_t size = strlen(name);
  for (at = legato_blanks_(at + 1); *at == '"'; at = legato_blanks_(at + (*at == ','))) {
    int found = !strncmp(at + 1, name, size) && at[1 + size] == '"';
    at = legato_blanks_(legato_after_(at) + 1);
    if (found) return at;
    at = legato_after_(at);
  }
  return NULL;
}

static size_t legato_bytes_(const char* parameter) { /* the size of a weight */
  const char *dtype = legato_member_(parameter, "dtype"), *size = legato_member_(parameter, "shape");
  size_t bits = 0, count = 1;
  for (++dtype; *dtype != '"' && !bits; ++dtype)
    if (*dtype >= '0' && *dtype <= '9') bits = strtoul(dtype, NULL, 10);
  for (size = legato_next_(size); size; size = legato_next_(legato_after_(size))) count *= strtoull(size, NULL, 10);
  return count * (bits > 8 ? bits / 8 : 1);
}

/* Maps the weights beside the model, and compares their size and the digest in their head with those that the code expects. */
LEGATO_UNUSED static int legato_map_(legato_model* model, const char* path, const char* weights) {
  static const char mark[] = "legato weights digest: ";
  const char* digest = (const char*)dlsym(model->library, "legato_weights_digest");
  if (!digest || strncmp(digest, mark, sizeof mark - 1)) return legato_fail_("%s names no weights", path);
  digest += sizeof mark - 1;
  size_t size = strlen(path) + 32, expected = 64;
  char* name = (char*)malloc(size);
  if (!name) return legato_fail_("out of memory");
  snprintf(name, size, "%s.%.16s.weights", path, digest);
  for (; weights; weights = legato_next_(legato_after_(weights))) expected = (expected + legato_bytes_(weights) + 63) / 64 * 64;
  struct stat found;
  int file = open(name, O_RDONLY);
  if (file < 0 || fstat(file, &found)) {
    legato_fail_("cannot read the weights %s", name);
  } else if ((size_t)found.st_size != expected) {
    legato_fail_("the weights %s have %zu bytes instead of %zu", name, (size_t)found.st_size, expected);
  } else {
    void* data = mmap(NULL, expected, PROT_READ, MAP_PRIVATE, file, 0);
    if (data != MAP_FAILED) model->weights = data, model->weights_size = expected;
    else legato_fail_("cannot map the weights %s", name);
  }
  if (file >= 0) close(file);
  if (model->weights) {
    char text[33];
    for (int i = 0; i < 16; ++i) snprintf(text + 2 * i, 3, "%02x", ((unsigned char*)model->weights)[24 + i]);
    if (memcmp(model->weights, "LEGATO-W", 8) || memcmp(text, digest, 32)) {
      legato_fail_("the weights %s are not those of %s", name, path);
      munmap(model->weights, expected);
      model->weights = NULL;
    }
  }
  free(name);
  return model->weights ? 0 : -1;
}

/* Unloads a model. Results of its calls stay valid. */
LEGATO_UNUSED static void legato_unload(legato_model* model) {
  if (model->function) TVMFFIObjectDecRef(model->function);
  if (model->weights) munmap(model->weights, model->weights_size);
  if (model->library) dlclose(model->library);
  memset(model, 0, sizeof *model);
}

/* The arguments of create: the owner, which is none, the addresses of the weights, and packed functions by their names. */
LEGATO_UNUSED static int legato_arguments_(const char* path, char* weight, const char* weights, const char* packed, TVMFFIAny* out) {
  char* at = weight + 64;
  for (++out; weights; weights = legato_next_(legato_after_(weights)), ++out) {
    out->type_index = kTVMFFIOpaquePtr;
    out->v_ptr = at;
    at += (legato_bytes_(weights) + 63) / 64 * 64;
  }
  for (; packed; packed = legato_next_(legato_after_(packed)), ++out) {
    TVMFFIByteArray name = {packed + 1, strcspn(packed + 1, "\"")};
    TVMFFIObjectHandle function = NULL;
    if (TVMFFIFunctionGetGlobal(&name, &function)) return legato_raised_();
    if (!function) return legato_fail_("%s calls the packed function %.*s, which is not registered in this process", path, (int)name.size, name.data);
    out->type_index = kTVMFFIFunction;
    out->v_obj = (TVMFFIObject*)function;
  }
  return 0;
}

/* Loads the model at `path`, and the weights beside it. */
LEGATO_UNUSED static int legato_load(legato_model* model, const char* path) {
  memset(model, 0, sizeof *model);
  char* real = realpath(path, NULL); /* dlopen looks for a name without "/" elsewhere */
  model->library = dlopen(real ? real : path, RTLD_NOW | RTLD_LOCAL);
  free(real);
  if (!model->library) return legato_fail_("%s", dlerror());
  const char* text = (const char*)dlsym(model->library, "legato_metadata");
  TVMFFISafeCallType create = NULL;
  *(void**)&create = dlsym(model->library, "__tvm_ffi_create");
  if (!text || !create) {
    legato_unload(model);
    return legato_fail_("%s was not made by Legato", path);
  }
  const char *weights = legato_member_(text, "weights"), *packed = legato_member_(text, "packed"), *each;
  const char* format = legato_member_(text, "format");
  if (!format || strtol(format, NULL, 10) != 2) {
    legato_unload(model);
    return legato_fail_("%s has the format %.4s; this header reads 2", path, format ? format : "none");
  }
  if (weights) weights = legato_next_(weights);
  if (packed) packed = legato_next_(packed);
  int32_t count = 1;
  for (each = weights; each; each = legato_next_(legato_after_(each))) ++count;
  for (each = packed; each; each = legato_next_(legato_after_(each))) ++count;
  TVMFFIAny* arguments = (TVMFFIAny*)calloc((size_t)count, sizeof(TVMFFIAny));
  TVMFFIAny result;
  memset(&result, 0, sizeof result);
  int failed = arguments ? 0 : legato_fail_("out of memory");
  if (!failed && weights) failed = legato_map_(model, path, weights);
  if (!failed) failed = legato_arguments_(path, (char*)model->weights, weights, packed, arguments);
  if (!failed && create(NULL, arguments, count, &result)) failed = legato_raised_();
  for (int32_t i = 0; arguments && i < count; ++i)
    if (arguments[i].type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(arguments[i].v_obj);
  free(arguments);
  if (failed) {
    legato_unload(model);
    return -1;
  }
  model->function = result.v_obj;
  return 0;
}

/* A tensor in row-major order in memory of the caller. `shape` has `ndim` sizes, and must stay where it is while the tensor is used. `code`
 * and `bits` are DLPack's: kDLFloat and 32 for float, kDLInt and 64 for int64_t. */
LEGATO_UNUSED static DLTensor legato_tensor(void* data, uint8_t code, uint8_t bits, int32_t ndim, int64_t* shape) {
  DLTensor tensor;
  memset(&tensor, 0, sizeof tensor);
  tensor.data = data;
  tensor.device.device_type = kDLCPU;
  tensor.ndim = ndim;
  tensor.dtype.code = code;
  tensor.dtype.bits = bits;
  tensor.dtype.lanes = 1;
  tensor.shape = shape;
  return tensor;
}

/* Frees the results of a call. */
LEGATO_UNUSED static void legato_free_outputs(legato_outputs* outputs) {
  for (int32_t i = 0; outputs->objects && i < outputs->count; ++i)
    if (outputs->objects[i]) TVMFFIObjectDecRef(outputs->objects[i]);
  free(outputs->objects);
  free(outputs->tensors);
  memset(outputs, 0, sizeof *outputs);
}

/* Calls a function of tvm-ffi's by its name. */
LEGATO_UNUSED static int legato_global_(const char* name, TVMFFIAny* arguments, int32_t count, TVMFFIAny* result) {
  TVMFFIByteArray text = {name, strlen(name)};
  TVMFFIObjectHandle function = NULL;
  if (TVMFFIFunctionGetGlobal(&text, &function)) return legato_raised_();
  if (!function) return legato_fail_("tvm-ffi has no function %s", name);
  int failed = TVMFFIFunctionCall(function, arguments, count, result);
  TVMFFIObjectDecRef(function);
  return failed ? legato_raised_() : 0;
}

/* Calls the model. Sizes and types of the inputs are checked. Inputs are read only, unless the model's documentation says otherwise. */
LEGATO_UNUSED static int legato_call(const legato_model* model, const DLTensor* inputs, int32_t count, legato_outputs* outputs) {
  memset(outputs, 0, sizeof *outputs);
  TVMFFIAny result, size, pair[2];
  memset(&result, 0, sizeof result);
  memset(pair, 0, sizeof pair);
  memset(&size, 0, sizeof size);
  TVMFFIAny* arguments = (TVMFFIAny*)calloc((size_t)(count ? count : 1), sizeof(TVMFFIAny));
  if (!arguments) return legato_fail_("out of memory");
  for (int32_t i = 0; i < count; ++i) {
    arguments[i].type_index = kTVMFFIDLTensorPtr;
    arguments[i].v_ptr = (void*)&inputs[i];
  }
  int failed = TVMFFIFunctionCall(model->function, arguments, count, &result);
  free(arguments);
  if (failed) return legato_raised_();
  int is_array = result.type_index == kTVMFFIArray;
  if (is_array && legato_global_("ffi.ArraySize", &result, 1, &size)) failed = -1;
  outputs->count = is_array ? (int32_t)size.v_int64 : 1;
  outputs->objects = (TVMFFIObjectHandle*)calloc((size_t)outputs->count + 1, sizeof(TVMFFIObjectHandle));
  outputs->tensors = (DLTensor*)calloc((size_t)outputs->count + 1, sizeof(DLTensor));
  if (!failed && (!outputs->objects || !outputs->tensors)) failed = legato_fail_("out of memory");
  for (int32_t i = 0; !failed && i < outputs->count; ++i) {
    TVMFFIAny one = result;
    if (is_array) {
      memset(&one, 0, sizeof one);
      pair[0] = result, pair[1].type_index = kTVMFFIInt, pair[1].v_int64 = i;
      failed = legato_global_("ffi.ArrayGetItem", pair, 2, &one);
    }
    if (!failed && one.type_index != kTVMFFITensor) failed = legato_fail_("output %d is not a tensor", (int)i);
    if (!failed) {
      outputs->objects[i] = one.v_obj;
      outputs->tensors[i] = *(DLTensor*)((char*)one.v_obj + sizeof(TVMFFIObject));
    }
  }
  if (is_array) TVMFFIObjectDecRef(result.v_obj);
  if (failed) legato_free_outputs(outputs);
  return failed ? -1 : 0;
}

#endif /* LEGATO_H_ */
