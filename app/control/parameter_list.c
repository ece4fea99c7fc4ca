#include "app/control/parameter_list.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/parameter_order.h"

/* The list shows a size by its longest side in pixels, from SIZE_LOW to SIZE_HIGH in steps of SIZE_STEP. */
enum { SIZE_LOW = 64, SIZE_HIGH = 4096, SIZE_STEP = 64 };
/* A bar has a logarithmic scale if its high end is at least this many times its low end. */
enum { LOGARITHMIC_FROM = 32 };

static bool control_has(const struct parameters *values, enum parameter id, int number) {
  enum parameter list[CONTROL_VALUES_MAX];
  int count = values_of_control(values, number, list);
  for (int i = 0; i < count; i++)
    if (list[i] == id)
      return true;
  return false;
}

/* Returns true if the list has a row for this instance of a text parameter, such as prompt[3]: the instance has a text,
 * or it is the first one without a text, which a user may set next. */
static bool is_open(const struct parameters *values, enum parameter id, int index) {
  return index == 1 || parameters_text(values, id, index - 1) != NULL;
}

static bool is_shown(const struct parameters *values, enum parameter id, int index) {
  switch (id) {
  case PARAMETER_LORA:
  case PARAMETER_STYLE:
    return is_open(values, id, index);
  case PARAMETER_LORA_WEIGHT:
    return parameters_text(values, PARAMETER_LORA, index) != NULL;
  case PARAMETER_CONTROL:
    return index == 1 || values->control[index - 2];
  case PARAMETER_CONTROL_MODEL:
  case PARAMETER_CONTROL_SOURCE:
    return values->control[index - 1];
  case PARAMETER_LFO:
    return is_open(values, id, index);
  case PARAMETER_LFO_WAVE:
  case PARAMETER_LFO_PERIOD:
  case PARAMETER_LFO_UNIT:
  case PARAMETER_LFO_PHASE:
  case PARAMETER_LFO_AMOUNT:
    return parameters_text(values, PARAMETER_LFO, index) != NULL;
  case PARAMETER_STYLE_WEIGHT:
  case PARAMETER_STYLE_LAYERS:
    return parameters_text(values, PARAMETER_STYLE, index) != NULL;
  case PARAMETER_BLEND:
    return parameters_text(values, PARAMETER_PROMPT, index) != NULL;
  default:
    return !values_is_control(id) || control_has(values, id, index);
  }
}

static bool is_wanted(const struct parameter_list *list, const struct parameters *values, enum parameter id,
                      int index) {
  char name[PARAMETER_NAME_MAX], label[PARAMETER_NAME_MAX];
  return is_shown(values, id, index) && (strcasestr(parameter_name(id, index, name), list->filter) ||
                                         strcasestr(parameter_label(id, index, label), list->filter));
}

static bool is_heading(struct list_row row) {
  return row.id == PARAMETER_NONE;
}

static void add_row(struct parameter_list *list, struct list_row row) {
  if (list->count < LIST_ROWS_MAX)
    list->row[list->count++] = row;
}

/* Adds a parameter's rows. If they are the first of their group, the group's heading is added before them, except while
 * a filter leaves few rows. group: the group of the row before. */
static void add_rows(struct parameter_list *list, const struct parameters *values, enum parameter id, int *group) {
  const struct parameter_row *of = parameter_row(id);
  for (int i = of->first; i < of->first + parameter_instances(id); i++) {
    if (!is_wanted(list, values, id, i))
      continue;
    if (*group != (int)of->group && !*list->filter)
      add_row(list, (struct list_row){PARAMETER_NONE, (int)of->group});
    *group = (int)of->group;
    add_row(list, (struct list_row){id, i});
  }
}

static int limit(int value, int least, int most) {
  return value > most ? (most < least ? least : most) : value < least ? least : value;
}

/* Scrolls so that the chosen row is visible. If that row is the first one of a group, the group's heading becomes
 * visible as well. */
static void show_chosen(struct parameter_list *list) {
  bool heads = list->chosen > 0 && list->chosen <= list->count && is_heading(list->row[list->chosen - 1]);
  list->first = limit(list->first, list->chosen - list->seen + 1, list->chosen - (heads && list->seen > 1));
  list->first = limit(list->first, 0, list->count - list->seen);
}

/* Returns the number of the row nearest to `row` (or `row` itself) that is not a heading. Searches in direction `way`
 * (1 or -1) first, and in the other direction if there are only headings. */
static int find_row(const struct parameter_list *list, int row, int way) {
  int at = limit(row, 0, list->count - 1), next = at;
  while (next >= 0 && next < list->count && is_heading(list->row[next]))
    next += way;
  if (next >= 0 && next < list->count)
    return next;
  while (at >= 0 && at < list->count && is_heading(list->row[at]))
    at -= way;
  return limit(at, 0, list->count - 1);
}

void parameter_list_update(struct parameter_list *list, const struct parameters *values, int seen) {
  const struct list_row *found = parameter_list_chosen(list), chosen = found ? *found : (struct list_row){0};
  bool moved = seen != list->seen;
  list->count = 0;
  list->seen = seen > 0 ? seen : 1;
  enum parameter ids[PARAMETERS];
  int count = parameters_in_order(ids), group = -1;
  for (int i = 0; i < count; i++)
    if (parameter_row(ids[i])->need != NEED_START)
      add_rows(list, values, ids[i], &group);
  for (int i = 0; i < list->count; i++)
    if (list->row[i].id == chosen.id && list->row[i].index == chosen.index && i != list->chosen) {
      list->first += i - list->chosen;
      list->chosen = i;
    }
  list->chosen = find_row(list, list->chosen, 1);
  list->first = limit(list->first, 0, list->count - list->seen);
  if (moved)
    show_chosen(list);
}

const struct list_row *parameter_list_chosen(const struct parameter_list *list) {
  return list->chosen < list->count ? &list->row[list->chosen] : NULL;
}

void parameter_list_choose(struct parameter_list *list, int row) {
  list->chosen = find_row(list, row, row < list->chosen ? -1 : 1);
  list->typed[0] = 0;
  show_chosen(list);
}

void parameter_list_scroll(struct parameter_list *list, int rows) {
  list->first = limit(list->first + rows, 0, list->count - list->seen);
}

static void get_span(enum parameter id, double *low, double *high) {
  if (parameter_row(id)->type == TYPE_SIZE) {
    *low = SIZE_LOW;
    *high = SIZE_HIGH;
  } else {
    parameter_span(id, low, high);
  }
}

static double get_number(const struct parameters *values, struct list_row row) {
  if (is_heading(row))
    return NAN;
  if (row.id == PARAMETER_SIZE)
    return fmax(values->size.width, values->size.height);
  return values_number(values, row.id, row.index);
}

static bool is_logarithmic(double low, double high) {
  return low > 0 && high >= LOGARITHMIC_FROM * low;
}

double parameter_list_share(const struct parameters *values, struct list_row row) {
  return parameter_list_place(row, get_number(values, row));
}

double parameter_list_place(struct list_row row, double number) {
  double low, high;
  if (isnan(number))
    return -1;
  get_span(row.id, &low, &high);
  if (low >= high)
    return -1;
  number = fmin(high, fmax(low, number));
  return is_logarithmic(low, high) ? log(number / low) / log(high / low) : (number - low) / (high - low);
}

int parameter_list_leading(const struct parameters *values, const struct refusals *refusals, struct list_row *row,
                           int most) {
  enum parameter ids[PARAMETERS];
  int ranked = parameters_by_rank(ids), count = 0;
  for (int i = 0; i < ranked; i++)
    for (int index = parameter_row(ids[i])->first;
         index < parameter_row(ids[i])->first + parameter_instances(ids[i]) && count < most; index++) {
      const struct list_row next = {ids[i], index};
      bool taken = !refusals || !refusals->why[ids[i]];
      if (taken && is_shown(values, ids[i], index) && parameter_list_share(values, next) >= 0)
        row[count++] = next;
    }
  return count;
}

static double round_to(double number, double grid) {
  return round(number / grid) * grid;
}

double parameter_list_number(struct list_row row, double share) {
  const struct parameter_row *of = parameter_row(row.id);
  double low, high;
  get_span(row.id, &low, &high);
  share = fmin(1, fmax(0, share));
  double number = is_logarithmic(low, high) ? low * pow(high / low, share) : low + share * (high - low);
  if (of->type == TYPE_SIZE)
    return round_to(number, SIZE_STEP);
  return of->type == TYPE_REAL ? round(number * pow(10, of->decimals)) / pow(10, of->decimals) : round(number);
}

const char *parameter_list_value(const struct parameters *values, struct list_row row, char *out, size_t size) {
  if (!values_is_control(row.id) || parameter_row(row.id)->type != TYPE_REAL)
    return parameters_show(values, row.id, row.index, out, size);
  snprintf(out, size, "%.*f", parameter_row(row.id)->decimals, get_number(values, row));
  return out;
}

/* Returns by how much one press of the left or right key changes the value of the row's parameter. */
static double get_step(const struct parameters *values, struct list_row row) {
  const struct parameter_row *of = parameter_row(row.id);
  double step;
  if (of->type == TYPE_SIZE)
    return SIZE_STEP;
  if (of->type != TYPE_REAL)
    return 1;
  if (!values_is_control(row.id))
    return 5 * pow(10, -of->decimals);
  values_control_number(values, row.id, row.index, &step);
  return step;
}

static int count_choices(enum parameter id) {
  double low, high;
  parameter_span(id, &low, &high);
  return (int)high + 1;
}

/* Changes the row's value by `by` steps. After the last choice or switch position comes the first one, and before the
 * first one the last; numbers stop at the ends of their range. */
void parameter_list_step(struct live_state *state, struct list_row row, int by, int64_t now_ns) {
  const struct parameter_row *of = parameter_row(row.id);
  const struct parameters *values = &state->settings.values;
  double number = get_number(values, row), next = number + by * get_step(values, row);
  if (isnan(number))
    return;
  if (of->type == TYPE_SIZE) {
    live_step_size(state, by * SIZE_STEP, now_ns);
    return;
  }
  if (of->type == TYPE_CHOICE || of->type == TYPE_SWITCH)
    next = fmod(next + count_choices(row.id), count_choices(row.id));
  else
    next = fmin(of->max, fmax(of->min, next));
  if (of->type == TYPE_REAL)
    next = round(next * pow(10, of->decimals)) / pow(10, of->decimals);
  live_set_number(state, row.id, row.index, next, now_ns);
}

static bool is_numeric(enum parameter id) {
  return parameter_row(id)->type == TYPE_REAL || parameter_row(id)->type == TYPE_WHOLE;
}

/* Returns true if the key types a character that a number may contain. A comma counts as the decimal point, because the
 * numeric keypads of many keyboards have only a comma. */
static bool is_of_number(int key) {
  return key < 128 && (isdigit(key) || key == '.' || key == ',' || key == '-');
}

static enum list_wish type(struct parameter_list *list, enum parameter id, int key) {
  size_t length = strlen(list->typed);
  if (!is_numeric(id) || length + 1 >= sizeof list->typed)
    return LIST_DONE;
  list->typed[length] = key == ',' ? '.' : (char)key;
  list->typed[length + 1] = 0;
  return LIST_DONE;
}

static enum list_wish enter(struct parameter_list *list, struct live_state *state, struct list_row row,
                            int64_t now_ns) {
  enum parameter_type type = parameter_row(row.id)->type;
  if (*list->typed)
    live_set_words(state, row.id, row.index, list->typed, now_ns);
  else if (type == TYPE_CHOICE || type == TYPE_SWITCH)
    parameter_list_step(state, row, 1, now_ns);
  else
    return LIST_EDIT;
  list->typed[0] = 0;
  return LIST_DONE;
}

static enum list_wish escape(struct parameter_list *list) {
  bool typing = *list->typed;
  list->typed[0] = 0;
  return typing ? LIST_DONE : LIST_LEAVE;
}

/* Moves the selection to another row if the key is an arrow, page, home or end key. Returns false for other keys. */
static bool move(struct parameter_list *list, int key) {
  int to = list->chosen;
  switch (key) {
  case KEY_UP:
    to--;
    break;
  case KEY_DOWN:
    to++;
    break;
  case KEY_PAGE_UP:
    to -= list->seen;
    break;
  case KEY_PAGE_DOWN:
    to += list->seen;
    break;
  case KEY_HOME:
    to = 0;
    break;
  case KEY_END:
    to = list->count - 1;
    break;
  default:
    return false;
  }
  parameter_list_choose(list, to);
  return true;
}

/* Handles a key while the user types a number into the list. Keys that would run commands are ignored, because they
 * are probably typing mistakes; only Ctrl-Q still quits. If the user moves to another row, the typed number is
 * discarded. */
static enum list_wish number_key(struct parameter_list *list, struct live_state *state, struct list_row row, int key,
                                 int64_t now_ns) {
  if (key == KEY_ESCAPE)
    return escape(list);
  if (key == KEY_ENTER)
    return enter(list, state, row, now_ns);
  if (move(list, key))
    return LIST_DONE;
  if (is_of_number(key))
    return type(list, row.id, key);
  if (key == KEY_BACKSPACE)
    list->typed[strlen(list->typed) - 1] = 0;
  return key == KEY_CONTROL + 'q' ? LIST_NOT_MINE : LIST_DONE;
}

enum list_wish parameter_list_key(struct parameter_list *list, struct live_state *state, int key, int64_t now_ns) {
  const struct list_row *row = parameter_list_chosen(list);
  if (row && *list->typed)
    return number_key(list, state, *row, key, now_ns);
  if (key == KEY_TAB)
    return LIST_LEAVE;
  if (key == KEY_ESCAPE)
    return escape(list);
  if (move(list, key))
    return LIST_DONE;
  if (!row) /* the filter has hidden all rows; even then, keys that type numbers must not run commands */
    return is_of_number(key) ? LIST_DONE : LIST_NOT_MINE;
  if (key == KEY_LEFT || key == KEY_RIGHT)
    parameter_list_step(state, *row, key == KEY_RIGHT ? 1 : -1, now_ns);
  else if (key == KEY_ENTER)
    return enter(list, state, *row, now_ns);
  else if (is_of_number(key))
    return type(list, row->id, key);
  else
    return LIST_NOT_MINE;
  return LIST_DONE;
}

static void set_by_bar(struct live_state *state, struct list_row row, const struct list_box *box, float x,
                       int64_t now_ns) {
  const struct parameters *values = &state->settings.values;
  double number = parameter_list_number(row, (double)((x - box->bar_left) / (box->bar_right - box->bar_left)));
  if (number != get_number(values, row))
    live_set_number(state, row.id, row.index, number, now_ns);
}

static bool has_bar(const struct parameters *values, struct list_row row) {
  return parameter_list_share(values, row) >= 0;
}

enum list_wish parameter_list_press(struct parameter_list *list, struct live_state *state, const struct list_box *box,
                                    float x, float y, int64_t now_ns) {
  int at = (int)floorf((y - box->top) / box->line);
  if (x < box->left || x >= box->right || at < 0 || at >= list->seen || list->first + at >= list->count)
    return LIST_NOT_MINE;
  struct list_row row = list->row[list->first + at];
  if (is_heading(row))
    return LIST_DONE;
  parameter_list_choose(list, list->first + at);
  if (x < box->bar_left)
    return LIST_DONE;
  if (!has_bar(&state->settings.values, row))
    return LIST_EDIT;
  if (parameter_row(row.id)->type == TYPE_SWITCH) {
    parameter_list_step(state, row, 1, now_ns);
    return LIST_DONE;
  }
  list->grabbed = x <= box->bar_right;
  parameter_list_drag(list, state, box, x, now_ns);
  return LIST_DONE;
}

void parameter_list_drag(struct parameter_list *list, struct live_state *state, const struct list_box *box, float x,
                         int64_t now_ns) {
  const struct list_row *row = parameter_list_chosen(list);
  if (row && list->grabbed)
    set_by_bar(state, *row, box, x, now_ns);
}

void parameter_list_release(struct parameter_list *list) {
  list->grabbed = false;
}
