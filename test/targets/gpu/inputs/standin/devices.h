/* Devices and contexts. Part of standin_driver.c. */

struct CUctx_st { int retained; size_t next, used; };
static struct CUctx_st devices[MOST];
static __thread struct CUctx_st *current[64];
static __thread int depth;

static long setting(const char *name, long otherwise) {
  const char *text = getenv(name);
  return text ? atol(text) : otherwise;
}

static int device_count(void) { return (int)setting("STANDIN_DEVICES", 1); }
static struct CUctx_st *here(void) { return depth ? current[depth - 1] : 0; }

__attribute__((constructor)) static void start(void) {
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&lock, &kind);
  fake = mmap(0, ROOM * MOST, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  real = mmap(0, ROOM * MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (fake == MAP_FAILED || real == MAP_FAILED) abort();
}

API CUresult cuInit(unsigned flags) {
  BEGIN
  END(device_count() ? SUCCESS : NO_DEVICE)
}
API CUresult cuDriverGetVersion(int *version) { /* of the CUDA that brought the PTX that it reads */
  BEGIN
  long ptx = setting("STANDIN_PTX", 90);
  *version = (int)(1000 * (ptx / 10 + 4) + 10 * (ptx % 10));
  END(SUCCESS)
}
API CUresult cuDeviceGetCount(int *count) {
  BEGIN
  *count = device_count();
  END(SUCCESS)
}
API CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  BEGIN
  *device = 40 + ordinal; /* a handle is no ordinal */
  END(ordinal >= 0 && ordinal < device_count() ? SUCCESS : INVALID_DEVICE)
}
API CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
  BEGIN
  snprintf(name, size, "Stand-in %d", device - 40);
  END(SUCCESS)
}
API CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  BEGIN
  /* an A100's threads and shared memory of a block, clock, SMs, memory clock and bus */
  static const int others[6][2] = {{1, 1024}, {97, 166912}, {13, 1410000}, {16, 108}, {36, 1215000}, {37, 5120}};
  long chip = setting("STANDIN_CHIP", 80);
  *value = (int)(attribute == 75 ? chip / 10 : chip % 10);
  if (attribute == 75 || attribute == 76) END(SUCCESS)
  for (int i = 0; i < 6; i++)
    if ((int)attribute == others[i][0]) {
      const char *name = attribute == 1 ? "STANDIN_THREADS" : attribute == 16 ? "STANDIN_MULTIPROCESSORS" : 0;
      *value = name ? (int)setting(name, others[i][1]) : others[i][1];
      END(SUCCESS)
    }
  END(INVALID_VALUE)
}
API CUresult cuDeviceTotalMem_v2(size_t *size, CUdevice device) {
  BEGIN
  *size = (size_t)setting("STANDIN_MEMORY", 1l << 34);
  END(SUCCESS)
}
API CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  BEGIN
  *context = &devices[device - 40];
  (*context)->retained++;
  END(SUCCESS)
}
API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  BEGIN_ANYHOW
  END(devices[device - 40].retained-- > 0 ? SUCCESS : INVALID_CONTEXT)
}
API CUresult cuCtxPushCurrent_v2(CUcontext context) {
  BEGIN_ANYHOW
  if (!context || context->retained < 1 || depth == 64) END(INVALID_CONTEXT)
  current[depth++] = context;
  END(SUCCESS)
}
API CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  BEGIN_ANYHOW
  if (!depth) END(INVALID_CONTEXT)
  *context = current[--depth];
  END(SUCCESS)
}
API int standin_depth(void) { return depth; }
