#include "blends.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

static const char doing[] = "changing weights";

int blends_init(struct blends *b, const struct weight_change *changes, int count, struct error *err) {
  size_t tasks = 1, pieces = 1;
  for (int i = 0; i < count; i++)
    if (changes[i].blend) {
      tasks++;
      pieces += (size_t)changes[i].blend->count;
    }
  *b = (struct blends){.tasks = malloc(tasks * sizeof *b->tasks),
                       .names = malloc(tasks * sizeof(*b->names)),
                       .pieces = malloc(pieces * sizeof *b->pieces)};
  return b->tasks && b->names && b->pieces ? 0 : error_set(err, STATUS_FAILED, "out of memory");
}

void blends_free(struct blends *b) {
  free(b->tasks);
  free(b->names);
  free(b->pieces);
}

/* Loads the factors of one term of an adapter to the device, and appends the term to the list that the kernel reads. A
 * term is a matrix, calculated from the factors, that is added to a weight. A term whose weight (strength) is 0 changes
 * nothing and is left out. */
static int add_piece(struct blends *b, struct cuda_device *device, const struct blend_term *term, struct error *err) {
  if (term->weight == 0)
    return 0;
  const struct resource_memory *store = resource_load(device, term->store, ROLE_VECTOR, err);
  if (!store)
    return -1;
  const float *factors = store->data;
  b->pieces[b->piece_count++] = (struct blend_piece){.kind = term->kind,
                                                     .axis = term->axis,
                                                     .weight = term->weight,
                                                     .scale = term->scale,
                                                     .rank = term->rank,
                                                     .rank2 = term->rank2,
                                                     .block_rows = term->block_rows,
                                                     .block_channels = term->block_channels,
                                                     .left = factors + term->left,
                                                     .right = factors + term->right,
                                                     .left2 = factors + term->left2,
                                                     .right2 = factors + term->right2,
                                                     .gain = factors + term->gain};
  return 0;
}

int blends_add(struct blends *b, struct cuda_device *device, const struct weight_change *change, void *target,
               struct error *err) {
  const struct resource *r = &device->base.resources->list[change->resource];
  const struct blend *blend = change->blend;
  const struct resource_memory *memory = resource_base(device, change->resource, err);
  if (!memory)
    return -1;
  size_t first = change->first * resource_row_elements(r);
  int columns = blend->taps * blend->channels, first_piece = b->piece_count;
  for (int i = 0; i < blend->count; i++)
    if (add_piece(b, device, &blend->terms[i], err) < 0)
      return -1;
  bool plain = true;
  for (int i = first_piece; i < b->piece_count; i++)
    plain &= b->pieces[i].kind == BLEND_PRODUCT && b->pieces[i].axis == GAIN_NONE;
  b->any_plain |= plain;
  b->any_other |= !plain;
  b->names[b->count] = r->name;
  b->tasks[b->count++] =
      (struct blend_task){.base = (const char *)memory->base + first * element_size(memory->base_element),
                          .target = target,
                          .base_type = memory->base_element.type,
                          .type = memory->element.type,
                          .rows = (int)blend->rows,
                          .columns = columns,
                          .taps = blend->taps,
                          .channels = blend->channels,
                          .first_piece = first_piece,
                          .pieces = b->piece_count - first_piece,
                          .first_tile = b->tiles,
                          .plain = plain};
  b->tiles += blend_tiles((int)blend->rows, columns);
  return 0;
}

static size_t task_bytes(const struct blends *b) {
  return ((size_t)b->count * sizeof *b->tasks + 255) / 256 * 256;
}

static size_t piece_bytes(const struct blends *b) {
  return ((size_t)b->piece_count * sizeof *b->pieces + 255) / 256 * 256;
}

size_t blends_bytes(const struct blends *b) {
  return b->count ? task_bytes(b) + piece_bytes(b) + 256 : 0;
}

int blends_check(const struct blends *b, int overflow, struct error *err) {
  return overflow ? error_set(err, STATUS_MODEL,
                              "%s: with what adapters add to it, it has values beyond FP16's 65504, in which this "
                              "device computes",
                              b->names[overflow - 1])
                  : 0;
}

int blends_send(const struct blends *b, struct cuda_device *device, void *lists, struct blend_args *args,
                struct error *err) {
  char *tasks = lists, *pieces = tasks + task_bytes(b);
  *args = (struct blend_args){.tasks = (const struct blend_task *)tasks,
                              .pieces = (const struct blend_piece *)pieces,
                              .count = b->count,
                              .tiles = b->tiles,
                              .any_plain = b->any_plain,
                              .any_other = b->any_other,
                              .overflow = (int *)(pieces + piece_bytes(b))};
  if (staging_copy(&device->loads, tasks, b->tasks, (size_t)b->count * sizeof *b->tasks, err) < 0 ||
      staging_copy(&device->loads, pieces, b->pieces, (size_t)b->piece_count * sizeof *b->pieces, err) < 0)
    return -1;
  return cuda_check(cudaMemsetAsync(args->overflow, 0, sizeof(int), device->loads.queue.stream), doing, err);
}

int blends_run(struct blends *b, struct cuda_device *device, size_t lists, struct error *err) {
  char *shadow = device->shadow;
  struct blend_args args;
  int overflow = 0;
  if (!b->count)
    return 0;
  for (int i = 0; i < b->count; i++)
    b->tasks[i].target = shadow + (size_t)b->tasks[i].target;
  if (blends_send(b, device, shadow + lists, &args, err) < 0 ||
      cuda_check(launch_blend(&device->loads.queue, &args), doing, err) < 0 ||
      memory_copy(device->loads.queue.stream, &overflow, args.overflow, sizeof overflow, doing, err) < 0)
    return -1;
  return blends_check(b, overflow, err);
}
