/* Launches of kernels. Part of standin_driver.c. */

/* A launch as work: its parameters are copied. */
static int kernel_work(struct work *work, CUfunction function, const unsigned *sizes, void **parameters, void **extra) {
  unsigned most = (unsigned)setting("STANDIN_GRID", 65535); /* blocks on the axes y and z */
  if (!sizes[0] || !sizes[1] || !sizes[2] || sizes[1] > most || sizes[2] > most || !sizes[3] || !sizes[4] || !sizes[5]) return INVALID_VALUE;
  if (sizes[0] > 0x7fffffff || sizes[3] > 1024 || sizes[4] > 1024 || sizes[5] > 64 || extra || !function) return INVALID_VALUE;
  long threads = (long)sizes[3] * sizes[4] * sizes[5];
  if (threads > setting("STANDIN_THREADS", 1024) || threads > function->threads) return INVALID_VALUE;
  int own = function->shared > OWN_SHARED ? 0 : function->shared;
  if (sizes[6] + own > OWN_SHARED && (int)sizes[6] > function->dynamic) return INVALID_VALUE;
  if (!own && (int)sizes[6] < function->shared) return INVALID_VALUE;
  memset(work, 0, sizeof *work);
  work->kind = LAUNCH, work->function = function;
  memcpy(work->sizes, sizes, sizeof work->sizes);
  int count = function->parameters;
  work->values = calloc(count + 1, PARAMETER);
  work->given = calloc(count + 1, sizeof *work->given);
  for (int i = 0; i < count; i++) {
    char kind = function->kinds[1 + i];
    work->given[i] = work->values + PARAMETER * i;
    memcpy(work->given[i], parameters[i], kind == 'p' ? 8 : kind == 't' ? PARAMETER : kind - '0');
  }
  return SUCCESS;
}
API CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                            CUstream stream, void **parameters, void **extra) {
  BEGIN
  struct work work;
  int code = kernel_work(&work, function, (unsigned[]){gx, gy, gz, bx, by, bz, shared}, parameters, extra);
  END(code ? code : enqueue(stream, work))
}
