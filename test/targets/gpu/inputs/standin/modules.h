/* Modules, and what is alive. Part of standin_driver.c. */

struct CUmod_st { void *library; };

API uint64_t standin_digest(const char *image) { /* FNV-1a, of a text or an ELF file, up to the table of sections */
  uint64_t digest = 14695981039346656037ull, size = strlen(image);
  if (!memcmp(image, "\177ELF", 4)) memcpy(&size, image + 40, 8);
  for (uint64_t i = 0; i < size; i++) digest = (digest ^ (unsigned char)image[i]) * 1099511628211ull;
  return digest;
}
API CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options, void **values) {
  BEGIN
  char path[4096];
  const char *folder = getenv("STANDIN_KERNELS");
  if (!here()) END(INVALID_CONTEXT)
  const char *version = memcmp(image, "\177ELF", 4) ? strstr(image, ".version ") : 0;
  if (version && atof(version + 9) > setting("STANDIN_PTX", 90) / 10.0) END(UNSUPPORTED_PTX)
  snprintf(path, sizeof path, "%s/%016llx.so", folder ? folder : ".", (unsigned long long)standin_digest(image));
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    for (unsigned i = 0; i < count; i++) if (options[i] == 5) snprintf(values[i], 1024, "the stand-in has no kernels: %s", dlerror());
    END(INVALID_PTX)
  }
  *module = malloc(sizeof **module);
  (*module)->library = library;
  live_modules++;
  END(SUCCESS)
}
API CUresult cuModuleUnload(CUmodule module) { /* what it holds stays: queues may know it */
  BEGIN
  drain_all();
  live_modules--;
  END(SUCCESS)
}
API CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  BEGIN
  char symbol[1024];
  struct CUfunc_st *made = calloc(1, sizeof *made);
  snprintf(symbol, sizeof symbol, "%s.kinds", name);
  made->name = strdup(name);
  made->kinds = dlsym(module->library, symbol);
  snprintf(symbol, sizeof symbol, "%s.run", name);
  *(void **)&made->run = dlsym(module->library, symbol);
  *function = made;
  if (!made->kinds || !made->run) END(NOT_FOUND)
  char *at = strchr(made->kinds, ' ');
  made->parameters = (int)(at - made->kinds) - 1;
  made->threads = strtol(at, &at, 10);
  while (*at && made->count < MOST_BUFFERS) {
    struct buffer *one = &made->buffers[made->count];
    snprintf(symbol, sizeof symbol, "%s.shared.%d", name, made->count++);
    one->at = dlsym(module->library, symbol), one->size = strtol(at, &at, 10);
    if (!one->at) END(NOT_FOUND)
    made->shared += (int)(one->size + 127) & -128;
  }
  END(*at || made->shared > MOST_SHARED ? NOT_FOUND : SUCCESS)
}
API CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  BEGIN
  int own = function->shared > OWN_SHARED ? 0 : function->shared; /* more is what the launch asks for */
  if (attribute != 8 || value + own > (setting("STANDIN_CHIP", 80) >= 90 ? 232448 : 166912)) END(INVALID_VALUE)
  function->dynamic = value;
  END(SUCCESS)
}
API CUresult cuGetErrorName(CUresult error, const char **text) {
  *text = error == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : error == LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED"
        : error == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : error == INVALID_PTX ? "CUDA_ERROR_INVALID_PTX" : "CUDA_ERROR_OF_THE_STAND_IN";
  return SUCCESS;
}
API CUresult cuGetErrorString(CUresult error, const char **text) { return *text = "as the stand-in says", SUCCESS; }

/* What is alive: allocations, contexts, streams, events, modules, graphs. */
API long standin_live(void) {
  long count = live_events + live_modules + live_graphs;
  for (struct allocation *a = allocations; a; a = a->next) count++;
  for (struct CUstream_st *s = streams; s; s = s->next) count++;
  for (int i = 0; i < MOST; i++) count += devices[i].retained;
  return count;
}
