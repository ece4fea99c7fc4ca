#include "tests/rigs/osc_rig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void write_down(void *opaque, const struct osc_message *message) {
  struct heard *heard = opaque;
  char *text = heard->text[heard->count];
  size_t used = (size_t)snprintf(text, TEXT_MAX, "%s", message->address);
  assert_true(heard->count < HEARD_MAX - 1);
  for (int i = 0; i < message->count && used < TEXT_MAX; i++) {
    const struct osc_argument *argument = &message->argument[i];
    if (argument->text)
      used += (size_t)snprintf(text + used, TEXT_MAX - used, " %c:%s", argument->type, argument->text);
    else
      used += (size_t)snprintf(text + used, TEXT_MAX - used, " %c:%.10g", argument->type, argument->number);
  }
  heard->count++;
}

const char *find_heard(const struct heard *heard, const char *begin) {
  for (int i = 0; i < heard->count; i++)
    if (!strncmp(heard->text[i], begin, strlen(begin)))
      return heard->text[i];
  return NULL;
}

struct osc_argument argument_of(const char *word) {
  struct osc_argument argument = {.type = *word, .number = (double)NAN};
  if (*word == 's' || *word == 'S')
    argument.text = word + 2;
  else if (*word == 'T' || *word == 'F')
    argument.number = *word == 'T';
  else if (*word != 'b')
    argument.number = strtod(word + 2, NULL);
  return argument;
}

static void take_line(void *opaque, enum log_level level, const char *text) {
  struct rig *rig = opaque;
  if (level == LOG_WARNING && rig->log_count < 4)
    snprintf(rig->logged[rig->log_count++], sizeof rig->logged[0], "%s", text);
}

int open_rig(void **state) {
  struct rig *rig = calloc(1, sizeof *rig);
  struct parameters values;
  struct error err;
  assert_non_null(rig);
  parameters_init(&values);
  parameters_set_text(&values, PARAMETER_PROMPT, 1, "neon", &err);
  rig->models = (struct parameter_choices){.text = {"mini", "turbo"}, .count = 2};
  rig->state = (struct live_state){.ready = true, .slot_before = 1, .models = &rig->models};
  rig->log = (struct log){take_line, rig};
  settings_begin(&rig->state.settings, &values);
  *state = rig;
  return hub_open(&rig->hub, &rig->state, &err);
}

int close_rig(void **state) {
  struct rig *rig = *state;
  assert_true(osc_stop(&rig->osc, 60000));
  hub_close(&rig->hub);
  free(rig);
  return 0;
}

const struct parameters *turn(struct rig *rig) {
  struct hub_figures figures = {.fps = 30, .model = "mini"};
  hub_take(rig->hub, &rig->state, 0);
  hub_publish(rig->hub, &rig->state.settings.values, &figures);
  return &rig->state.settings.values;
}
