/* Commands that select a model, LoRA, control, VAE or style picture from those that were given on the command line. */
#include "app/control/keys_impl.h"

#include <math.h>
#include <string.h>

#include "unet/base/text.h"

/* Returns the number of the LoRA that the weight keys change, from 1. All LoRAs share the two weight keys; a third key
 * selects the LoRA. Returns 0 after a notice if there is no LoRA. */
static int chosen_lora(struct live_state *state, int64_t now_ns) {
  if (parameters_text(&state->settings.values, PARAMETER_LORA, 1))
    return state->lora ? state->lora : 1;
  live_notice(state, now_ns, "there is no LoRA: --lora FILE gives one");
  return 0;
}

static void tell_lora(struct live_state *state, int index, int64_t now_ns) {
  const char *path = parameters_text(&state->settings.values, PARAMETER_LORA, index);
  live_notice(state, now_ns, "LoRA %d, %s: %.2f", index, text_last_part(path),
              parameters_number(&state->settings.values, PARAMETER_LORA_WEIGHT, index));
}

void run_next_lora(struct live_state *state, const struct command_call *call) {
  int index = chosen_lora(state, call->now_ns);
  if (!index)
    return;
  bool last = index == ADAPTERS_MAX || !parameters_text(&state->settings.values, PARAMETER_LORA, index + 1);
  state->lora = last ? 1 : index + 1;
  state->last_lora = (struct last_choice){0};
  tell_lora(state, state->lora, call->now_ns);
}

void run_lora_weight(struct live_state *state, const struct command_call *call) {
  int index = chosen_lora(state, call->now_ns);
  if (!index)
    return;
  parameters_add(&state->settings.values, PARAMETER_LORA_WEIGHT, index, call->value);
  tell_lora(state, index, call->now_ns);
}

/* Returns the number of the control that the control keys change, from 1. All controls share these keys; other keys
 * select the control, and which of its values these keys change. Returns 0 after a notice if there is no control. */
static int chosen_control(struct live_state *state, int64_t now_ns) {
  if (state->settings.values.control[0])
    return state->control ? state->control : 1;
  live_notice(state, now_ns, "there is no control: --control KIND gives one");
  return 0;
}

static void tell_control(struct live_state *state, int number, int64_t now_ns) {
  const struct parameters *values = &state->settings.values;
  enum parameter list[CONTROL_VALUES_MAX];
  int count = values_of_control(values, number, list), i = count ? state->control_value % count : 0;
  const char *word = map_word((enum map_kind)(values->control[number - 1] - 1));
  if (count)
    live_notice(state, now_ns, "control %d, %s: %s %.*f", number, word, strrchr(parameter_row(list[i])->name, '.') + 1,
                parameter_row(list[i])->decimals, values_control_number(values, list[i], number, NULL));
  else
    live_notice(state, now_ns, "control %d, %s", number, word);
}

void run_next_control(struct live_state *state, const struct command_call *call) {
  int number = chosen_control(state, call->now_ns);
  if (!number)
    return;
  bool last = number == CONTROLS_MAX || !state->settings.values.control[number];
  state->control = last ? 1 : number + 1;
  state->control_value = 0;
  if (state->settings.values.show != SHOW_PICTURE)
    live_set(state, PARAMETER_SHOW_CONTROL, state->control, call->now_ns);
  tell_control(state, state->control, call->now_ns);
}

void run_switch_control(struct live_state *state, const struct command_call *call) {
  int number = chosen_control(state, call->now_ns);
  if (!number)
    return;
  bool on = !state->settings.values.control_on[number - 1];
  live_set_at(state, PARAMETER_CONTROL_ON, number, on, call->now_ns);
  live_notice(state, call->now_ns, "control %d, %s: %s", number,
              map_word((enum map_kind)(state->settings.values.control[number - 1] - 1)), on ? "in" : "out");
}

void run_next_control_value(struct live_state *state, const struct command_call *call) {
  int number = chosen_control(state, call->now_ns);
  if (!number)
    return;
  state->control_value++;
  tell_control(state, number, call->now_ns);
}

void run_control_value(struct live_state *state, const struct command_call *call) {
  struct parameters *values = &state->settings.values;
  enum parameter list[CONTROL_VALUES_MAX];
  int number = chosen_control(state, call->now_ns), count = number ? values_of_control(values, number, list) : 0;
  double step;
  if (!count)
    return;
  enum parameter id = list[state->control_value % count];
  double now = values_control_number(values, id, number, &step);
  if (id == PARAMETER_CONTROL_GUESS)
    live_set_at(state, id, number, call->value > 0, call->now_ns);
  else if (!live_set_at(state, id, number, now, call->now_ns))
    parameters_add(values, id, number, fmax(step * call->value, -now));
  tell_control(state, number, call->now_ns);
}

void run_show(struct live_state *state, const struct command_call *call) {
  int number = chosen_control(state, call->now_ns);
  if (!number)
    return;
  int show = (state->settings.values.show + 1) % (SHOW_BOTH + 1);
  live_set(state, PARAMETER_SHOW, show, call->now_ns);
  live_set(state, PARAMETER_SHOW_CONTROL, number, call->now_ns);
  if (show == SHOW_PICTURE)
    live_notice(state, call->now_ns, "the picture");
  else
    live_notice(state, call->now_ns, "control %d: the map%s", number, show == SHOW_BOTH ? " beside the picture" : "");
}

/* Returns the index of the choice that a key selects next: the one after the present choice, or the first if the
 * present text is the last choice or no choice. Stores in *last the choice before and the one selected. Skips a choice
 * that the engine refused in the last step, because the key would otherwise never get past it. */
static int choose_next(const struct live_state *state, enum parameter id, int index,
                       const struct parameter_choices *choices, struct last_choice *last) {
  const char *text = parameters_text(&state->settings.values, id, index);
  int now = 0, count = choices->count;
  for (int i = 0; text && i < count && !now; i++)
    if (!strcmp(choices->text[i], text))
      now = i + 1;
  int behind = last->to && last->from == now && last->to <= count ? last->to : now;
  int next = behind % count + 1;
  if (next == now)
    next = now % count + 1;
  *last = (struct last_choice){now, next};
  return next - 1;
}

static void set_choice(struct live_state *state, enum parameter id, const char *text, int64_t now_ns) {
  struct error err;
  if (parameters_set_text(&state->settings.values, id, 0, text, &err))
    live_notice(state, now_ns, "%s", err.message);
  else
    live_notice(state, now_ns, "%s %s", parameter_row(id)->name, text);
}

void run_next_model(struct live_state *state, const struct command_call *call) {
  const struct parameter_choices *models = state->models;
  if (!models || models->count < 2) {
    live_notice(state, call->now_ns, "there is no other model: several --model give some");
    return;
  }
  int next = choose_next(state, PARAMETER_MODEL, 0, models, &state->last_model);
  if (state->vaes && state->vaes->count == models->count)
    set_choice(state, PARAMETER_VAE, state->vaes->text[next], call->now_ns);
  set_choice(state, PARAMETER_MODEL, models->text[next], call->now_ns);
}

/* Selects the next VAE among those that --vae lists and the model's own. */
void run_next_vae(struct live_state *state, const struct command_call *call) {
  struct parameter_choices vaes = {.text = {PARAMETER_VAE_OWN}, .count = 1};
  for (int i = 0; state->vaes && i < state->vaes->count && vaes.count < CHOICES_MAX; i++)
    if (strcmp(state->vaes->text[i], PARAMETER_VAE_OWN))
      vaes.text[vaes.count++] = state->vaes->text[i];
  if (vaes.count == 1)
    live_notice(state, call->now_ns, "there is no other VAE: --vae gives one");
  else
    set_choice(state, PARAMETER_VAE, vaes.text[choose_next(state, PARAMETER_VAE, 0, &vaes, &state->last_vae)],
               call->now_ns);
}

static bool is_elsewhere(const struct parameters *values, enum parameter id, int index, const char *file) {
  for (int i = 1; i <= parameter_instances(id); i++) {
    const char *other = parameters_text(values, id, i);
    if (i != index && other && !strcmp(other, file))
      return true;
  }
  return false;
}

/* Returns the next of `files` that no other instance of the parameter (lora or style) uses; NULL: there is no such file
 * except the present one. */
static const char *next_file(const struct live_state *state, enum parameter id, int index,
                             const struct parameter_choices *files, struct last_choice *last) {
  const struct parameters *values = &state->settings.values;
  struct parameter_choices free = {.count = 0};
  for (int i = 0; files && i < files->count; i++)
    if (!is_elsewhere(values, id, index, files->text[i]))
      free.text[free.count++] = files->text[i];
  const char *now = parameters_text(values, id, index);
  const char *next = free.count ? free.text[choose_next(state, id, index, &free, last)] : now;
  return next && now && !strcmp(now, next) ? NULL : next;
}

/* Replaces the file of the LoRA that the weight keys change by the next file that is not in use. */
void run_other_lora(struct live_state *state, const struct command_call *call) {
  struct error err;
  int index = state->lora ? state->lora : 1;
  const char *next = next_file(state, PARAMETER_LORA, index, state->loras, &state->last_lora);
  if (!next)
    live_notice(state, call->now_ns, "there is no other LoRA: --spare-lora FILE gives one");
  else if (parameters_set_text(&state->settings.values, PARAMETER_LORA, index, next, &err))
    live_notice(state, call->now_ns, "%s", err.message);
  else
    tell_lora(state, index, call->now_ns);
}

/* Returns true if an IP-Adapter is open, or the model has one of its own, which is opened with the first style
 * picture. */
static bool has_ip_adapter(struct live_state *state, int64_t now_ns) {
  const char *text = parameters_text(&state->settings.values, PARAMETER_IP_ADAPTER, 0);
  bool has = state->own_adapter || (text && strcmp(text, PARAMETER_IP_ADAPTER_OWN));
  if (!has)
    live_notice(state, now_ns, "there is no IP-Adapter: --ip-adapter FILE gives one");
  return has;
}

void run_take_style(struct live_state *state, const struct command_call *call) {
  if (!has_ip_adapter(state, call->now_ns))
    return;
  state->styles_asked++;
  live_notice(state, call->now_ns, "this frame is the style now: %.2f",
              parameters_number(&state->settings.values, PARAMETER_STYLE_WEIGHT, 1));
}

/* Replaces the file of style[1] by the next file that is not in use. */
void run_other_style(struct live_state *state, const struct command_call *call) {
  struct parameters *values = &state->settings.values;
  struct error err;
  if (!has_ip_adapter(state, call->now_ns))
    return;
  const char *next = next_file(state, PARAMETER_STYLE, 1, state->styles, &state->last_style);
  if (!next)
    live_notice(state, call->now_ns, "there is no other style picture: --spare-style PICTURE gives one");
  else if (parameters_set_text(values, PARAMETER_STYLE, 1, next, &err))
    live_notice(state, call->now_ns, "%s", err.message);
  else
    live_notice(state, call->now_ns, "style 1, %s: %.2f", text_last_part(next),
                parameters_number(values, PARAMETER_STYLE_WEIGHT, 1));
}
