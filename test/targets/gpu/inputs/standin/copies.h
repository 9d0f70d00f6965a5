/* cp.async: what is copied appears at once, or when the thread waits for it. Part of standin_driver.c. */

static unsigned coin;
static void finish_copy(const struct copy *one) {
  memcpy(one->to, one->from, one->read);
  memset(one->to + one->read, 0, one->bytes - one->read);
}
API void standin_copy(int64_t to, int64_t from, int bytes, int read) {
  struct copy *made = malloc(sizeof *made), **last = &threads[running].copies;
  if (to % bytes || (read && from % bytes)) abort();
  if (read) trace_access((char *)from, read, READS);
  trace_access((char *)to, bytes, WRITES);
  *made = (struct copy){(char *)to, (const char *)from, bytes, read, threads[running].groups, 0};
  if ((coin = coin * 1103515245u + 12345u) >> 16 & 1) finish_copy(made);
  while (*last) last = &(*last)->next;
  *last = made;
}
API void standin_commit(void) { threads[running].groups++; }
API void standin_wait(int left) { /* for all but the last groups that were committed */
  struct thread *me = &threads[running];
  for (struct copy *one; (one = me->copies) && one->group < me->groups - left; free(one)) {
    trace_access(one->to, one->bytes, WRITES);
    finish_copy(one);
    me->unpublished |= UNFENCED;
    me->copies = one->next;
  }
}
static void forget_copies(struct thread *me) { /* of a launch that failed */
  for (struct copy *one; (one = me->copies); free(one)) me->copies = one->next;
}
