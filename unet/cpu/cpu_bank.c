/* The definition of the bank's ops (op_memory.h), with which self-attention also attends to earlier frames: the count
 * of stored frames, and the ring buffers with these frames' keys and values. */
#include "unet/cpu/cpu_definition.h"
#include "unet/cpu/cpu_memory.h"

#include <string.h>

/* Returns the address of a state (a tensor that outlives a run) whose values are int32 (ELEMENT_WHOLE). */
static int32_t *whole(const struct cpu_program *program, struct tensor t) {
  return cpu_data(program, t);
}

int cpu_bank_frames(const struct cpu_run *run, const struct op_attention *op) {
  if (!tensor_exists(op->bank) || !run->params->bank.frames)
    return 0;
  int32_t count = whole(run->program, op->bank)[BANK_COUNT];
  return count < 0 ? 0 : count < op->k2.h ? count : op->k2.h;
}

static void recall_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_recall *op = &node->op->recall;
  const struct bank_params *params = &run->params->bank;
  int32_t *bank = whole(run->program, op->bank);
  bool cut = tensor_exists(op->cut) && *whole(run->program, op->cut);
  if (run->params->restart || params->anew || cut) {
    bank[BANK_COUNT] = bank[BANK_SLOT] = bank[BANK_AGE] = 0;
  } else if (bank[BANK_STORES]) {
    bank[BANK_COUNT] = bank[BANK_COUNT] < params->frames ? bank[BANK_COUNT] + 1 : params->frames;
    bank[BANK_SLOT] = (bank[BANK_SLOT] + 1) % params->frames;
  }
  bank[BANK_STORES] = bank[BANK_AGE] == 0;
  bank[BANK_AGE] = (bank[BANK_AGE] + 1) % params->every;
}

/* Copies count values from one tensor's memory to another's, and converts them if the types differ. */
static void copy(struct element to_type, void *to, size_t to_at, struct element from_type, const void *from,
                 size_t from_at, size_t count) {
  size_t size = element_size(to_type);
  if (element_is(from_type, to_type.type) && element_is(to_type, from_type.type))
    memcpy((unsigned char *)to + to_at * size, (const unsigned char *)from + from_at * size, count * size);
  else
    for (size_t i = 0; i < count; i++)
      element_store(to_type, to, to_at + i, element_load(from_type, from, from_at + i));
}

static void remember_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_remember *op = &node->op->remember;
  const struct cpu_program *p = run->program;
  const int32_t *bank = whole(p, op->bank);
  size_t tokens = (size_t)op->ring.w, room = (size_t)op->ring.h, c = (size_t)op->ring.c;
  size_t slot = (size_t)bank[BANK_SLOT];
  if (!bank[BANK_STORES] || slot >= room)
    return;
#pragma omp parallel for collapse(2)
  for (size_t n = 0; n < (size_t)op->ring.n; n++)
    for (size_t t = 0; t < tokens; t++)
      copy(cpu_element(p, op->ring), cpu_data(p, op->ring), ((n * room + slot) * tokens + t) * c, cpu_element(p, op->x),
           cpu_data(p, op->x), (n * tokens + t) * (size_t)op->x.pitch, c);
}

const struct cpu_impl cpu_define_recall = {.run = recall_run};
const struct cpu_impl cpu_define_remember = {.run = remember_run, .takes_bf16 = true};
