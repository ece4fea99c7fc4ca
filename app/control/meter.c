#include "app/control/meter.h"

static void add_row(struct meter *meter, enum parameter id, int index, const struct parameters *values) {
  for (int i = 0; i < meter->count; i++)
    if (meter->row[i].id == id && meter->row[i].index == index)
      return;
  if (id == PARAMETER_NONE || meter->count == METER_ROWS_MAX)
    return;
  double base = values_number(values, id, index);
  meter->row[meter->count++] = (struct meter_row){id, index, base, base};
}

void meter_begin(struct meter *meter, const struct modulations *modulations, const struct lfos *lfos,
                 const struct parameters *values) {
  meter->count = 0;
  for (int i = 0; i < modulations->count; i++)
    add_row(meter, modulations->entry[i].id, modulations->entry[i].index, values);
  for (int i = 0; i < LFOS_MAX; i++)
    add_row(meter, lfos->entry[i].id, lfos->entry[i].index, values);
}

void meter_finish(struct meter *meter, const struct parameters *values) {
  for (int i = 0; i < meter->count; i++)
    meter->row[i].now = values_number(values, meter->row[i].id, meter->row[i].index);
}

bool meter_same(const struct meter *a, const struct meter *b) {
  bool same = a->heard == b->heard && a->count == b->count;
  for (int i = 0; same && a->heard && i < SOUND_VALUES; i++)
    same = a->values[i] == b->values[i];
  for (int i = 0; same && i < a->count; i++) {
    const struct meter_row *x = &a->row[i], *y = &b->row[i];
    same = x->id == y->id && x->index == y->index && x->base == y->base && x->now == y->now;
  }
  return same;
}
