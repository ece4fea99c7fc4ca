#include "app/control/glide.h"

#include <math.h>
#include <string.h>

/* Seeds count as near if seed + seed-position changes by at most this much in the glide. The glide then moves
 * seed-position steadily, so that the noise passes through all positions in between. */
static const double seeds_most = 1;

/* Returns the values that contain the text of this prompt (number from 1) at the glide's end: the new values if they
 * set that text, otherwise the old ones. */
static const struct parameters *text_at_end(const struct glide *glide, int prompt) {
  return parameters_marked(&glide->to, PARAMETER_PROMPT, prompt) ? &glide->to : &glide->from;
}

/* Adds to `changes` the texts that an earlier glide has not set yet, unless `changes` sets these texts itself. */
static void add_texts(const struct glide *glide, struct parameters *changes) {
  struct error ignored;
  for (int i = 1; glide->state >= GLIDE_GOES && i <= SLOT_PRESETS; i++)
    if (!parameters_marked(changes, PARAMETER_PROMPT, i))
      parameters_set_text(changes, PARAMETER_PROMPT, i, parameters_text(text_at_end(glide, i), PARAMETER_PROMPT, i),
                          &ignored);
}

void glide_set(struct glide *glide, struct parameters *changes, int64_t begin_ns, double seconds) {
  add_texts(glide, changes);
  glide->to = *changes;
  glide->begin_ns = begin_ns;
  glide->length_ns = (int64_t)(seconds * 1e9);
  glide->state = GLIDE_WAITS;
  glide->halfway = false;
}

/* --- prompts during a glide (gradual change): their texts, weights and slots (storage for encoded texts) --- */

static bool is_of_prompts(enum parameter id) {
  return id == PARAMETER_PROMPT || id == PARAMETER_BLEND || id == PARAMETER_SHOWN_PROMPT;
}

static void set_text(struct settings *settings, int prompt, const struct parameters *from, int text_of) {
  struct error ignored;
  parameters_set_text(&settings->values, PARAMETER_PROMPT, prompt, parameters_text(from, PARAMETER_PROMPT, text_of),
                      &ignored);
}

/* Returns the number (from 1) of a prompt that is not shown now or at the glide's end, and whose slot (storage for an
 * encoded prompt) contains no other prompt's text. Returns 0 if there is none. */
static int find_free(const struct glide *glide, const float now[SLOT_PRESETS]) {
  for (int place = SLOT_PRESETS; place >= 1; place--) {
    bool taken = now[place - 1] > 0 || glide->shares[place - 1] > 0;
    for (int i = 0; i < SLOT_PRESETS; i++)
      taken = taken || (glide->place[i] == place && i != place - 1);
    if (!taken)
      return place;
  }
  return 0;
}

/* Finds slots for the new texts of prompts that will be shown. A prompt that is shown now needs another slot, whose
 * text is not shown, so that old and new text can be cross-faded. glide->place[] gets the slots, which get the texts.
 * If no slot is free, nothing is set yet. */
static void place_prompts(struct glide *glide, struct settings *settings, int64_t now_ns) {
  float now[SLOT_PRESETS];
  fade_apply(&settings->fade, now_ns, now);
  for (int i = 0; i < SLOT_PRESETS; i++) {
    glide->place[i] = i + 1;
    glide->was_shown[i] = now[i] > 0;
  }
  for (int i = 0; i < SLOT_PRESETS; i++) {
    bool other = parameters_marked(&glide->to, PARAMETER_PROMPT, i + 1) &&
                 !parameters_same(&glide->to, &settings->values, PARAMETER_PROMPT, i + 1);
    if (glide->shares[i] <= 0 || !other)
      continue;
    int free = now[i] > 0 ? find_free(glide, now) : i + 1;
    if (free)
      set_text(settings, free, &glide->to, i + 1);
    glide->place[i] = free ? free : i + 1;
  }
}

/* Starts a fade of length_ns to a blend of prompts with the weights `shares`, and stores the weights in the parameter
 * blend. shares[i]: weight of the text in the slot (storage for an encoded prompt) of prompt i + 1. */
static void show(struct settings *settings, const float shares[SLOT_PRESETS], int64_t now_ns, int64_t length_ns) {
  struct error ignored;
  for (int i = 0; i < SLOT_PRESETS; i++)
    parameters_set_number(&settings->values, PARAMETER_BLEND, i + 1, (double)shares[i], &ignored);
  fade_slide(&settings->fade, shares, now_ns, length_ns);
}

static void begin_prompts(struct glide *glide, struct settings *settings, int64_t now_ns) {
  float shares[SLOT_PRESETS] = {0};
  place_prompts(glide, settings, now_ns);
  for (int i = 0; i < SLOT_PRESETS; i++)
    shares[glide->place[i] - 1] += glide->shares[i];
  show(settings, shares, now_ns, glide->length_ns);
}

/* Returns true if the weights of prompts are still those that the glide has set. */
static bool has_prompts(const struct glide *glide, const struct parameters *values) {
  for (int i = 1; i <= SLOT_PRESETS; i++)
    if (!parameters_same(values, &glide->last.values, PARAMETER_BLEND, i))
      return false;
  return parameters_same(values, &glide->last.values, PARAMETER_SHOWN_PROMPT, 0);
}

/* Sets the texts of prompts that the glide changes. at_end: true: the glide is over; false: it begins. Both times, a
 * slot that holds another prompt's text during the glide is left out. At the beginning, a prompt whose new text is in
 * another slot is left out too, and so is one that fades away; both get their new texts at the end. */
static void set_texts(struct glide *glide, struct settings *settings, bool at_end) {
  for (int i = 0; i < SLOT_PRESETS; i++) {
    bool lent = false;
    for (int j = 0; j < SLOT_PRESETS; j++)
      lent = lent || (j != i && glide->place[j] == i + 1);
    bool later = glide->place[i] != i + 1 || (glide->was_shown[i] && glide->shares[i] <= 0);
    if (parameters_marked(&glide->to, PARAMETER_PROMPT, i + 1) && !lent && (at_end || !later))
      set_text(settings, i + 1, &glide->to, i + 1);
  }
}

/* During the glide, some slots (storage for encoded prompts) contained another prompt's text. Sets each of them back to
 * the text of its own prompt. */
static void return_places(struct glide *glide, struct settings *settings) {
  for (int i = 0; i < SLOT_PRESETS; i++) {
    int lent = glide->place[i];
    if (lent != i + 1)
      set_text(settings, lent, text_at_end(glide, lent), lent);
  }
}

/* Sets the texts and weights of prompts to the new values. If a prompt's new text was in another slot, both slots
 * contain it now. The picture does not change during the fade between the two slots, while the engine encodes the text
 * in the prompt's own slot. */
static void end_prompts(struct glide *glide, struct settings *settings, int64_t now_ns) {
  bool moved = false;
  set_texts(glide, settings, true);
  for (int i = 0; i < SLOT_PRESETS; i++)
    moved = moved || glide->place[i] != i + 1;
  if (has_prompts(glide, &settings->values)) {
    struct parameters *values = &settings->values;
    bool single = parameters_marked(&glide->to, PARAMETER_SHOWN_PROMPT, 0);
    for (int i = 1; i <= SLOT_PRESETS; i++)
      parameters_take(values, parameters_marked(&glide->to, PARAMETER_BLEND, i) ? &glide->to : &glide->from,
                      PARAMETER_BLEND, i);
    parameters_take(values, single ? &glide->to : &glide->from, PARAMETER_SHOWN_PROMPT, 0);
    fade_slide(&settings->fade, glide->shares, now_ns, (int64_t)FADE_MS * 1000000);
  }
  glide->settled_ns = now_ns + (int64_t)FADE_MS * 1000000;
  glide->state = moved ? GLIDE_SETTLES : GLIDE_NONE;
}

/* --- values that change gradually, and those that change when half of the glide's time has passed --- */

static double seed_place(const struct parameters *values) {
  return (double)values->seed + values->seed_position;
}

/* Returns true if the parameter seed-walk changes the noise before or after the glide. */
static bool walks(const struct glide *glide) {
  const struct parameters *from = &glide->from, *to = &glide->to;
  return from->seed_walk != 0 || (parameters_marked(to, PARAMETER_SEED_WALK, 0) && to->seed_walk != 0);
}

/* Returns true if the seeds at the glide's beginning and end differ so little that the noise passes through the seeds
 * between them (by the parameter seed-position). */
static bool is_near(const struct glide *glide) {
  return fabs(seed_place(&glide->to) - seed_place(&glide->from)) <= seeds_most;
}

static void set_number(struct settings *settings, enum parameter id, int index, double number) {
  struct error ignored;
  parameters_set_number(&settings->values, id, index, number, &ignored);
}

static void set_seed(struct settings *settings, int64_t seed, double position) {
  set_number(settings, PARAMETER_SEED, 0, (double)seed);
  set_number(settings, PARAMETER_SEED_POSITION, 0, position);
}

/* An earlier glide may have stopped between two seeds. Sets way_share, how far the noise is from the first of them to
 * the second (0 to 1), and way_end, the one to which it goes first (0: the first, 1: the second). That one is the
 * target seed, if it is one of the two, else the nearer one. */
static void find_way(struct glide *glide, const struct settings *settings) {
  const struct parameters *from = &glide->from, *to = &glide->to;
  int64_t target = to->seed + (int64_t)round(to->seed_position);
  glide->way_share = fmin(settings->seed_share, 1);
  glide->way_to = settings->seed_to;
  glide->way_end = glide->way_share >= 0.5;
  if (target == (int64_t)glide->way_to)
    glide->way_end = 1;
  else if (target == from->seed + (int64_t)floor(from->seed_position))
    glide->way_end = 0;
}

/* Sets the noise during a glide between distant seeds. part: fraction of the glide that has passed, 0 to 1. The noise
 * moves at constant speed in up to four steps:
 *
 * 1. if an earlier glide stopped between two seeds, to one of these;
 *
 * 2. along seed-position to the nearest whole seed;
 *
 * 3. straight to the whole seed nearest to the target;
 *
 * 4. along seed-position to the target. */
static void go_far(const struct glide *glide, struct settings *settings, double part) {
  const struct parameters *from = &glide->from, *to = &glide->to;
  bool on_way = glide->way_share > 0, other_end = on_way && glide->way_end;
  double rest = on_way ? glide->way_end - glide->way_share : 0;
  int64_t seed = other_end ? (int64_t)glide->way_to : from->seed;
  double position = other_end ? 0 : on_way ? floor(from->seed_position) : from->seed_position;
  double first = round(position), last = round(to->seed_position);
  double before = fabs(first - position), after = fabs(last - to->seed_position);
  double between = seed + (int64_t)first != to->seed + (int64_t)last;
  double way = part * (fabs(rest) + before + between + after);
  if (way < fabs(rest)) {
    set_seed(settings, from->seed, from->seed_position);
    settings->seed_to = glide->way_to;
    settings->seed_share = glide->way_share + copysign(way, rest);
    return;
  }
  way -= fabs(rest);
  if (way < before) {
    set_seed(settings, seed, position + copysign(way, first - position));
  } else if (way < before + between) {
    set_seed(settings, seed, first);
    settings->seed_to = (uint64_t)(to->seed + (int64_t)last);
    settings->seed_share = way - before;
  } else {
    set_seed(settings, to->seed, last + copysign(way - before - between, to->seed_position - last));
  }
}

/* Sets seed and seed-position to their values when the fraction `part` of the glide, 0 to 1, has passed. If seed-walk
 * changes the noise as well, seed and seed-position change once, when half of the glide's time has passed. */
static void set_noise(struct glide *glide, struct settings *settings, double part) {
  const struct parameters *from = &glide->from, *to = &glide->to;
  settings->seed_share = 0;
  if (part >= 1 || (walks(glide) && part >= 0.5 && !glide->halfway))
    set_seed(settings, to->seed, to->seed_position);
  else if (!walks(glide) && is_near(glide) && glide->way_share <= 0)
    set_seed(settings, from->seed, from->seed_position + part * (seed_place(to) - seed_place(from)));
  else if (!walks(glide))
    go_far(glide, settings, part);
}

/* Sets the noise, if the glide changes it. If somebody else has set a seed meanwhile, the glide leaves the noise alone
 * from then on. */
static void follow_noise(struct glide *glide, struct settings *settings, double part) {
  uint16_t *marks = glide->to.marks;
  bool same = parameters_same(&settings->values, &glide->last.values, PARAMETER_SEED, 0) &&
              (walks(glide) || parameters_same(&settings->values, &glide->last.values, PARAMETER_SEED_POSITION, 0));
  if (!marks[PARAMETER_SEED] && !marks[PARAMETER_SEED_POSITION])
    return;
  if (same) {
    set_noise(glide, settings, part);
    return;
  }
  settings->seed_share = 0;
  marks[PARAMETER_SEED] = marks[PARAMETER_SEED_POSITION] = 0;
}

/* True for parameters whose value is a position in a file. They do not change gradually, because positions between the
 * old and the new one have no use. */
static bool is_place(enum parameter id) {
  return id == PARAMETER_CLIP_POSITION || id == PARAMETER_CLIP_TIME_LEFT || id == PARAMETER_CLIP_IN ||
         id == PARAMETER_CLIP_OUT;
}

static bool is_number(enum parameter id) {
  const struct parameter_row *row = parameter_row(id);
  return !is_place(id) && row->type == TYPE_REAL && row->need != NEED_START && row->need != NEED_ENGINE &&
         row->need != NEED_PREPARATION;
}

/* Sets one value as it is when the fraction `part` of the glide, 0 to 1, has passed. */
static void set_value(struct glide *glide, struct settings *settings, enum parameter id, int index, double part) {
  double from = parameters_number(&glide->from, id, index), to = parameters_number(&glide->to, id, index);
  if (is_number(id)) {
    set_number(settings, id, index, part < 1 ? from + part * (to - from) : to);
  } else if (part >= 0.5 && !glide->halfway) {
    parameters_take(&settings->values, &glide->to, id, index);
    parameters_mark(&settings->values, id, index);
  }
}

static void set_values(struct glide *glide, struct settings *settings, double part) {
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++) {
    int first = parameter_row(id)->first;
    bool other = !is_of_prompts(id) && id != PARAMETER_SEED && id != PARAMETER_SEED_POSITION;
    for (int i = first; glide->to.marks[id] && other && i < first + parameter_instances(id); i++) {
      if (!parameters_marked(&glide->to, id, i))
        continue;
      if (!parameters_same(&settings->values, &glide->last.values, id, i))
        /* somebody else has set this value, so the glide leaves the value alone from now on */
        parameters_unmark(&glide->to, id, i);
      else
        set_value(glide, settings, id, i, part);
    }
  }
}

static void begin(struct glide *glide, struct settings *settings) {
  glide->from = settings->values;
  settings_copy(&glide->last, settings);
  parameters_apply(&glide->last.values, &glide->to);
  values_shares(&glide->last.values, glide->shares);
  if (!parameters_marked(&glide->to, PARAMETER_SEED, 0))
    glide->to.seed = settings->values.seed;
  if (!parameters_marked(&glide->to, PARAMETER_SEED_POSITION, 0))
    glide->to.seed_position = settings->values.seed_position;
  find_way(glide, settings);
  begin_prompts(glide, settings, glide->begin_ns);
  settings_copy(&glide->last, settings);
  glide->state = GLIDE_GOES;
}

static void go(struct glide *glide, struct settings *settings, int64_t now_ns) {
  double part = fmin(1, (double)(now_ns - glide->begin_ns) / (double)glide->length_ns);
  set_values(glide, settings, part);
  follow_noise(glide, settings, part);
  if (part >= 0.5 && !glide->halfway) {
    set_texts(glide, settings, false);
    glide->halfway = true;
  }
  if (part >= 1)
    end_prompts(glide, settings, now_ns);
  settings_copy(&glide->last, settings);
}

bool glide_follow(struct glide *glide, struct settings *settings, int64_t now_ns) {
  if (glide->state == GLIDE_WAITS && now_ns >= glide->begin_ns) {
    if (glide->length_ns > 0) {
      begin(glide, settings);
    } else {
      settings_apply(settings, &glide->to, now_ns);
      glide->state = GLIDE_NONE;
    }
  }
  if (glide->state == GLIDE_GOES)
    go(glide, settings, now_ns);
  if (glide->state == GLIDE_SETTLES && now_ns >= glide->settled_ns) {
    return_places(glide, settings);
    glide->state = GLIDE_NONE;
  }
  return glide->state != GLIDE_NONE;
}
