/* What kernels read and write: places beyond buffers, and threads that race. Part of standin_driver.c.

   Of each byte that threads share is kept who wrote it last, and who read it, in this launch. Of two accesses of a byte, of which one writes, by
   different threads, a barrier of the block has to be between; threads of different blocks may not make them. Atomic operations count
   as reads among each other, and as writes beside others. The four bytes of a word that is only accessed whole have one trace, that of its first. */

enum { READS, WRITES, ADDS };
enum { UNFENCED = 2 }; /* of a thread's stores: those that wgmma does not see before a fence */
enum { NOBODY = 0, MANY = 0xffff }; /* threads are counted from 1 */
struct trace { uint32_t launch, wrote_block, read_block; uint16_t writer, reader, wrote_epoch, read_epoch, atomic, split; }; /* split: of a word's first byte */
_Static_assert(sizeof(struct trace) == TRACE, "");
static struct trace shared_traces[MOST_SHARED + MOST_BUFFERS * WORD];
static uint32_t launches, block_number;
static uint16_t epoch; /* barriers that the block has passed */

static struct trace *traces_of(const char *at, int bytes, int *own) {
  long place = 0;
  for (int i = 0; i < program->count; place += (program->buffers[i++].size + WORD - 1) / WORD * WORD)
    if (at >= program->buffers[i].at && at + bytes <= program->buffers[i].at + program->buffers[i].size)
      return *own = 1, &shared_traces[place + (at - program->buffers[i].at)];
  *own = 0;
  const char *named = fake + (at - real);
  struct allocation *of = at >= real && at < real + ROOM * MOST ? allocation_of(named, bytes) : 0;
  if (!of) return 0;
  if (!of->traces) of->traces = mmap(0, (of->size + WORD) * sizeof(struct trace), 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return (struct trace *)of->traces + (named - of->at);
}
static int meets(uint32_t block, uint16_t thread, uint16_t when) { /* whether another thread's access may be at the same time as this one's */
  if (thread == NOBODY) return 0;
  return block != block_number || (when == epoch && thread != running + 1);
}
static void fault(int code, const char *what, const struct trace *one, int reads) {
  fprintf(stderr, "stand-in: %s: block %u, thread %d, after %d barriers: %s", program->name, block_number, running, epoch, what);
  if (one) fprintf(stderr, " by block %u, thread %d", reads ? one->read_block : one->wrote_block, (reads ? one->reader : one->writer) - 1);
  fprintf(stderr, "\n");
  give_up(code);
}
/* The trace of a byte's word, as it is in this launch: of a block's own memory, in this block. Split where only a part is accessed. */
static struct trace *word_of(struct trace *one, const char *at, int whole, int own) {
  struct trace *word = one - (uintptr_t)at % WORD;
  if (word->launch != launches || (own && word->wrote_block != block_number)) *word = (struct trace){launches, block_number, block_number};
  if (!whole && !word->split) {
    word->split = 1;
    for (int i = 1; i < WORD; i++) word[i] = word[0];
  }
  return word;
}
static int trace_one(struct trace *one, int kind) { /* whether it is in order */
  int meets_write = meets(one->wrote_block, one->writer, one->wrote_epoch) && !(kind == ADDS && one->atomic);
  if (meets_write) return fault(LAUNCH_FAILED, kind == READS ? "a race: what it reads is written" : "a race: what it writes is written", one, 0), 0;
  if (kind == READS) {
    int again = one->reader != NOBODY && one->read_block == block_number && one->read_epoch == epoch;
    int elsewhere = one->reader != NOBODY && one->read_block != block_number;
    one->reader = (again && one->reader != running + 1) || elsewhere ? MANY : (uint16_t)(running + 1);
    one->read_block = elsewhere ? UINT32_MAX : block_number, one->read_epoch = epoch;
    return 1;
  }
  if (meets(one->read_block, one->reader, one->read_epoch)) return fault(LAUNCH_FAILED, "a race: what it writes is read", one, 1), 0;
  one->writer = (uint16_t)(running + 1), one->wrote_block = block_number, one->wrote_epoch = epoch, one->atomic = kind == ADDS;
  return 1;
}
static void trace_access(char *at, int bytes, int kind) {
  int own;
  struct trace *first = traces_of(at, bytes, &own);
  if (!first) { fault(ILLEGAL_ADDRESS, "an access of memory that nobody allocated", 0, 0); return; }
  for (int i = 0; i < bytes;) {
    int whole = (uintptr_t)(at + i) % WORD == 0 && bytes - i >= WORD;
    struct trace *word = word_of(first + i, at + i, whole, own);
    if (!trace_one(first + i, kind)) return;
    i += whole && !word->split ? WORD : 1;
  }
}
API void standin_access(int64_t at, int bytes, int kind, int64_t begin, int64_t end) {
  if (end && (at < begin || at + bytes > end)) fault(ILLEGAL_ADDRESS, kind == READS ? "it reads beyond a buffer" : "it writes beyond a buffer", 0, 0);
  else {
    trace_access((char *)(uintptr_t)at, bytes, kind);
    if (kind == WRITES) threads[running].unpublished |= UNFENCED;
  }
}
/* A read of a tile by a warpgroup, by the number of its first thread. Whether it is in order. */
static int tile_is_read(int64_t at, int bytes, int thread) {
  int own, before = running, fine = 1;
  struct trace *first = traces_of((char *)(uintptr_t)at, bytes, &own);
  if (!first || !own) return 0;
  running = thread;
  for (int i = 0; i < bytes;) {
    int whole = (at + i) % WORD == 0 && bytes - i >= WORD;
    struct trace *one = first + i, *word = word_of(one, (char *)(uintptr_t)at + i, whole, own);
    if (meets(one->wrote_block, one->writer, one->wrote_epoch)) fine = 0;
    one->reader = MANY, one->read_block = block_number, one->read_epoch = epoch;
    i += whole && !word->split ? WORD : 1;
  }
  running = before;
  return fine;
}
