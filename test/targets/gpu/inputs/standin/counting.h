/* How often each function was called, and which call of it fails. Part of standin_driver.c. */

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
