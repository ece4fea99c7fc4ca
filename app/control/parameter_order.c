#include "app/control/parameter_order.h"

static const char *const labels[PARAMETER_GROUPS] = {
    [PARAMETER_GROUP_PROMPT] = "Prompts",    [PARAMETER_GROUP_PICTURE] = "Picture",
    [PARAMETER_GROUP_GUIDANCE] = "Guidance", [PARAMETER_GROUP_TIME] = "Time",
    [PARAMETER_GROUP_CONTROL] = "Controls",  [PARAMETER_GROUP_STYLE] = "Style pictures",
    [PARAMETER_GROUP_MODEL] = "Model",       [PARAMETER_GROUP_SCENE] = "Scenes",
    [PARAMETER_GROUP_SOURCE] = "Source",     [PARAMETER_GROUP_OUTPUT] = "Output",
    [PARAMETER_GROUP_TEMPO] = "Tempo",       [PARAMETER_GROUP_WAVE] = "Waves",
    [PARAMETER_GROUP_SOUND] = "Sound",       [PARAMETER_GROUP_WINDOW] = "Window",
};

const char *parameter_group_label(enum parameter_group group) {
  return labels[group];
}

/* Returns the key by which parameters_in_order sorts a parameter, lowest first: its group, then its order. */
static long place_of(enum parameter id) {
  const struct parameter_row *row = parameter_row(id);
  long order = row->order ? row->order : PARAMETERS;
  return ((long)row->group * (PARAMETERS + 1) + order) * PARAMETERS + (long)id;
}

/* Returns the key by which parameters_by_rank sorts a parameter, lowest first: its column `rank` in the table. */
static long rank_of(enum parameter id) {
  return (long)parameter_row(id)->rank * PARAMETERS + (long)id;
}

/* Puts the parameter into the list, whose parameters are sorted by their keys. */
static void insert(enum parameter *ids, int count, enum parameter id, long (*key)(enum parameter)) {
  int at = count;
  for (; at > 0 && key(ids[at - 1]) > key(id); at--)
    ids[at] = ids[at - 1];
  ids[at] = id;
}

int parameters_in_order(enum parameter ids[PARAMETERS]) {
  int count = 0;
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++)
    insert(ids, count++, id, place_of);
  return count;
}

int parameters_by_rank(enum parameter ids[PARAMETERS]) {
  int count = 0;
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++)
    if (parameter_row(id)->rank)
      insert(ids, count++, id, rank_of);
  return count;
}
