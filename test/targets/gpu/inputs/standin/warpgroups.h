/* Hopper's mbarriers, copy engine and instructions of warpgroups, as the PTX ISA defines them ("Asynchronous Warpgroup Level Matrix
   Instructions", "Tensors", "mbarrier"). Part of standin_driver.c. */

#define DYNAMIC_ROOM (1 << 18) /* what a matrix's description can say */
#define MOST_BARRIERS 64
#define MOST_COPIES 256
#define MAGIC 0x7e4505a1
#define PADDING 16 /* dynamic memory begins where nobody may rely on more than 16 bytes */
struct mbarrier { int64_t at; int count, pending, phase, published; long bytes; };
struct tensor_map { uint32_t magic; uint8_t type, rank, swizzle, width; uint64_t memory; uint32_t sizes[5]; uint64_t steps[4]; uint16_t box[5]; /* of windows channels and pixels */
  uint8_t windows, strides[3]; int16_t lower[3], upper[3]; };
struct tile_copy { int64_t to, barrier; struct tensor_map map; int at[5], inside[3], size, done; };
static char dynamic_memory[DYNAMIC_ROOM] __attribute__((aligned(DYNAMIC_ROOM)));
static struct mbarrier barriers[MOST_BARRIERS];
static struct tile_copy tile_copies[MOST_COPIES];
static int barrier_count, tile_copy_count, problem;
static unsigned dynamic_size, chance;
static long tile_conflicts, products;
API long standin_tile_conflicts(void) { return tile_conflicts; } /* rows of 16 bytes, of eight that are read at once, in the bank of another */
API long standin_products(void) { return products; }

static void begin_dynamic(unsigned seed) {
  memset(dynamic_memory, 0xff, DYNAMIC_ROOM);
  barrier_count = tile_copy_count = problem = 0, chance = seed;
}
static int within(int64_t at, int64_t size) {
  int64_t begin = (int64_t)(uintptr_t)dynamic_memory + PADDING;
  return at >= begin && at + size <= begin + dynamic_size;
}
API int64_t standin_dynamic(void) { return (int64_t)(uintptr_t)dynamic_memory + PADDING; }

static struct mbarrier *barrier_at(int64_t at) {
  for (int i = 0; i < barrier_count; i++) if (barriers[i].at == at) return &barriers[i];
  problem = 1;
  return 0;
}
static void check_phase(struct mbarrier *one) {
  if (one->pending < 0) problem = 1;
  if (one->pending == 0 && one->bytes == 0) one->phase ^= 1, one->pending = one->count;
}
API void standin_mbarrier_init(int64_t at, int count) {
  if (at % 8 || !within(at, 8) || barrier_count == MOST_BARRIERS) problem = 1;
  else barriers[barrier_count++] = (struct mbarrier){at, count, count, 0, 0, 0};
}
API void standin_mbarrier_publish(void) { /* without this the copy engine may see what was there before */
  for (int i = 0; i < barrier_count; i++) barriers[i].published = 1;
}
API void standin_tile_store(int64_t at, int bytes) { /* of a thread itself: wgmma sees it when the thread has fenced it off */
  if (at % bytes || !within(at, bytes)) problem = 1;
  threads[running].unpublished |= 1;
}
API void standin_tile_publish(void) { threads[running].unpublished = 0; }
API void standin_mbarrier_arrive(int64_t at, int bytes) {
  struct mbarrier *one = barrier_at(at);
  if (threads[running].unpublished & 1) problem = 1;
  if (one) one->bytes += bytes, one->pending--, check_phase(one);
}
static int is_over(const struct thread *one) {
  struct mbarrier *at = barrier_at(one->barrier);
  return at && at->phase != one->parity;
}
API void standin_mbarrier_wait(int64_t at, int parity) {
  threads[running].barrier = at, threads[running].parity = parity & 1;
  leave(AT_MBARRIER);
}

static int64_t swizzled(int64_t at) { return at ^ (at >> 7 & 7) << 4; }
static int outside_map(const struct tile_copy *one, const int *place) {
  for (int axis = 0; axis < one->map.rank; axis++) {
    int64_t index = (int64_t)one->at[axis] + place[axis];
    if (index < 0 || index >= (int64_t)one->map.sizes[axis]) return 1;
  }
  return 0;
}
static void next_pixel(struct tile_copy *one) { /* of the box in which windows begin, from its lower to its upper corner; then the next image's */
  const struct tensor_map *map = &one->map;
  for (int axis = 1; axis < map->rank - 1; axis++) {
    one->at[axis] += map->strides[axis - 1];
    if (one->at[axis] <= (int)map->sizes[axis] - 1 + map->upper[axis - 1]) return;
    one->at[axis] = map->lower[axis - 1];
  }
  one->at[map->rank - 1]++;
}
static void write_tile(struct tile_copy *one) { /* a row of the box after the other; what is beyond the sizes is 0 */
  int place[5] = {0}, width = one->map.width;
  for (int axis = 1; one->map.windows && axis < one->map.rank - 1; axis++) place[axis] = one->inside[axis - 1];
  for (int64_t to = one->to; to < one->to + one->size; to += width) {
    uint64_t from = one->map.memory;
    for (int axis = 0; axis < one->map.rank; axis++) from += (uint64_t)(one->at[axis] + place[axis]) * (axis ? one->map.steps[axis - 1] : (uint64_t)width);
    char *target = (char *)(uintptr_t)(one->map.swizzle ? swizzled(to) : to);
    if (outside_map(one, place)) memset(target, 0, width);
    else if (!allocation_of((void *)(uintptr_t)from, width)) problem = 1;
    else {
      memcpy(target, mapped((void *)(uintptr_t)from), width);
      if (one->map.type == 11) { /* rounded to tf32: the nearest, of two the even one */
        uint32_t bits;
        memcpy(&bits, target, 4);
        bits = (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
        memcpy(target, &bits, 4);
      }
    }
    if (one->map.windows) {
      if (++place[0] == (int)one->map.box[0]) place[0] = 0, next_pixel(one);
    } else
      for (int axis = 0; axis < one->map.rank && ++place[axis] == (int)one->map.box[axis]; axis++) place[axis] = 0;
  }
  one->done = 1;
}
API void standin_tile_copy(int64_t to, int64_t map, int rank, int a, int b, int c, int d, int e, int windows, int f, int g, int h, int64_t barrier) {
  struct tile_copy made = {to, barrier, *(const struct tensor_map *)(uintptr_t)map, {a, b, c, d, e}, {f, g, h}, 0, 0};
  int most = rank == 3 ? 1 << 16 : rank == 4 ? 1 << 8 : 1 << 5; /* of the places in a window */
  if (made.map.windows != windows) { problem = 1; return; }
  for (int axis = 0; windows && axis < rank - 2; axis++) { /* it begins where a window does */
    int at = made.at[axis + 1] - made.map.lower[axis], last = (int)made.map.sizes[axis + 1] - 1 + made.map.upper[axis] - made.map.lower[axis];
    if (made.inside[axis] < 0 || made.inside[axis] >= most || at < 0 || at > last || at % made.map.strides[axis]) { problem = 1; return; }
  }
  if (made.map.magic != MAGIC || made.map.rank != rank || tile_copy_count == MOST_COPIES) { problem = 1; return; }
  struct mbarrier *of = barrier_at(barrier);
  if (!of || !of->published) { problem = 1; return; }
  made.size = made.map.width;
  for (int axis = 0; axis < (windows ? 2 : rank); axis++) made.size *= (int)made.map.box[axis];
  if (to % (made.map.swizzle ? 1024 : 128) || !within(to, made.size)) { problem = 1; return; }
  chance = chance * 1103515245u + 12345u;
  if (chance >> 16 & 1) write_tile(&made); /* the data of a copy may come at once or late; that they have come is known late */
  tile_copies[tile_copy_count++] = made;
}
static int finish_tile(void) { /* one that was begun */
  if (!tile_copy_count) return 0;
  chance = chance * 1103515245u + 12345u;
  struct tile_copy *one = &tile_copies[(chance >> 16) % (unsigned)tile_copy_count];
  if (!one->done) write_tile(one);
  struct mbarrier *at = barrier_at(one->barrier);
  if (at) at->bytes -= one->size, check_phase(at);
  *one = tile_copies[--tile_copy_count];
  return 1;
}

API void standin_wgmma_fence(void) { threads[running].fenced = 1; }
static void begin_product(struct product one) {
  struct thread *me = &threads[running];
  if (!me->fenced || me->products == MOST_PRODUCTS || one.columns > 256 || one.columns % 8) { problem = 1; return; }
  int known = 0, columns = one.columns;
  int64_t sums = one.sums;
  for (int i = 0; i < me->products; i++) known |= me->queue[i].sums == sums;
  me->queue[me->products++] = one;
  if (known) return;
  memcpy(me->sums, (void *)(uintptr_t)sums, 2 * columns);
  memset((void *)(uintptr_t)sums, 0xff, 2 * columns); /* nobody reads them before they are waited for */
}
API void standin_wgmma(int type, int columns, int across_a, int across_b, int64_t a, int64_t b, int64_t sums) {
  begin_product((struct product){a, b, sums, type, columns, across_a, across_b, 0, 0, {0}});
}
API void standin_wgmma_own(int type, int columns, int across_b, int64_t own, int64_t b, int64_t sums) { /* the left elements are the thread's */
  struct product one = {0, b, sums, type, columns, 0, across_b, 0, 1, {0}};
  memcpy(one.own, (void *)(uintptr_t)own, sizeof one.own);
  begin_product(one);
}
API void standin_wgmma_commit(void) {
  for (int i = 0; i < threads[running].products; i++) threads[running].queue[i].committed = 1;
}
API void standin_wgmma_wait(void) { leave(AT_WARPGROUP); }

/* Element (i, k) of a matrix of which i is a row of A or a column of B, by its description. In units of 16 bytes: with the depth along the
   panels' rows ((8, i), (T, 2 k)) : ((8 T, SBO), (1, T)); with the depth across them ((T, 8, i), (8, k)) : ((1, T, LBO), (8 T, SBO)). */
static int64_t base_of_tiles(void) { /* a kernel whose threads copy tiles has one buffer for all of them */
  return (int64_t)(uintptr_t)(program->count ? program->buffers[0].at : dynamic_memory);
}
static int64_t address_in(uint64_t description, int width, int across, int i, int k) {
  int64_t begin = base_of_tiles() + (int64_t)(description & 0x3fff) * 16, leading = (description >> 16 & 0x3fff) * 16,
          stride = (description >> 32 & 0x3fff) * 16;
  if (description >> 62 != 1 || (description >> 49 & 7)) problem = 1;
  int each = 128 / width;
  if (across) return swizzled(begin + i / each * leading + i % each * width + k % 8 * 128 + k / 8 * stride);
  return swizzled(begin + i % 8 * 128 + i / 8 * stride + k * width);
}
static int width_of(int type) { return type > 2 ? 1 : type == 2 ? 4 : 2; }
static struct thread *reading; /* the first of a warpgroup */
static double element_at(int64_t at, int type, int side) {
  if (program->count ? !tile_is_read(at, width_of(type), (int)(reading - threads)) : !within(at, width_of(type))) { problem = 1; return 0; }
  return type == 2 ? as_tf32((char *)(uintptr_t)at) : factor_at((char *)(uintptr_t)at, type, side);
}
static void count_tile_conflicts(uint64_t description, int width, int across, int count, int depth) {
  for (int i = 0; i < count; i += across ? 16 / width : 8)      /* eight rows of 16 bytes, which the instruction reads as one matrix */
    for (int k = 0; k < depth; k += across ? 8 : 16 / width) {
      int banks = 0;
      for (int row = 0; row < 8; row++) {
        int bank = address_in(description, width, across, across ? i : i + row, across ? k + row : k) / 16 % 8;
        tile_conflicts += banks >> bank & 1;
        banks |= 1 << bank;
      }
    }
}
static void perform_product(struct thread *lanes, int number) {
  static double a[64][32], b[256][32];
  const struct product one = lanes->queue[number];
  int width = width_of(one.type), depth = 32 / width;
  if (width != 2 && (one.across_a || one.across_b)) problem = 1;
  reading = lanes;
  for (int lane = 0; one.is_own && lane < 128; lane++)
    for (int i = 0; i < 8; i++)
      a[lane / 32 * 16 + lane % 32 / 4 + i / 2 % 2 * 8][lane % 4 * 2 + i % 2 + i / 4 * 8] = as_float((char *)&lanes[lane].queue[number].own[i], one.type);
  for (int i = 0; !one.is_own && i < 64; i++) for (int k = 0; k < depth; k++) a[i][k] = element_at(address_in(one.a, width, one.across_a, i, k), one.type, 0);
  for (int j = 0; j < one.columns; j++) for (int k = 0; k < depth; k++) b[j][k] = element_at(address_in(one.b, width, one.across_b, j, k), one.type, 1);
  if (!one.is_own) count_tile_conflicts(one.a, width, one.across_a, 64, depth);
  count_tile_conflicts(one.b, width, one.across_b, one.columns, depth);
  for (int lane = 0; lane < 128; lane++)
    for (int i = 0; i < one.columns / 2; i++) {
      int row = lane / 32 * 16 + lane % 32 / 4 + 8 * (i / 2 % 2), column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      double sum = 0;
      for (int k = 0; k < depth; k++) sum += a[row][k] * b[column][k];
      add_to((char *)(lanes[lane].sums + i), sum, one.type);
    }
  products++;
}
static int on_warpgroup(struct thread *lanes) { /* all products that were committed; the same ones in all threads */
  for (int lane = 0; lane < 128; lane++) {
    if (lanes[lane].products != lanes->products) return LAUNCH_FAILED;
    for (int i = 0; i < lanes->products; i++) {
      const struct product *mine = &lanes[lane].queue[i], *first = &lanes->queue[i];
      if (mine->a != first->a || mine->b != first->b || mine->type != first->type || mine->columns != first->columns ||
          mine->is_own != first->is_own || mine->across_a != first->across_a || mine->across_b != first->across_b || mine->committed != first->committed) return LAUNCH_FAILED;
    }
  }
  int all = 1;
  for (int i = 0; i < lanes->products; i++) {
    if (lanes->queue[i].committed) perform_product(lanes, i);
    else all = 0;
  }
  for (int lane = 0; all && lane < 128; lane++) {
    for (int i = 0; i < lanes[lane].products; i++) memcpy((void *)(uintptr_t)lanes[lane].queue[i].sums, lanes[lane].sums, 2 * lanes[lane].queue[i].columns);
    lanes[lane].products = lanes[lane].fenced = 0;
  }
  return 0;
}
static int on_warpgroups(int count, int *moved) { /* what threads of a block wait for; 0, or the code of a failure */
  for (int n = 0; n < count; n++)
    if (threads[n].state == AT_MBARRIER && is_over(&threads[n])) threads[n].state = READY, *moved = 1;
  for (int first = 0; first < count; first += 128) {
    int there = 0;
    for (int lane = 0; lane < 128 && first + lane < count; lane++) there += threads[first + lane].state == AT_WARPGROUP;
    if (there < 128) continue;
    for (int n = 0; n < count; n++) if (program->count && threads[n].unpublished & UNFENCED && threads[n].state != ENDED) problem = 1;
    int code = on_warpgroup(&threads[first]);
    if (code) return code;
    for (int lane = 0; lane < 128; lane++) threads[first + lane].state = READY;
    *moved = 1;
  }
  if (!*moved) *moved = finish_tile();
  return problem ? LAUNCH_FAILED : 0;
}

API CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *memory, const cuuint64_t *sizes,
                                    const cuuint64_t *steps, const cuuint32_t *box, const cuuint32_t *element_steps,
                                    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                    CUtensorMapFloatOOBfill fill) {
  BEGIN
  uint8_t width = type == 0 ? 1 : type == 6 || type == 9 ? 2 : type == 11 ? 4 : 0;
  struct tensor_map made = {MAGIC, (uint8_t)type, (uint8_t)rank, swizzle == 3, width, (uint64_t)(uintptr_t)memory, {0}, {0}, {0}, 0, {0}, {0}, {0}};
  if ((uintptr_t)map % 64 || (uintptr_t)memory % 16 || rank < 1 || rank > 5 || !width || interleave || fill || promotion > 3 || (swizzle != 0 && swizzle != 3)) END(INVALID_VALUE)
  if (setting("STANDIN_CHIP", 80) < 90) END(INVALID_VALUE)
  uint64_t last = 0;
  for (unsigned axis = 0; axis < rank; axis++) {
    made.sizes[axis] = sizes[axis], made.box[axis] = box[axis];
    if (axis) made.steps[axis - 1] = steps[axis - 1];
    if (sizes[axis] < 1 || sizes[axis] > 1ull << 32 || box[axis] < 1 || box[axis] > 256 || element_steps[axis] != 1) END(INVALID_VALUE)
    if (axis && (steps[axis - 1] % 16 || steps[axis - 1] >= 1ull << 40)) END(INVALID_VALUE)
    last += (sizes[axis] - 1) * (axis ? steps[axis - 1] : width);
  }
  if (box[0] * width % 16 || (swizzle && box[0] * width > 128) || !allocation_of(memory, last + width)) END(INVALID_VALUE)
  memset(map, 0, 128);
  memcpy(map, &made, sizeof made);
  END(SUCCESS)
}
API CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *memory, const cuuint64_t *sizes,
                                     const cuuint64_t *steps, const int *lower, const int *upper, cuuint32_t channels, cuuint32_t pixels,
                                     const cuuint32_t *strides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                     CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  BEGIN
  cuuint32_t box[5] = {channels, 1, 1, 1, 1}, ones[5] = {1, 1, 1, 1, 1};
  if (rank < 3 || rank > 5 || pixels < 1 || pixels > 1024 || channels > 256 || strides[0] != 1 || strides[rank - 1] != 1) END(INVALID_VALUE)
  CUresult code = cuTensorMapEncodeTiled(map, type, rank, memory, sizes, steps, box, ones, interleave, swizzle, promotion, fill);
  if (code) return code;
  struct tensor_map made;
  int most = rank == 3 ? 1 << 15 : rank == 4 ? 1 << 7 : 1 << 4; /* of corners */
  memcpy(&made, map, sizeof made);
  made.windows = 1, made.box[1] = (uint16_t)pixels;
  for (unsigned axis = 0; axis < rank - 2; axis++) {
    if (lower[axis] < -most || lower[axis] >= most || upper[axis] < -most || upper[axis] >= most || strides[axis + 1] < 1 || strides[axis + 1] > 8 ||
        (int64_t)sizes[axis + 1] + upper[axis] - lower[axis] < 1) END(INVALID_VALUE)
    made.lower[axis] = (int16_t)lower[axis], made.upper[axis] = (int16_t)upper[axis], made.strides[axis] = (uint8_t)strides[axis + 1];
  }
  memcpy(map, &made, sizeof made);
  END(SUCCESS)
}
