#include "app/control/settings.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

static_assert(offsetof(struct parameters, texts) % sizeof(struct parameter_text) < _Alignof(uint64_t),
              "texts alone come first");

static void copy_texts(struct parameters *to, const struct parameters *from) {
  enum { TEXTS = offsetof(struct parameters, texts) / sizeof(struct parameter_text) };
  struct parameter_text *texts = (struct parameter_text *)to;
  const struct parameter_text *others = (const struct parameter_text *)from;
  for (int i = 0; to->texts != from->texts && i < TEXTS; i++)
    if (texts[i].given != others[i].given || strcmp(texts[i].words, others[i].words))
      texts[i] = others[i];
}

void settings_copy(struct settings *to, const struct settings *from) {
  const size_t texts = offsetof(struct settings, values) + offsetof(struct parameters, texts);
  copy_texts(&to->values, &from->values);
  memcpy((char *)to + texts, (const char *)from + texts, sizeof *to - texts);
}

void settings_begin(struct settings *settings, const struct parameters *values) {
  float shares[SLOT_PRESETS];
  *settings = (struct settings){.values = *values};
  parameters_clear_marks(&settings->values);
  values_shares(values, shares);
  fade_begin(&settings->fade, shares);
}

void settings_turn(struct settings *settings, int64_t now_ns) {
  float shares[SLOT_PRESETS];
  values_shares(&settings->values, shares);
  fade_turn(&settings->fade, shares, now_ns);
}

void settings_apply(struct settings *settings, const struct parameters *changes, int64_t now_ns) {
  settings_walk(settings, now_ns);
  if (parameters_marked(changes, PARAMETER_SEED, 0) || parameters_marked(changes, PARAMETER_SEED_POSITION, 0))
    settings->seed_share = 0;
  parameters_apply(&settings->values, changes);
  settings_turn(settings, now_ns);
}

void values_shares(const struct parameters *values, float shares[SLOT_PRESETS]) {
  double sum = 0;
  for (int i = 0; i < SLOT_PRESETS; i++)
    sum += values->blend[i];
  for (int i = 0; i < SLOT_PRESETS; i++)
    shares[i] = sum > 0 ? (float)(values->blend[i] / sum) : i + SLOT_PRESET_1 == values->shown_prompt;
}

double values_seed_position(const struct parameters *values, double seconds) {
  const struct parameter_row *row = parameter_row(PARAMETER_SEED_POSITION);
  return fmin(row->max, fmax(row->min, values->seed_position + values->seed_walk * seconds));
}

void settings_walk(struct settings *settings, int64_t now_ns) {
  struct parameters *values = &settings->values;
  if (settings->walked_ns && !values->pause)
    values->seed_position = values_seed_position(values, (double)(now_ns - settings->walked_ns) * 1e-9);
  settings->walked_ns = now_ns;
}

bool settings_moves(const struct settings *settings, int64_t now_ns) {
  bool walks = settings->values.seed_walk != 0 && !settings->values.pause;
  return walks || !fade_is_over(&settings->fade, now_ns);
}

/* Two lists of the parameters of a control (a map or picture that steers frames): those that its network (ControlNet or
 * T2I-Adapter) uses, and those that the computation of its map (edges, depth, ...) uses. */
static const enum parameter of_network[] = {PARAMETER_CONTROL_WEIGHT, PARAMETER_CONTROL_START, PARAMETER_CONTROL_END,
                                            PARAMETER_CONTROL_GUESS};
#define OF_MAP(ID, ...) [MAP_VALUE_##ID] = PARAMETER_CONTROL_##ID,
static const enum parameter of_map[MAP_VALUES] = {MAP_VALUE_TABLE(OF_MAP)};
enum { OF_NETWORK = sizeof of_network / sizeof *of_network };

static enum map_kind kind_of(const struct parameters *values, int number) {
  int kind = values->control[number - 1];
  return kind ? (enum map_kind)(kind - 1) : MAP_KINDS;
}

int values_of_control(const struct parameters *values, int number, enum parameter list[CONTROL_VALUES_MAX]) {
  const struct map_parameter *map;
  int count = 0, maps = map_parameters(kind_of(values, number), &map);
  for (int i = 0; values->control_model[number - 1].given && i < OF_NETWORK; i++)
    list[count++] = of_network[i];
  for (int i = 0; i < maps; i++)
    list[count++] = of_map[map[i].value];
  return count;
}

bool values_is_control(enum parameter id) {
  bool found = false;
  for (int i = 0; i < OF_NETWORK; i++)
    found = found || id == of_network[i];
  for (int i = 0; i < MAP_VALUES; i++)
    found = found || id == of_map[i];
  return found;
}

double values_control_number(const struct parameters *values, enum parameter id, int number, double *step) {
  const struct map_parameter *map;
  int maps = map_parameters(kind_of(values, number), &map);
  double value = parameters_number(values, id, number), by = id == PARAMETER_CONTROL_GUESS ? 1 : 0.05;
  for (int i = 0; i < maps; i++)
    if (of_map[map[i].value] == id) {
      value = value < 0 ? (double)map[i].standard : fmin(fmax(value, (double)map[i].least), (double)map[i].most);
      by = (double)map[i].step;
    }
  if (step)
    *step = by;
  return value;
}

double values_number(const struct parameters *values, enum parameter id, int index) {
  return values_is_control(id) ? values_control_number(values, id, index, NULL) : parameters_number(values, id, index);
}

unsigned values_controls_there(const struct parameters *values) {
  unsigned there = 0;
  for (int i = 0; i < CONTROLS_MAX; i++)
    there |= (unsigned)(values->control[i] != 0) << i;
  return there;
}

unsigned values_controls_on(const struct parameters *values) {
  unsigned on = 0;
  for (int i = 0; i < CONTROLS_MAX; i++)
    on |= (unsigned)values->control_on[i] << i;
  return on & values_controls_there(values);
}

int values_bank_room(const struct parameters *values, int least) {
  int room = parameters_marked(values, PARAMETER_BANK_ROOM, 0) ? (int)values->bank_room : least;
  return room > values->bank ? room : (int)values->bank;
}

/* Bits that stand for the self-attention layers of the network: bit i is for the layers at 1/2^i of the picture's width
 * and height. The words of BANK_LAYER_WORDS are translated to such bits. */
enum { AT_8 = 1 << 3, AT_16 = 1 << 4, AT_32 = 1 << 5, AT_64 = 1 << 6 };
static const unsigned bank_layers[] = {
    0, AT_8, AT_16, AT_32, AT_64, AT_8 | AT_16, AT_16 | AT_32, AT_32 | AT_64, AT_8 | AT_16 | AT_32, (1 << 10) - 1};

unsigned values_bank_layers(const struct parameters *values, int room) {
  return room ? bank_layers[values->bank_layers] : 0;
}

int values_bank_layers_word(unsigned layers) {
  for (int i = 0; i < (int)(sizeof bank_layers / sizeof *bank_layers); i++)
    if (bank_layers[i] == layers)
      return i;
  return 0;
}

/* Fills in the values of control number i, from 0. A control that is switched off gets the weight 0, because the handle
 * (prepared size, steps and so on) that the engine uses may still contain the control's network until a new handle is
 * ready. */
static void fill_control(const struct parameters *values, int i, struct control_values *control) {
  const struct map_parameter *map;
  int maps = map_parameters(kind_of(values, i + 1), &map);
  *control = (struct control_values){.weight = values->control_on[i] ? (float)values->control_weight[i] : 0,
                                     .start = (float)values->control_start[i],
                                     .end = (float)values->control_end[i],
                                     .guess = values->control_guess[i]};
  for (int j = 0; j < maps; j++)
    control->param[j] = (float)values_control_number(values, of_map[map[j].value], i + 1, NULL);
}

void values_controls(const struct parameters *values, struct controls *controls) {
  *controls = (struct controls){
      .prompt = (int)values->shown_prompt,
      .strength = (float)values->strength,
      .guidance = values->guidance_mode == GUIDANCE_NONE ? 1 : (float)values->guidance,
      .image_guidance = (float)values->image_guidance,
      .guidance_rescale = (float)values->guidance_rescale,
      .delta = (float)values->delta,
      .eta = (float)values->eta,
      .mix = (float)values->mix,
      .detail = parameters_marked(values, PARAMETER_DETAIL, 0) ? (float)values->detail : -1,
      .bank = (int)values->bank,
      .bank_every = (int)values->bank_every,
      .seed = (uint64_t)values->seed,
      .seed_position = values->seed_position,
      .carried = values->noise == NOISE_CARRIED,
      .feedback = (float)values->feedback,
  };
  controls->show = (enum show)values->show;
  controls->show_control = (int)values->show_control - 1;
  for (int i = 0; i < CONTROLS_MAX; i++)
    fill_control(values, i, &controls->control[i]);
  for (int i = 0; i < ADAPTERS_MAX; i++)
    controls->adapter[i] = (float)values->lora_weight[i];
  for (int i = 0; i < STYLES_MAX; i++)
    controls->style[i] =
        (struct control_style){(float)values->style_weight[i], (enum style_layers)values->style_layers[i]};
  for (int i = 0; i < SLOT_PRESETS; i++)
    controls->blend[i] = (float)values->blend[i];
}

/* Stores in controls the prompts whose share (weight in the blend) is above 0, with these shares. If there is only one
 * such prompt, nothing is blended. */
static void set_shares(const float shares[SLOT_PRESETS], struct controls *controls) {
  int count = 0;
  for (int i = 0; i < SLOT_PRESETS; i++)
    if (shares[i] > 0) {
      controls->prompt = SLOT_PRESET_1 + i;
      count++;
    }
  for (int i = 0; i < SLOT_PRESETS; i++)
    controls->blend[i] = count > 1 ? shares[i] : 0;
}

void settings_controls(const struct settings *settings, int64_t now_ns, struct controls *controls) {
  float shares[SLOT_PRESETS];
  values_controls(&settings->values, controls);
  controls->seed_to = settings->seed_to;
  controls->seed_share = settings->seed_share;
  fade_apply(&settings->fade, now_ns, shares);
  set_shares(shares, controls);
}

void values_follow_engine(struct parameters *values, const struct engine_info *info,
                          const struct prepared_info *prepared) {
  if (!parameters_marked(values, PARAMETER_STRENGTH, 0) && (info->image_conditioned || values->text_to_image))
    values->strength = 1;
  if (!parameters_marked(values, PARAMETER_ETA, 0))
    values->eta = prepared->eta;
  values->size = (struct parameter_size){prepared->shape.width, prepared->shape.height};
  values->steps = prepared->shape.steps;
  values->canvas = (int)prepared->shape.canvas;
  values->bank_room = prepared->shape.bank_room;
}

void values_follow_styles(struct parameters *values, float detail) {
  if (!parameters_marked(values, PARAMETER_DETAIL, 0))
    values->detail = (double)detail;
}

enum guidance_mode values_guidance(const struct parameters *values) {
  enum guidance_mode mode = (enum guidance_mode)values->guidance_mode;
  return mode != GUIDANCE_SELF && values->guidance == 1 ? GUIDANCE_NONE : mode;
}

void values_shape(const struct parameters *values, struct engine_shape *shape) {
  int room = values_bank_room(values, 0);
  *shape = (struct engine_shape){
      .width = values->size.width,
      .height = values->size.height,
      .sampler = (enum sampler)values->sampler,
      .spacing = (enum spacing)values->spacing,
      .steps = parameters_marked(values, PARAMETER_STEPS, 0) ? (int)values->steps : 0,
      .text_to_image = values->text_to_image,
      .guidance = values_guidance(values),
      .stream_batch = values->stream_batch,
      .bank_room = room,
      .bank_layers = values_bank_layers(values, room),
      .controls = values_controls_on(values),
      .canvas = parameters_marked(values, PARAMETER_CANVAS, 0) ? (enum canvas_mode)values->canvas : CANVAS_FIXED,
      .carried = values->noise == NOISE_CARRIED,
      .feedback = values->feedback > 0,
      .styles = values->ip_adapter.given,
  };
}

bool shapes_equal(const struct engine_shape *a, const struct engine_shape *b) {
  return a->width == b->width && a->height == b->height && a->aspect == b->aspect && a->sampler == b->sampler &&
         a->spacing == b->spacing && a->steps == b->steps && a->guidance == b->guidance && a->chunks == b->chunks &&
         a->stream_batch == b->stream_batch && a->controls == b->controls && a->canvas == b->canvas &&
         a->bank_room == b->bank_room && a->bank_layers == b->bank_layers && a->carried == b->carried &&
         a->feedback == b->feedback;
}

const char *values_negative_idle(const struct parameters *values, const struct engine_info *info,
                                 const struct prepared_info *prepared) {
  if (!values->negative.given || prepared->rows > 1)
    return NULL;
  if (info->has_guidance_embedding)
    return "on this model: its guidance is embedded";
  if (info->refuses_guidance)
    return "on this model: it was trained without guidance";
  if (prepared->shape.guidance == GUIDANCE_SELF)
    return "with --guidance-mode self";
  return values->guidance_mode == GUIDANCE_NONE ? "with --guidance-mode none" : "without --guidance above 1";
}

const char *values_slot_text(const struct parameters *values, int slot) {
  if (slot == SLOT_NEGATIVE)
    return parameters_text(values, PARAMETER_NEGATIVE, 0);
  return slot >= SLOT_PRESET_1 && slot < SLOT_PRESET_1 + SLOT_PRESETS
             ? parameters_text(values, PARAMETER_PROMPT, slot - SLOT_PRESET_1 + 1)
             : NULL;
}

static bool text_equal(const struct moment *a, const struct moment *b, int slot) {
  const char *first = values_slot_text(&a->settings.values, slot),
             *second = values_slot_text(&b->settings.values, slot);
  return first && second ? !strcmp(first, second) : first == second;
}

void moment_copy(struct moment *to, const struct moment *from) {
  settings_copy(&to->settings, &from->settings);
  to->controls = from->controls;
}

bool moment_equal(const struct moment *a, const struct moment *b) {
  const struct controls *first = &a->controls, *second = &b->controls;
  bool equal = parameters_equal(&a->settings.values, &b->settings.values, 1u << NEED_FRAME | 1u << NEED_ROWS) &&
               first->guidance == second->guidance && first->prompt == second->prompt &&
               first->seed_to == second->seed_to && first->seed_share == second->seed_share &&
               first->carried == second->carried && first->feedback == second->feedback &&
               text_equal(a, b, first->prompt) && text_equal(a, b, SLOT_NEGATIVE);
  for (int i = 0; i < SLOT_PRESETS; i++)
    equal =
        equal && first->blend[i] == second->blend[i] && (first->blend[i] <= 0 || text_equal(a, b, SLOT_PRESET_1 + i));
  return equal;
}
