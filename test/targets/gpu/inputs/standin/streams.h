/* Streams and events. Part of standin_driver.c. */

enum { LAUNCH, COPY, RECORD, WAIT };
struct work { int kind; struct CUctx_st *of; struct CUfunc_st *function; unsigned sizes[7]; char *values; char **given; void *to; const void *from;
              size_t size; CUevent event; long turn; struct work *next; };
struct CUstream_st { struct work *first, **last; int blocks, captured; struct CUctx_st *of; struct CUstream_st *next; };
struct CUevent_st { long recorded, done; struct CUstream_st *in; struct CUctx_st *of; unsigned flags; struct timespec when; };
static struct CUstream_st *streams, defaults[MOST];
static long live_events, live_modules;

static struct CUstream_st *stream_of(CUstream stream) {
  if (stream) {
    for (struct CUstream_st *s = streams; s; s = s->next)
      if (s == stream) return s->of == here() ? s : 0;
    return 0;
  }
  struct CUstream_st *made = here() ? &defaults[here() - devices] : 0;
  if (made && !made->last) made->last = &made->first, made->of = here(), made->blocks = 1;
  return made;
}
static void drain(struct CUstream_st *stream);
static void drain_until(CUevent event, long turn) {
  while (event->done < turn && event->in && event->in->first) drain(event->in);
}
static void perform(struct work *work) {
  struct CUctx_st *before = here();
  if (sticky) return;
  current[depth++] = work->of;
  if (work->kind == LAUNCH) sticky = launch(work->function, work->sizes, work->given);
  if (work->kind == COPY) {
    void *to = on_device(work->to) ? mapped(work->to) : work->to;
    const void *from = on_device(work->from) ? mapped(work->from) : work->from;
    if ((on_device(work->to) && !allocation_of(work->to, work->size)) || (on_device(work->from) && !allocation_of(work->from, work->size)))
      sticky = ILLEGAL_ADDRESS;
    else
      memcpy(to, from, work->size);
  }
  if (work->kind == RECORD) work->event->done = work->turn, clock_gettime(CLOCK_MONOTONIC, &work->event->when);
  if (work->kind == WAIT) drain_until(work->event, work->turn);
  depth--;
  (void)before;
}
static void drain(struct CUstream_st *stream) {
  while (stream->first) {
    struct work *work = stream->first;
    stream->first = work->next;
    if (!stream->first) stream->last = &stream->first;
    perform(work);
    free(work->values);
    free(work->given);
    free(work);
  }
}
static void drain_all(void) {
  for (int i = 0; i < MOST; i++) if (defaults[i].last) drain(&defaults[i]);
  for (struct CUstream_st *s = streams; s; s = s->next) drain(s);
}
static int enqueue(CUstream named, struct work what) {
  struct CUstream_st *stream = stream_of(named);
  if (!stream) return here() ? INVALID_HANDLE : INVALID_CONTEXT;
  if (stream->captured) return CAPTURE_UNSUPPORTED; /* what a graph would keep is not modelled */
  struct CUstream_st *whole = stream_of(0);
  if (stream != whole && stream->blocks) drain(whole); /* the default stream and those that it blocks take turns */
  if (stream == whole)
    for (struct CUstream_st *s = streams; s; s = s->next) if (s->blocks && s->of == here()) drain(s);
  struct work *made = malloc(sizeof *made);
  *made = what;
  made->of = here(), made->next = 0;
  *stream->last = made;
  stream->last = &made->next;
  if (getenv("STANDIN_EAGER")) drain(stream);
  return SUCCESS;
}
API CUresult cuStreamCreate(CUstream *to, unsigned flags) {
  BEGIN
  if (!here()) END(INVALID_CONTEXT)
  struct CUstream_st *made = calloc(1, sizeof *made);
  made->last = &made->first, made->blocks = !(flags & 1), made->of = here(), made->next = streams;
  *to = streams = made;
  END(SUCCESS)
}
API CUresult cuStreamDestroy_v2(CUstream stream) {
  BEGIN
  for (struct CUstream_st **s = &streams; *s; s = &(*s)->next)
    if (*s == stream) {
      drain(stream);
      *s = stream->next; /* its memory stays: events may know it */
      END(SUCCESS)
    }
  END(INVALID_HANDLE)
}
API CUresult cuStreamSynchronize(CUstream stream) {
  BEGIN
  struct CUstream_st *of = stream_of(stream);
  if (!of) END(INVALID_HANDLE)
  drain(of);
  END(sticky)
}
API CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  BEGIN
  END(enqueue(stream, (struct work){WAIT, .event = event, .turn = event->recorded}))
}
API void standin_capture(CUstream stream, int begins) { stream->captured = begins; }
API CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
  BEGIN
  struct CUstream_st *of = stream_of(stream);
  if (of) *status = of->captured;
  END(of ? SUCCESS : INVALID_HANDLE)
}
API CUresult cuEventCreate(CUevent *event, unsigned flags) {
  BEGIN
  *event = calloc(1, sizeof **event);
  (*event)->flags = flags;
  live_events++;
  END(SUCCESS)
}
API CUresult cuEventRecord(CUevent event, CUstream stream) {
  BEGIN
  event->in = stream_of(stream);
  END(enqueue(stream, (struct work){RECORD, .event = event, .turn = ++event->recorded}))
}
API CUresult cuEventElapsedTime(float *to, CUevent first, CUevent second) {
  BEGIN
  if (!first || !second || (first->flags | second->flags) & 2 || !first->recorded || !second->recorded) END(INVALID_HANDLE)
  if (first->done < first->recorded || second->done < second->recorded) END(NOT_READY)
  *to = (float)(second->when.tv_sec - first->when.tv_sec) * 1e3f + (float)(second->when.tv_nsec - first->when.tv_nsec) * 1e-6f;
  END(SUCCESS)
}
API CUresult cuEventDestroy_v2(CUevent event) { /* its memory stays: queues may know it */
  BEGIN_ANYHOW
  live_events--;
  END(SUCCESS)
}
static int copy(void *to, const void *from, size_t size, CUstream stream, int to_device, int from_device) {
  if (on_device(to) != to_device || on_device(from) != from_device) return INVALID_VALUE;
  if ((to_device && !allocation_of(to, size)) || (from_device && !allocation_of(from, size))) return INVALID_VALUE;
  return enqueue(stream, (struct work){COPY, .to = to, .from = from, .size = size});
}
API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, CUstream stream) {
  BEGIN
  END(copy((void *)(uintptr_t)to, from, size, stream, 1, 0))
}
API CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream) {
  BEGIN
  END(copy(to, (void *)(uintptr_t)from, size, stream, 0, 1))
}
API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
  BEGIN
  END(copy((void *)(uintptr_t)to, (void *)(uintptr_t)from, size, stream, 1, 1))
}
