#include "unet/model/bank.h"

#include <stdio.h>
#include <string.h>

static const char ring_prefix[] = "bank ring ";

/* Returns the level at which a layer works: how often the picture's width and height are halved before the layer.
 * scale: width of a latent's cell in pixels. */
static int level_of(const struct unet_layer *layer, int scale) {
  int level = layer->halvings;
  for (; scale > 1; scale /= 2)
    level++;
  return level;
}

unsigned bank_levels_there(const struct walk *walk, int scale) {
  unsigned there = 0;
  for (int i = 0; i < walk->count; i++)
    if (walk->layers[i].kind == LAYER_TRANSFORMER && !walk->layers[i].only_cross_attention)
      there |= 1u << level_of(&walk->layers[i], scale);
  return there;
}

unsigned bank_levels_usual(unsigned there) {
  unsigned first = there & (~there + 1), others = there & ~first;
  return first | (others & (~others + 1));
}

struct bank bank_begin(struct plan *plan, int room, unsigned levels, int scale, struct tensor global) {
  struct tensor cut = tensor_exists(global) ? tensor_channels(global, GLOBAL_CUT, 1) : global;
  struct tensor state = plan_state(plan, "bank", 1, 1, 1, BANK_VALUES, ELEMENT_WHOLE);
  plan_region_begin(plan, (struct region_when){.kind = REGION_BANK});
  plan_recall(plan, "recall", (struct op_recall){.cut = cut, .bank = state, .room = room});
  plan_region_end(plan);
  return (struct bank){.state = state, .room = room, .levels = levels, .scale = scale};
}

void bank_attend(const struct bank *bank, struct plan *plan, const struct unet_layer *layer, struct op_attention *op) {
  if (!bank->room || !(bank->levels >> level_of(layer, bank->scale) & 1))
    return;
  char name[sizeof ring_prefix + 16 + sizeof plan->scope];
  snprintf(name, sizeof name, "%s%d %s", ring_prefix, bank->step, plan->scope);
  struct tensor ring = plan_state(plan, name, op->q.n, bank->room, op->k.h * op->k.w, 2 * op->k.c, ELEMENT_DEVICE);
  op->k2 = tensor_channels(ring, 0, op->k.c);
  op->v2 = tensor_channels(ring, op->k.c, op->k.c);
  op->bank = bank->state;
}

void bank_remember(const struct bank *bank, struct plan *plan, const struct op_attention *op,
                   struct tensor keys_values) {
  if (!tensor_exists(op->k2))
    return;
  struct tensor ring = op->k2;
  ring.c = ring.pitch;
  plan_region_begin(plan, (struct region_when){.kind = REGION_BANK});
  plan_remember(plan, "remember", (struct op_remember){.x = keys_values, .bank = bank->state, .ring = ring});
  plan_region_end(plan);
}

size_t bank_elements(const struct plan *plan) {
  size_t elements = 0;
  for (int i = 0; i < plan->state_count; i++) {
    const struct declared_state *s = &plan->states[i];
    if (!strncmp(s->name, ring_prefix, sizeof ring_prefix - 1))
      elements += (size_t)s->n * (size_t)s->h * (size_t)s->w * (size_t)s->c;
  }
  return elements;
}
