/* Blocks of threads, and launches of kernels. Part of standin_driver.c. */

/* Runs the threads of a block until all have ended. 0, or the code of a failure: threads that wait for different things. From a barrier to
   the next one some warp is held up until all others wait. */
static int run_block(int count, unsigned seed) {
  int held = (int)(seed * 2654435761u >> 8) % (count / 16 + 1);
  for (int left = count; left;) {
    int first = (int)(seed = seed * 1103515245u + 12345u) & 0x7fffffff, moved = 0;
    for (int n = 0; n < count; n++) {
      int number = (first + n) % count;
      if (threads[number].state != READY || number / 32 == held) continue;
      resume(number);
      moved = 1;
      if (failure) return failure;
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
    int at = 0, where = -1;
    for (int n = 0; n < count; n++) {
      if (threads[n].state != AT_BARRIER) continue;
      if (at++ && threads[n].offset != where) return LAUNCH_FAILED; /* barriers of branches that not all threads take */
      where = threads[n].offset;
    }
    if (at && at == left) {
      for (int n = 0; n < count; n++)
        if (threads[n].state == AT_BARRIER) threads[n].state = READY;
      moved = 1, epoch++, held = (int)(seed >> 8) % (count / 16 + 1);
    }
    int code = left ? on_warpgroups(count, &moved) : 0;
    if (code || (!moved && left && held < 0)) return code ? code : LAUNCH_FAILED;
    if (!moved) held = -1;
  }
  return 0;
}

static int launch(struct CUfunc_st *function, const unsigned *sizes, char *const *given) {
  int failed = counted("kernel");
  if (failed) return failed;
  const char *kinds = function->kinds + 1;
  static uint64_t values[512];
  for (int i = 0; i < function->parameters; i++) {
    memcpy(&values[i], given[i], 8);
    if (kinds[i] == 'p' && values[i]) {
      void *at = (void *)(uintptr_t)values[i];
      if (!on_device(at)) return ILLEGAL_ADDRESS;
      struct allocation *of = allocation_of(at, 0);
      if (!of || of->of != here()) return ILLEGAL_ADDRESS;
      values[i] = (uint64_t)(uintptr_t)mapped(at);
    }
    slots[i] = kinds[i] == 't' ? given[i] : (char *)&values[i];
  }
  int count = (int)(sizes[3] * sizes[4] * sizes[5]), syncs = function->kinds[0] == 's';
  if (count > thread_room) {
    threads = realloc(threads, count * sizeof *threads);
    for (int n = thread_room; n < count; n++) threads[n].copies = 0, threads[n].started = 0, threads[n].stack = mmap(0, STACK, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    thread_room = count;
  }
  program = function;
  dynamic_size = sizes[6], failure = 0, launches++;
  for (unsigned block = 0; block < sizes[0] * sizes[1] * sizes[2]; block++) {
    block_number = block, epoch = 0;
    for (int i = 0; i < function->count; i++) memset(function->buffers[i].at, 0xff, function->buffers[i].size);
    for (int n = 0; n < count; n++) {
      struct thread *me = &threads[n];
      int64_t ids[12] = {block % sizes[0], block / sizes[0] % sizes[1], block / sizes[0] / sizes[1],
                         n % sizes[3], n / sizes[3] % sizes[4], n / sizes[3] / sizes[4],
                         sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]};
      memcpy(me->ids, ids, sizeof ids);
      forget_copies(me);
      if (!syncs) {
        running = n;
        if (!_setjmp(whole)) function->run(slots, me->ids);
        if (failure) return failure;
        continue;
      }
      me->started = me->started && me->state == ENDED; /* at the end of a block before, on its stack */
      me->state = READY, me->groups = me->fenced = me->unpublished = me->products = 0;
      if (me->started) continue;
      getcontext(&me->first);
      me->first.uc_stack.ss_sp = me->stack, me->first.uc_stack.ss_size = STACK, me->first.uc_link = 0;
      makecontext(&me->first, body, 0);
    }
    begin_dynamic(block);
    int code = syncs ? run_block(count, block) : 0;
    if (code) return code;
  }
  return 0;
}
