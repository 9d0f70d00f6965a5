/* The threads of a block as coroutines; what they exchange. Part of standin_driver.c. */

#define MOST_BUFFERS 16
#define OWN_SHARED (48 << 10)   /* bytes of a kernel's own shared memory; more is dynamic */
#define MOST_SHARED (227 << 10)
struct buffer { char *at; long size; };
struct CUfunc_st { const char *kinds, *name; int parameters, dynamic, shared, count; long threads; struct buffer buffers[MOST_BUFFERS]; void (*run)(char *const *, const int64_t *); };
enum { READY, AT_BARRIER, AT_SHUFFLE, AT_MATRIX, AT_MBARRIER, AT_WARPGROUP, ENDED };
#define MOST_PRODUCTS 16
struct matrix { int op, kind, transposed; char *first, *second, *third; }; /* an instruction of a warp, as a lane gives it */
struct copy { char *to; const char *from; int bytes, read, group; struct copy *next; }; /* begun by a thread, and not done yet */
struct product { int64_t a, b, sums; int type, columns, across_a, across_b, committed, is_own; uint16_t own[8]; }; /* of a warpgroup, begun and not waited for */
struct thread { int state, offset, mode, valid, started, groups; uint64_t value, got; struct matrix matrix; struct copy *copies; int64_t ids[12];
                int64_t barrier; int parity, fenced, unpublished, products; struct product queue[MOST_PRODUCTS]; float sums[128]; ucontext_t first; jmp_buf place;
                char *stack; };
static struct thread *threads;
static int thread_room, running;
static jmp_buf scheduler;
static struct CUfunc_st *program;
static char *slots[512];

API void standin_wait(int left);
static void leave(int state) {
  struct thread *me = &threads[running];
  me->state = state;
  if (!_setjmp(me->place)) _longjmp(scheduler, 1);
}
static void body(void) { /* a thread of one block after the other */
  for (;;) {
    program->run(slots, threads[running].ids);
    standin_wait(-1);
    leave(ENDED);
  }
}
static void resume(int number) {
  struct thread *me = &threads[running = number];
  me->state = READY;
  if (_setjmp(scheduler)) return;
  if (me->started) _longjmp(me->place, 1);
  me->started = 1;
  setcontext(&me->first);
}
API void standin_barrier(int number) {
  threads[running].offset = number;
  leave(AT_BARRIER);
}
static int failure; /* of a thread: its code */
static jmp_buf whole; /* around a thread of a kernel whose threads do not wait */
static void give_up(int code) {
  failure = code;
  if (program->kinds[0] == 's') {
    threads[running].started = 0; /* not to go on with this block in the next one */
    leave(ENDED);
  }
  _longjmp(whole, 1);
}
API void standin_aligned(int64_t at, int bytes) {
  if (at % bytes == 0) return;
  give_up(MISALIGNED_ADDRESS);
}
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
    me->got = !me->valid ? me->value : from < count ? threads[warp + from].value : ~0ull; /* nobody says what a lane that is not there has */
  }
}
