/* Memory of devices. Part of standin_driver.c. */

#define TRACE 24 /* bytes of what is known of a byte (accesses.h) */
#define WORD 4   /* bytes that have one trace */
struct allocation { char *at; size_t size; struct CUctx_st *of; struct allocation *next; void *traces; };
static struct allocation *allocations;

static struct allocation *allocation_of(const void *at, size_t size) {
  for (struct allocation *a = allocations; a; a = a->next)
    if ((char *)at >= a->at && (char *)at + size <= a->at + a->size) return a;
  return 0;
}
static int on_device(const void *at) { return (char *)at >= fake && (char *)at < fake + ROOM * MOST; }
static void *mapped(const void *at) { return real + ((char *)at - fake); }
static void drain_all(void);

API CUresult cuMemAlloc_v2(CUdeviceptr *to, size_t size) {
  BEGIN
  struct CUctx_st *of = here();
  if (!of || !size) END(of ? INVALID_VALUE : INVALID_CONTEXT)
  long most = setting("STANDIN_MEMORY", 1l << 34);
  if (of->used + size > (size_t)most || of->next + size + 2 * GAP > ROOM) END(OUT_OF_MEMORY)
  struct allocation *made = malloc(sizeof *made);
  *made = (struct allocation){fake + ROOM * (of - devices) + of->next, size, of, allocations, 0};
  allocations = made;
  of->next += (size + GAP + 255) & -256ull;
  of->used += size;
  memset(mapped(made->at), 0xff, size);
  *to = (CUdeviceptr)(uintptr_t)made->at;
  END(SUCCESS)
}
API CUresult cuMemFree_v2(CUdeviceptr memory) {
  BEGIN
  drain_all();
  for (struct allocation **a = &allocations; *a; a = &(*a)->next)
    if ((*a)->at == (char *)(uintptr_t)memory) {
      struct allocation *gone = *a;
      *a = gone->next;
      gone->of->used -= gone->size;
      uintptr_t first = ((uintptr_t)mapped(gone->at) + 4095) & -4096ull, last = (uintptr_t)mapped(gone->at + gone->size) & -4096ull;
      if (first < last) madvise((void *)first, last - first, MADV_DONTNEED);
      if (gone->traces) munmap(gone->traces, (gone->size + WORD) * TRACE);
      free(gone);
      END(SUCCESS)
    }
  END(INVALID_VALUE)
}
API CUresult cuMemGetInfo_v2(size_t *left, size_t *total) {
  BEGIN
  *total = (size_t)setting("STANDIN_MEMORY", 1l << 34);
  *left = *total - here()->used;
  END(SUCCESS)
}
