/* Graphs. Of the nodes whose dependencies are done, the one that was added last is next. Part of standin_driver.c. */

struct CUgraphNode_st { struct CUgraph_st *of; int place; struct work work; struct CUgraphNode_st **after; size_t count; };
struct CUgraph_st { struct CUgraphNode_st **nodes; int count; };
struct CUgraphExec_st { struct CUgraph_st *of; struct work *works; int count, alive; struct CUevent_st done; };
static long live_graphs;

static void free_work(struct work *work) {
  free(work->values);
  free(work->given);
}
static struct work copy_of(const struct work *work) {
  struct work made = *work;
  if (work->kind != LAUNCH) return made;
  int count = work->function->parameters;
  made.values = calloc(count + 1, PARAMETER);
  made.given = calloc(count + 1, sizeof *made.given);
  memcpy(made.values, work->values, PARAMETER * count);
  for (int i = 0; i < count; i++) made.given[i] = made.values + PARAMETER * i;
  return made;
}
API CUresult cuGraphCreate(CUgraph *graph, unsigned flags) {
  BEGIN
  if (flags) END(INVALID_VALUE)
  *graph = calloc(1, sizeof **graph);
  live_graphs++;
  END(SUCCESS)
}
API CUresult cuGraphDestroy(CUgraph graph) {
  BEGIN_ANYHOW
  for (int i = 0; i < graph->count; i++) {
    free_work(&graph->nodes[i]->work);
    free(graph->nodes[i]->after);
    free(graph->nodes[i]);
  }
  free(graph->nodes);
  free(graph);
  live_graphs--;
  END(SUCCESS)
}
static int add_node(CUgraphNode *to, CUgraph graph, const CUgraphNode *after, size_t count, struct work work) {
  for (size_t i = 0; i < count; i++)
    if (!after[i] || after[i]->of != graph) return free_work(&work), INVALID_VALUE;
  CUgraphNode node = calloc(1, sizeof *node);
  node->of = graph, node->place = graph->count, node->work = work, node->count = count;
  node->after = malloc((count + 1) * sizeof *after);
  if (count) memcpy(node->after, after, count * sizeof *after);
  graph->nodes = realloc(graph->nodes, (graph->count + 1) * sizeof *graph->nodes);
  graph->nodes[graph->count++] = *to = node;
  return SUCCESS;
}
static int of_kernel(struct work *work, const CUDA_KERNEL_NODE_PARAMS *p) {
  unsigned sizes[] = {p->gridDimX, p->gridDimY, p->gridDimZ, p->blockDimX, p->blockDimY, p->blockDimZ, p->sharedMemBytes};
  return kernel_work(work, p->func, sizes, p->kernelParams, p->extra);
}
static int of_copy(struct work *work, const CUDA_MEMCPY3D *p, CUcontext context) {
  void *to = (void *)(uintptr_t)p->dstDevice, *from = (void *)(uintptr_t)p->srcDevice;
  if (p->srcMemoryType != 2 || p->dstMemoryType != 2 || p->Height != 1 || p->Depth != 1 || !p->WidthInBytes) return INVALID_VALUE;
  if (p->srcXInBytes || p->srcY || p->srcZ || p->srcLOD || p->reserved0 || p->reserved1) return INVALID_VALUE;
  if (p->dstXInBytes || p->dstY || p->dstZ || p->dstLOD || context != here()) return INVALID_VALUE;
  if (!allocation_of(to, p->WidthInBytes) || !allocation_of(from, p->WidthInBytes)) return INVALID_VALUE;
  *work = (struct work){COPY, .to = to, .from = from, .size = p->WidthInBytes};
  return SUCCESS;
}
API CUresult cuGraphAddKernelNode(CUgraphNode *to, CUgraph graph, const CUgraphNode *after, size_t count, const CUDA_KERNEL_NODE_PARAMS *of) {
  BEGIN
  struct work work;
  int code = of_kernel(&work, of);
  END(code ? code : add_node(to, graph, after, count, work))
}
API CUresult cuGraphAddMemcpyNode(CUgraphNode *to, CUgraph graph, const CUgraphNode *after, size_t count, const CUDA_MEMCPY3D *of, CUcontext context) {
  BEGIN
  struct work work;
  int code = of_copy(&work, of, context);
  END(code ? code : add_node(to, graph, after, count, work))
}
API CUresult cuGraphInstantiate(CUgraphExec *to, CUgraph graph, unsigned long long flags) {
  BEGIN
  if (flags) END(INVALID_VALUE)
  CUgraphExec made = calloc(1, sizeof *made);
  made->of = graph, made->count = graph->count, made->alive = 1;
  made->works = calloc(graph->count + 1, sizeof *made->works);
  for (int i = 0; i < graph->count; i++) made->works[i] = copy_of(&graph->nodes[i]->work);
  *to = made;
  live_graphs++;
  END(SUCCESS)
}
/* Changes later launches of a graph, not those that are under way. */
static int replace(CUgraphExec ready, CUgraphNode node, struct work work) {
  if (!ready->alive || node->of != ready->of || ready->works[node->place].kind != work.kind) return free_work(&work), INVALID_VALUE;
  free_work(&ready->works[node->place]);
  ready->works[node->place] = work;
  return SUCCESS;
}
API CUresult cuGraphExecKernelNodeSetParams(CUgraphExec ready, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *of) {
  BEGIN
  struct work work;
  int code = of_kernel(&work, of);
  END(code ? code : replace(ready, node, work))
}
API CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec ready, CUgraphNode node, const CUDA_MEMCPY3D *of, CUcontext context) {
  BEGIN
  struct work work;
  int code = of_copy(&work, of, context);
  END(code ? code : replace(ready, node, work))
}
API CUresult cuGraphLaunch(CUgraphExec ready, CUstream stream) { /* after the launch before, whatever its stream was */
  BEGIN
  if (!ready->alive) END(INVALID_VALUE)
  int code = ready->done.recorded ? enqueue(stream, (struct work){WAIT, .event = &ready->done, .turn = ready->done.recorded}) : SUCCESS;
  char *added = calloc(ready->count + 1, 1);
  for (int left = ready->count; left && !code; left--)
    for (int i = ready->count - 1; i >= 0; i--) {
      CUgraphNode node = ready->of->nodes[i];
      int waits = added[i];
      for (size_t d = 0; d < node->count; d++) waits |= !added[node->after[d]->place];
      if (waits) continue;
      added[i] = 1;
      code = enqueue(stream, copy_of(&ready->works[i]));
      break;
    }
  free(added);
  ready->done.in = stream_of(stream);
  END(code ? code : enqueue(stream, (struct work){RECORD, .event = &ready->done, .turn = ++ready->done.recorded}))
}
API CUresult cuGraphExecDestroy(CUgraphExec ready) { /* its event's memory stays: queues may know it */
  BEGIN_ANYHOW
  for (int i = 0; i < ready->count; i++) free_work(&ready->works[i]);
  free(ready->works);
  ready->alive = 0;
  live_graphs--;
  END(SUCCESS)
}
