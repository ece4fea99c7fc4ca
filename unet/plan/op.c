#include "unet/plan/op_checks.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* --- the lists of each op's operands, as offsets into its struct --- */

struct place {
  const char *name;
  unsigned short at; /* offset of the operand in the op's struct, in bytes */
  unsigned short roles;
};

#define PLACE_TENSOR(name, roles) {#name, offsetof(this, name), roles},
#define PLACE_PROLOGUE(name)                                                                                           \
  {#name ".gamma", offsetof(this, name.gamma), OPERAND_READ | OPERAND_VECTOR | OPERAND_OPTIONAL},                      \
      {#name ".beta", offsetof(this, name.beta), OPERAND_READ | OPERAND_VECTOR | OPERAND_OPTIONAL},
#define PLACES(TYPE, field, ...)                                                                                       \
  static const struct place *places_##field(int *count) {                                                              \
    typedef struct op_##field this;                                                                                    \
    static const struct place places[] = {OPERANDS_##TYPE(PLACE_TENSOR, PLACE_PROLOGUE)};                              \
    _Static_assert(sizeof places <= OPERANDS_MAX * sizeof *places, #field " has more operands than OPERANDS_MAX");     \
    *count = sizeof places / sizeof *places;                                                                           \
    return places;                                                                                                     \
  }
OP_TABLE(PLACES)

#define PLACES_ROW(TYPE, field, ...) [OP_##TYPE] = places_##field,
static const struct place *(*const places_of[OP_TYPES])(int *count) = {OP_TABLE(PLACES_ROW)};

static struct tensor *operand_at(const struct op *op, const struct place *place) {
  return (struct tensor *)((char *)(uintptr_t)&op->conv + place->at);
}

int op_operands(const struct op *op, unsigned roles, struct op_operand list[OPERANDS_MAX]) {
  int count, kept = 0;
  const struct place *places = places_of[op->type](&count);
  for (int i = 0; i < count; i++)
    if (places[i].roles & roles)
      list[kept++] = (struct op_operand){*operand_at(op, &places[i]), places[i].name, places[i].roles};
  return kept;
}

int op_tensors(const struct op *op, unsigned roles, struct tensor list[OPERANDS_MAX]) {
  struct op_operand all[OPERANDS_MAX];
  int count = op_operands(op, roles, all), kept = 0;
  for (int i = 0; i < count; i++)
    if (tensor_exists(all[i].tensor))
      list[kept++] = all[i].tensor;
  return kept;
}

struct tensor *op_y(struct op *op) {
  int count;
  const struct place *places = places_of[op->type](&count);
  for (int i = 0; i < count; i++)
    if ((places[i].roles & ~OPERAND_WHOLE) == OPERAND_WRITE)
      return operand_at(op, &places[i]);
  return NULL;
}

float inject_guess(const struct op_inject *op) {
  return powf(10, op->count > 1 ? (float)op->index / (float)(op->count - 1) - 1 : -1);
}

const char *op_type_name(enum op_type type) {
#define NAME(TYPE, field, name, ...) [OP_##TYPE] = name,
  static const char *const names[OP_TYPES] = {OP_TABLE(NAME)};
  return type < OP_TYPES ? names[type] : "unknown";
}

const char *op_check(const struct op *op, int runs, struct op_result *y) {
#define CHECK(TYPE, field, ...) [OP_##TYPE] = op_check_##field,
  static const char *(*const checks[OP_TYPES])(const struct op *, int, struct op_result *) = {OP_TABLE(CHECK)};
  *y = (struct op_result){0};
  return checks[op->type](op, runs, y);
}

/* --- counting floating-point operations --- */

static double no_flops(const struct op *op) {
  (void)op;
  return 0;
}

static double conv_flops(const struct op *op) {
  struct tensor w = op->conv.weight;
  return 2.0 * (double)tensor_elements(op->conv.y) * w.h * w.w * w.c;
}

static double linear_flops(const struct op *op) {
  struct tensor w = op->linear.weight;
  return 2.0 * (double)tensor_rows(op->linear.x) * w.n * w.c;
}

static double inject_flops(const struct op *op) {
  return 2.0 * (double)tensor_elements(op->inject.y) * op->inject.weight.c;
}

static double attention_flops(const struct op *op) {
  const struct op_attention *o = &op->attention;
  return 4.0 * (double)tensor_elements(o->q) * o->k.h * o->k.w;
}

static double style_flops(const struct op *op) {
  const struct op_style *o = &op->style;
  return 4.0 * (double)tensor_elements(o->q) * o->k.w;
}

double op_flops(const struct op *op) {
#define FLOPS(TYPE, field, name, parameters, flops) [OP_##TYPE] = flops,
  static double (*const flops_of[OP_TYPES])(const struct op *) = {OP_TABLE(FLOPS)};
  return flops_of[op->type](op);
}

bool op_is_told(enum op_type type) {
#define TOLD(TYPE, field, name, parameters, ...) [OP_##TYPE] = #parameters,
  static const char *const told[OP_TYPES] = {OP_TABLE(TOLD)};
  return strcmp(told[type], "nothing") != 0;
}
