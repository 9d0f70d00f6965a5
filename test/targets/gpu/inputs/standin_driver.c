/* A stand-in for NVIDIA's driver library on machines without a GPU: the functions that Legato's models call, over kernels that the tests
   lower to the CPU (standin.py).

   cuModuleLoadDataEx finds the kernels by the digest of the PTX: $STANDIN_KERNELS/<digest>.so. Streams are queues, whose work is done when
   somebody waits for it ($STANDIN_EAGER: at once). The device's memory is at addresses that the host cannot touch; kernels and copies
   reach it by another mapping. The threads of a block are coroutines: at a barrier or shuffle the next one goes on. Fresh memory holds
   NaNs. $STANDIN_DEVICES, $STANDIN_CHIP (80), $STANDIN_MEMORY (bytes): how many devices, of which chip, how large. $STANDIN_THREADS (1024):
   the most in a block. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#if defined(STANDIN_CUDA_H) /* NVIDIA's own declarations, where they are: the compiler then compares the types */
#include STANDIN_CUDA_H
#undef cuEventElapsedTime /* the driver has it beside a second version, which later headers name */
#else
typedef int CUresult, CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef int CUdevice_attribute, CUfunction_attribute, CUjit_option;
#endif

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_IMAGE = 200, INVALID_CONTEXT = 201,
       INVALID_PTX = 218, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600, ILLEGAL_ADDRESS = 700, LAUNCH_FAILED = 719 };
#define ROOM (1ull << 35) /* addresses of a device */
#define MOST 4            /* devices */
#define GAP 4096
#define STACK (256 << 10)
#define API __attribute__((visibility("default")))

static pthread_mutex_t lock;
static char *fake, *real; /* the same memory, as the host and as kernels have it */

/* ---- Counting and failing ---- */

#define FUNCTIONS 64
static struct { const char *name; long calls, fail_at; int code; } functions[FUNCTIONS];
static int sticky;

static int counted(const char *name) {
  for (int i = 0; i < FUNCTIONS; i++) {
    if (!functions[i].name) functions[i].name = strdup(name); /* a caller in Python frees its own */
    if (strcmp(functions[i].name, name)) continue;
    functions[i].calls++;
    return functions[i].fail_at && --functions[i].fail_at == 0 ? functions[i].code : 0;
  }
  abort();
}

API long standin_calls(const char *name) {
  for (int i = 0; i < FUNCTIONS && functions[i].name; i++)
    if (!strcmp(functions[i].name, name)) return functions[i].calls;
  return 0;
}

/* The nth call of a function from now on fails with a code; "kernel": the nth thread block program that runs. */
API void standin_fail(const char *name, long nth, int code) {
  counted(name);
  for (int i = 0; i < FUNCTIONS && functions[i].name; i++)
    if (!strcmp(functions[i].name, name)) functions[i].fail_at = nth, functions[i].code = code;
}

API void standin_reset(void) {
  for (int i = 0; i < FUNCTIONS; i++) functions[i].fail_at = 0;
  sticky = 0;
}

#define BEGIN                                                  \
  pthread_mutex_lock(&lock);                                   \
  int code_ = counted(__func__);                               \
  if (!code_) code_ = sticky;                                  \
  if (code_) return pthread_mutex_unlock(&lock), code_;
#define BEGIN_ANYHOW /* after a kernel has failed, too */ \
  pthread_mutex_lock(&lock);                               \
  int code_ = counted(__func__);                           \
  if (code_) return pthread_mutex_unlock(&lock), code_;
#define END(value) return code_ = (value), pthread_mutex_unlock(&lock), code_;

/* ---- Devices and contexts ---- */

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
      *value = i ? others[i][1] : (int)setting("STANDIN_THREADS", others[i][1]);
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

/* ---- Memory ---- */

struct allocation { char *at; size_t size; struct CUctx_st *of; struct allocation *next; };
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
  *made = (struct allocation){fake + ROOM * (of - devices) + of->next, size, of, allocations};
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

/* ---- Blocks of threads ---- */

struct CUfunc_st { const char *kinds; void (*run)(char *const *, const int64_t *); };
enum { READY, AT_BARRIER, AT_SHUFFLE, AT_MATRIX, ENDED };
struct matrix { int op, kind, transposed; char *first, *second, *third; }; /* an instruction of a warp, as a lane gives it */
struct copy { char *to; const char *from; int bytes, read, group; struct copy *next; }; /* begun by a thread, and not done yet */
struct thread { int state, offset, mode, valid, started, groups; uint64_t value, got; struct matrix matrix; struct copy *copies; int64_t ids[12]; ucontext_t first; jmp_buf place;
                char *stack; };
static struct thread *threads;
static int thread_room, running;
static jmp_buf scheduler;
static struct CUfunc_st *program;
static char *slots[512];

API void standin_wait(int left);
static void body(void) {
  program->run(slots, threads[running].ids);
  standin_wait(-1);
  threads[running].state = ENDED;
  _longjmp(scheduler, 1);
}
static void leave(int state) {
  struct thread *me = &threads[running];
  me->state = state;
  if (!_setjmp(me->place)) _longjmp(scheduler, 1);
}
static void resume(int number) {
  struct thread *me = &threads[running = number];
  me->state = READY;
  if (_setjmp(scheduler)) return;
  if (me->started) _longjmp(me->place, 1);
  me->started = 1;
  setcontext(&me->first);
}
API void standin_barrier(void) { leave(AT_BARRIER); }
API uint64_t standin_shuffle(uint64_t value, int offset, int width, int mode) { /* modes: xor, up, down, idx */
  struct thread *me = &threads[running];
  if (width != 32) abort();
  me->value = value, me->offset = offset, me->mode = mode;
  leave(AT_SHUFFLE);
  return threads[running].got;
}
API int standin_valid(void) { return threads[running].valid; }

static void exchange(int warp, int count) {
  for (int lane = 0; lane < count; lane++) {
    struct thread *me = &threads[warp + lane];
    int from = me->mode == 0 ? lane ^ me->offset : me->mode == 1 ? lane - me->offset : me->mode == 2 ? lane + me->offset : me->offset;
    me->valid = from >= 0 && from < 32;
    me->got = me->valid && from < count ? threads[warp + from].value : me->value;
  }
}

/* cp.async: what is copied appears when the thread waits for it, and not before. */
API void standin_copy(int64_t to, int64_t from, int bytes, int read) {
  struct copy *made = malloc(sizeof *made), **last = &threads[running].copies;
  if (to % bytes || (read && from % bytes)) abort();
  *made = (struct copy){(char *)to, (const char *)from, bytes, read, threads[running].groups, 0};
  while (*last) last = &(*last)->next;
  *last = made;
}
API void standin_commit(void) { threads[running].groups++; }
API void standin_wait(int left) { /* for all but the last groups that were committed */
  struct thread *me = &threads[running];
  for (struct copy *one; (one = me->copies) && one->group < me->groups - left; free(one)) {
    memcpy(one->to, one->from, one->read);
    memset(one->to + one->read, 0, one->bytes - one->read);
    me->copies = one->next;
  }
}

/* Instructions of a warp on matrices, as the PTX ISA defines them ("Warp-level matrix instructions"). */
enum { LDMATRIX, MMA };
static long conflicts, instructions[2];
API void standin_ldmatrix(int64_t row, int count, int transposed, int64_t to) {
  threads[running].matrix = (struct matrix){LDMATRIX, count, transposed, (char *)row, (char *)to, 0};
  leave(AT_MATRIX);
}
API void standin_mma(int type, int64_t a, int64_t b, int64_t c) { /* m16n8k16 of f16 or bf16; 2: m16n8k8 of tf32 */
  threads[running].matrix = (struct matrix){MMA, type, 0, (char *)a, (char *)b, (char *)c};
  leave(AT_MATRIX);
}
API long standin_conflicts(void) { return conflicts; } /* rows of matrices that waited for others of the same matrix, in their bank */
API long standin_instructions(int op) { return instructions[op]; }

static float as_float(const char *at, int type) {
  uint16_t bits;
  memcpy(&bits, at, 2);
  if (type == 1) {
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, 4);
    return value;
  }
  _Float16 half;
  memcpy(&half, &bits, 2);
  return (float)half;
}
static float as_tf32(const char *at) { /* the lower 13 bits are not looked at */
  uint32_t bits;
  memcpy(&bits, at, 4);
  bits &= ~0x1fffu;
  float value;
  memcpy(&value, &bits, 4);
  return value;
}
static int load_matrices(const struct thread *lanes) { /* 8 rows of 8 elements of 16 bits each; lanes 8i to 8i + 7 name those of matrix i */
  for (int i = 0; i < lanes->matrix.kind; i++) {
    int banks = 0;
    for (int row = 0; row < 8; row++) {
      uintptr_t at = (uintptr_t)lanes[8 * i + row].matrix.first;
      if (at % 16) return LAUNCH_FAILED;
      conflicts += banks >> at / 16 % 8 & 1;
      banks |= 1 << at / 16 % 8;
    }
    for (int lane = 0; lane < 32; lane++)
      for (int e = 0; e < 2; e++) {
        int row = lanes->matrix.transposed ? 2 * (lane % 4) + e : lane / 4, column = lanes->matrix.transposed ? lane / 4 : 2 * (lane % 4) + e;
        memcpy(lanes[lane].matrix.second + 4 * i + 2 * e, lanes[8 * i + row].matrix.first + 2 * column, 2);
      }
  }
  return 0;
}
static int multiply(const struct thread *lanes) {
  float a[16][16], b[16][8];
  int type = lanes->matrix.kind, depth = type == 2 ? 8 : 16;
  for (int lane = 0; lane < 32; lane++) {
    int group = lane >> 2, in_group = lane % 4;
    if (type == 2) {
      for (int i = 0; i < 4; i++) a[i % 2 ? group + 8 : group][i < 2 ? in_group : in_group + 4] = as_tf32(lanes[lane].matrix.first + 4 * i);
      for (int i = 0; i < 2; i++) b[i ? in_group + 4 : in_group][group] = as_tf32(lanes[lane].matrix.second + 4 * i);
      continue;
    }
    for (int i = 0; i < 8; i++)
      a[i < 2 || (4 <= i && i < 6) ? group : group + 8][in_group * 2 + (i & 1) + (i < 4 ? 0 : 8)] = as_float(lanes[lane].matrix.first + 2 * i, type);
    for (int i = 0; i < 4; i++) b[in_group * 2 + (i & 1) + (i < 2 ? 0 : 8)][group] = as_float(lanes[lane].matrix.second + 2 * i, type);
  }
  for (int lane = 0; lane < 32; lane++)
    for (int i = 0; i < 4; i++) {
      int row = (lane >> 2) + (i < 2 ? 0 : 8), column = lane % 4 * 2 + (i & 1);
      float *c = (float *)lanes[lane].matrix.third + i;
      double sum = *c;
      for (int k = 0; k < depth; k++) sum += (double)a[row][k] * b[k][column];
      *c = (float)sum;
    }
  return 0;
}
static int on_matrices(const struct thread *lanes, int count) {
  for (int lane = 0; lane < 32; lane++) {
    const struct matrix *one = &lanes[lane].matrix;
    if (count < 32 || one->op != lanes->matrix.op || one->kind != lanes->matrix.kind || one->transposed != lanes->matrix.transposed) return LAUNCH_FAILED;
  }
  instructions[lanes->matrix.op]++;
  return lanes->matrix.op == MMA ? multiply(lanes) : load_matrices(lanes);
}

/* Runs the threads of a block until all have ended. 0, or the code of a failure: threads that wait for different things. */
static int run_block(int count, unsigned seed) {
  for (int left = count; left;) {
    int first = (int)(seed = seed * 1103515245u + 12345u) & 0x7fffffff, moved = 0;
    for (int n = 0; n < count; n++) {
      int number = (first + n) % count;
      if (threads[number].state != READY) continue;
      resume(number);
      moved = 1;
      left -= threads[number].state == ENDED;
    }
    for (int warp = 0; warp < count; warp += 32) {
      int size = count - warp < 32 ? count - warp : 32, there = 0, shuffled = 0;
      for (int lane = 0; lane < size; lane++) {
        shuffled += threads[warp + lane].state == AT_SHUFFLE;
        there += threads[warp + lane].state == AT_SHUFFLE || threads[warp + lane].state == AT_MATRIX;
      }
      if (there == size) {
        if (shuffled && shuffled < size) return LAUNCH_FAILED;
        int code = 0;
        if (shuffled) exchange(warp, size);
        else code = on_matrices(&threads[warp], size);
        if (code) return code;
        for (int lane = 0; lane < size; lane++) threads[warp + lane].state = READY;
        moved = 1;
      } else if (there) {
        for (int lane = 0; lane < size; lane++)
          if (threads[warp + lane].state == ENDED || threads[warp + lane].state == AT_BARRIER) return LAUNCH_FAILED;
      }
    }
    int at = 0;
    for (int n = 0; n < count; n++) at += threads[n].state == AT_BARRIER;
    if (at && at == left) {
      for (int n = 0; n < count; n++)
        if (threads[n].state == AT_BARRIER) threads[n].state = READY;
      moved = 1;
    }
    if (!moved && left) return LAUNCH_FAILED;
  }
  return 0;
}

static int launch(struct CUfunc_st *function, const unsigned *sizes, char *const *given) {
  int failed = counted("kernel");
  if (failed) return failed;
  const char *kinds = function->kinds + 1;
  static uint64_t values[512];
  for (int i = 0; kinds[i]; i++) {
    memcpy(&values[i], given[i], 8);
    if (kinds[i] == 'p' && values[i]) {
      void *at = (void *)(uintptr_t)values[i];
      if (!on_device(at)) return ILLEGAL_ADDRESS;
      struct allocation *of = allocation_of(at, 0);
      if (!of || of->of != here()) return ILLEGAL_ADDRESS;
      values[i] = (uint64_t)(uintptr_t)mapped(at);
    }
    slots[i] = (char *)&values[i];
  }
  int count = (int)(sizes[3] * sizes[4] * sizes[5]), syncs = function->kinds[0] == 's';
  if (count > thread_room) {
    threads = realloc(threads, count * sizeof *threads);
    for (int n = thread_room; n < count; n++) threads[n].copies = 0, threads[n].stack = mmap(0, STACK, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    thread_room = count;
  }
  program = function;
  for (unsigned block = 0; block < sizes[0] * sizes[1] * sizes[2]; block++) {
    for (int n = 0; n < count; n++) {
      struct thread *me = &threads[n];
      int64_t ids[12] = {block % sizes[0], block / sizes[0] % sizes[1], block / sizes[0] / sizes[1],
                         n % sizes[3], n / sizes[3] % sizes[4], n / sizes[3] / sizes[4],
                         sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]};
      memcpy(me->ids, ids, sizeof ids);
      if (!syncs) {
        function->run(slots, me->ids);
        continue;
      }
      me->state = READY, me->started = me->groups = 0;
      getcontext(&me->first);
      me->first.uc_stack.ss_sp = me->stack, me->first.uc_stack.ss_size = STACK, me->first.uc_link = 0;
      makecontext(&me->first, body, 0);
    }
    int code = syncs ? run_block(count, block) : 0;
    if (code) return code;
  }
  return 0;
}

/* ---- Streams and events ---- */

enum { LAUNCH, COPY, RECORD, WAIT };
struct work { int kind; struct CUctx_st *of; struct CUfunc_st *function; unsigned sizes[6]; char *values; char **given; void *to; const void *from;
              size_t size; CUevent event; long turn; struct work *next; };
struct CUstream_st { struct work *first, **last; int blocks; struct CUctx_st *of; struct CUstream_st *next; };
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

/* ---- Modules and launches ---- */

struct CUmod_st { void *library; };

API uint64_t standin_digest(const char *text) { /* FNV-1a */
  uint64_t digest = 14695981039346656037ull;
  for (; *text; text++) digest = (digest ^ (unsigned char)*text) * 1099511628211ull;
  return digest;
}
API CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options, void **values) {
  BEGIN
  char path[4096];
  const char *folder = getenv("STANDIN_KERNELS");
  if (!here()) END(INVALID_CONTEXT)
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
  struct CUfunc_st *made = malloc(sizeof *made);
  snprintf(symbol, sizeof symbol, "%s.kinds", name);
  made->kinds = dlsym(module->library, symbol);
  snprintf(symbol, sizeof symbol, "%s.run", name);
  *(void **)&made->run = dlsym(module->library, symbol);
  *function = made;
  END(made->kinds && made->run ? SUCCESS : NOT_FOUND)
}
API CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  BEGIN
  END(attribute == 8 && value <= 166912 ? SUCCESS : INVALID_VALUE)
}
API CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                            CUstream stream, void **parameters, void **extra) {
  BEGIN
  if (!gx || !gy || !gz || gy > 65535 || gz > 65535 || !bx || !by || !bz || bx * by * bz > setting("STANDIN_THREADS", 1024) || extra) END(INVALID_VALUE)
  struct work work = {LAUNCH, .function = function, .sizes = {gx, gy, gz, bx, by, bz}};
  int count = (int)strlen(function->kinds) - 1;
  work.values = calloc(count + 1, 8);
  work.given = calloc(count + 1, sizeof *work.given);
  for (int i = 0; i < count; i++) {
    char kind = function->kinds[1 + i];
    work.given[i] = work.values + 8 * i;
    memcpy(work.given[i], parameters[i], kind == 'p' ? 8 : kind - '0');
  }
  END(enqueue(stream, work))
}
API CUresult cuGetErrorName(CUresult error, const char **text) {
  *text = error == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : error == LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED"
        : error == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : error == INVALID_PTX ? "CUDA_ERROR_INVALID_PTX" : "CUDA_ERROR_OF_THE_STAND_IN";
  return SUCCESS;
}
API CUresult cuGetErrorString(CUresult error, const char **text) { return *text = "as the stand-in says", SUCCESS; }

/* What is alive: allocations, contexts, streams, events, modules. */
API long standin_live(void) {
  long count = live_events + live_modules;
  for (struct allocation *a = allocations; a; a = a->next) count++;
  for (struct CUstream_st *s = streams; s; s = s->next) count++;
  for (int i = 0; i < MOST; i++) count += devices[i].retained;
  return count;
}
