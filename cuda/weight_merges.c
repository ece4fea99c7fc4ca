#include "cuda/weight_merges.h"

#include <stdlib.h>

#include "cuda/blends.h"
#include "cuda/check.h"

enum {
  /* number of tiles (of weights) in a slice of background work, as long as no slice was timed */
  FIRST_TILES = 2048,
  FORM_ELEMENTS = 1 << 24 /* largest number of values that a slice of background work copies to other layouts */
};
/* Planned time in ms of a slice of background work, which changes some tiles of weights after a frame. A slice may
 * delay a frame by 0.3 ms; less is planned, because some tiles take longer than those that were timed. */
static const float slice_ms = 0.18f;

static const char doing[] = "changing weights";

struct merge {
  const struct weight_change *changes;
  int count; /* number of changes that the merge in progress makes; 0: no merge is in progress */
  struct blends blends;
  struct blend_args args; /* arguments of launch_blend for all tiles of all changes */
  unsigned tiles;         /* number of the tiles in `args` that were already given to the GPU */
  /* a merge also makes the copies of changed weights in other layouts again. forms: how many of the copies it has
   * checked so far: elements of derived[!device->set], the copies for the set of weights that runs do not read */
  int forms;
  bool sent; /* true: the copy of *args.overflow to *finding was enqueued */
  /* for each element of resources.list (a weight or another tensor that plans share): true if `changes` has a change
   * of this weight */
  bool *changed;
  /* device memory of list_bytes bytes with the lists of changed weights and of the adapters' terms that are added to
   * them; NULL: none was needed yet */
  void *lists;
  size_t list_bytes;
  /* page-locked copy of *args.overflow: 0 if all values are finite; else 1 + the number of a changed weight with a
   * value that is not */
  int *finding;
  cudaEvent_t begun, ended, found;
  /* true: the events `begun` and `ended` are before and after a slice of background work with timed_tiles tiles, and
   * its time was not read yet */
  bool timing;
  unsigned timed_tiles, slice; /* slice: number of tiles in the next slice of background work */
};

int merge_open(struct cuda_device *device, struct error *err) {
  struct merge *m = calloc(1, sizeof *m);
  if (!m)
    return error_set(err, STATUS_FAILED, "out of memory");
  device->merge = m;
  m->slice = FIRST_TILES;
  m->changed = calloc(RESOURCES_MAX, sizeof *m->changed);
  if (!m->changed)
    return error_set(err, STATUS_FAILED, "out of memory");
  if (cuda_check(cudaHostAlloc((void **)&m->finding, sizeof *m->finding, cudaHostAllocDefault), doing, err) < 0 ||
      cuda_check(cudaEventCreate(&m->begun), doing, err) < 0 || cuda_check(cudaEventCreate(&m->ended), doing, err) < 0)
    return -1;
  return cuda_check(cudaEventCreateWithFlags(&m->found, cudaEventDisableTiming), doing, err);
}

static void finish(struct cuda_device *device) {
  struct merge *m = device->merge;
  for (int i = 0; i < m->count; i++)
    m->changed[m->changes[i].resource] = false;
  m->count = 0;
  blends_free(&m->blends);
  m->blends = (struct blends){0};
}

void merge_close(struct cuda_device *device) {
  struct merge *m = device->merge;
  if (!m)
    return;
  finish(device);
  cudaEvent_t events[] = {m->begun, m->ended, m->found};
  for (int i = 0; i < 3; i++)
    if (events[i])
      cudaEventDestroy(events[i]);
  if (m->finding)
    cudaFreeHost(m->finding);
  cuda_free(device, m->lists, m->list_bytes);
  free(m->changed);
  free(m);
  device->merge = NULL;
}

static int add_change(struct cuda_device *device, const struct weight_change *change, struct error *err) {
  const struct resource *r = &device->base.resources->list[change->resource];
  const struct resource_memory *memory = resource_load(device, change->resource, ROLE_ANY, err);
  if (!memory)
    return -1;
  if (!memory->other || !change->blend)
    return error_set(err, STATUS_FAILED, "%s: it is not there in two sets", r->name);
  size_t at = change->first * resource_row_elements(r) * element_size(memory->element);
  device->merge->changed[change->resource] = true;
  return blends_add(&device->merge->blends, device, change, (char *)resource_data(memory, !device->set) + at, err);
}

/* Makes room in device memory for the lists of weights and terms. Before it frees the old lists, it waits for kernels
 * that read them: the pool's stream is not ordered with other streams. */
static int reserve_lists(struct cuda_device *device, struct error *err) {
  struct merge *m = device->merge;
  size_t bytes = blends_bytes(&m->blends);
  if (bytes <= m->list_bytes)
    return 0;
  if (m->lists && cuda_check(cudaStreamSynchronize(device->queue.stream), doing, err) < 0)
    return -1;
  cuda_free(device, m->lists, m->list_bytes);
  m->lists = NULL;
  m->list_bytes = 0;
  if (cuda_alloc(device, &m->lists, bytes, doing, err) < 0)
    return -1;
  m->list_bytes = bytes;
  return 0;
}

/* Begins a merge: sends the lists of weights and terms to the device, once earlier merges no longer read the old lists.
 * The compute stream waits until these lists, and all weights, have arrived. */
static int start(struct cuda_device *device, struct error *err) {
  struct merge *m = device->merge;
  cudaStream_t loads = device->loads.queue.stream;
  for (int i = 0; i < m->count; i++)
    if (add_change(device, &m->changes[i], err) < 0)
      return -1;
  if (!m->blends.count)
    return 0;
  if (reserve_lists(device, err) < 0 || cuda_check(cudaStreamWaitEvent(loads, device->published, 0), doing, err) < 0 ||
      blends_send(&m->blends, device, m->lists, &m->args, err) < 0 ||
      cuda_check(cudaEventRecord(device->shadow_ready, loads), doing, err) < 0)
    return -1;
  return cuda_check(cudaStreamWaitEvent(device->queue.stream, device->shadow_ready, 0), doing, err);
}

int merges_begin(struct device *base, const struct weight_change *changes, int count, struct error *err) {
  struct cuda_device *device = cuda_enter(base);
  struct merge *m = device->merge;
  finish(device);
  m->changes = changes;
  m->tiles = 0;
  m->forms = 0;
  m->sent = false;
  if (blends_init(&m->blends, changes, count, err) < 0)
    return -1;
  m->count = count;
  if (start(device, err) == 0)
    return 0;
  finish(device);
  return -1;
}

/* If a slice of background work that was timed has ended, reads how long it took on the GPU. From that, sets how many
 * tiles (of weights) the next slices have. */
static void look_at_clock(struct merge *m) {
  float ms;
  if (!m->timing || cudaEventElapsedTime(&ms, m->begun, m->ended) != cudaSuccess) {
    cudaGetLastError();
    return;
  }
  m->timing = false;
  float fitting = ms > 0.001f ? (float)m->timed_tiles * slice_ms / ms : 4.0f * (float)m->timed_tiles;
  float most = 4.0f * (float)m->timed_tiles;
  m->slice = (unsigned)(fitting < most ? fitting : most) + 1;
}

static int make_tiles(struct cuda_device *device, bool all, struct error *err) {
  struct merge *m = device->merge;
  struct blend_args args = m->args;
  cudaStream_t stream = device->queue.stream;
  look_at_clock(m);
  unsigned left = m->args.tiles - m->tiles;
  args.first = m->tiles;
  args.tiles = all || left < m->slice ? left : m->slice;
  /* Only launches of m->slice tiles are timed, not a last one with fewer, because the time of a few tiles says little
   * about that of many. */
  bool timing = !m->timing && !all && args.tiles == m->slice;
  if ((timing && cuda_check(cudaEventRecord(m->begun, stream), doing, err) < 0) ||
      cuda_check(launch_blend(&device->queue, &args), doing, err) < 0 ||
      (timing && cuda_check(cudaEventRecord(m->ended, stream), doing, err) < 0))
    return -1;
  if (timing) {
    m->timing = true;
    m->timed_tiles = args.tiles;
  }
  m->tiles += args.tiles;
  return 0;
}

/* Makes the copies of changed weights in other layouts again, each copy as a whole. The table of copies may have grown
 * while the merge went on, so the new copies are made again as well. */
static int make_forms(struct cuda_device *device, bool all, struct error *err) {
  struct merge *m = device->merge;
  const struct derived_table *table = &device->derived[!device->set];
  size_t elements = 0;
  if (cuda_check(cudaStreamWaitEvent(device->queue.stream, device->shadow_ready, 0), doing, err) < 0)
    return -1;
  for (; m->forms < table->count && (all || elements < FORM_ELEMENTS); m->forms++) {
    const struct derived *copy = &table->list[m->forms];
    if (!weights_form_reads(copy, m->changed))
      continue;
    elements += weights_form_work(copy);
    if (weights_make_form(device, &device->queue, !device->set, copy, err) < 0)
      return -1;
  }
  return 0;
}

static int send_finding(struct cuda_device *device, struct error *err) {
  struct merge *m = device->merge;
  m->sent = true;
  if (cuda_check(cudaMemcpyAsync(m->finding, m->args.overflow, sizeof *m->finding, cudaMemcpyDeviceToHost,
                                 device->queue.stream),
                 doing, err) < 0)
    return -1;
  return cuda_check(cudaEventRecord(m->found, device->queue.stream), doing, err);
}

/* Asks if the kernels have calculated a value that is not finite. Returns 0 if not, -1 with an error if so, and 1 if
 * their report has not arrived yet. wait: true to wait for the report. */
static int look_at_finding(struct cuda_device *device, bool wait, struct error *err) {
  struct merge *m = device->merge;
  cudaError_t status = wait ? cudaEventSynchronize(m->found) : cudaEventQuery(m->found);
  if (status == cudaErrorNotReady) {
    cudaGetLastError();
    return 1;
  }
  return cuda_check(status, doing, err) < 0 ? -1 : blends_check(&m->blends, *m->finding, err);
}

static int go_on(struct cuda_device *device, bool all, struct error *err) {
  struct merge *m = device->merge;
  bool begun = false;
  if (!m->blends.count)
    return 0;
  if (m->tiles < m->args.tiles) {
    begun = true;
    if (make_tiles(device, all, err) < 0)
      return -1;
  }
  if ((all || !begun) && m->tiles == m->args.tiles && m->forms < device->derived[!device->set].count) {
    begun = true;
    if (make_forms(device, all, err) < 0)
      return -1;
  }
  if (begun && cuda_check(cudaEventRecord(device->published, device->queue.stream), doing, err) < 0)
    return -1;
  if (m->tiles < m->args.tiles || m->forms < device->derived[!device->set].count)
    return 1;
  if (!m->sent && send_finding(device, err) < 0)
    return -1;
  return look_at_finding(device, all, err);
}

int merges_go_on(struct device *base, bool all, struct error *err) {
  struct cuda_device *device = cuda_enter(base);
  int status = go_on(device, all, err);
  if (status < 0)
    finish(device);
  return status;
}

void merges_show(struct device *base) {
  struct cuda_device *device = cuda_enter(base);
  device->set = !device->set;
  finish(device);
}
