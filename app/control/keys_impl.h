/* The functions in keys_choose.c that run commands for selecting models, LoRAs, controls, VAEs and styles, and those in
 * keys_clip.c for sources and files; the table in keys.c refers to them. Each has the type of command_entry.run: it
 * changes the state and may show a notice. */
#ifndef APP_CONTROL_KEYS_IMPL_H
#define APP_CONTROL_KEYS_IMPL_H

#include "app/control/keys.h"

void run_next_lora(struct live_state *state, const struct command_call *call);
void run_lora_weight(struct live_state *state, const struct command_call *call);
void run_next_control(struct live_state *state, const struct command_call *call);
void run_switch_control(struct live_state *state, const struct command_call *call);
void run_next_control_value(struct live_state *state, const struct command_call *call);
void run_control_value(struct live_state *state, const struct command_call *call);
void run_show(struct live_state *state, const struct command_call *call);
void run_next_model(struct live_state *state, const struct command_call *call);
void run_next_vae(struct live_state *state, const struct command_call *call);
void run_other_lora(struct live_state *state, const struct command_call *call);
void run_take_style(struct live_state *state, const struct command_call *call);
void run_other_style(struct live_state *state, const struct command_call *call);

void run_source(struct live_state *state, const struct command_call *call);
void run_cue_source(struct live_state *state, const struct command_call *call);
void run_take_source(struct live_state *state, const struct command_call *call);
void run_seek(struct live_state *state, const struct command_call *call);
void run_seek_start(struct live_state *state, const struct command_call *call);
void run_mark(struct live_state *state, const struct command_call *call);
void run_clear_marks(struct live_state *state, const struct command_call *call);
void run_next_loop(struct live_state *state, const struct command_call *call);

/* Sets parameter `to` to the number in parameter `cue`, such as that of the cued source, and then `cue` to 0. If `cue`
 * is 0 already, shows the notice `none` instead. */
void take_cued(struct live_state *state, enum parameter cue, enum parameter to, const char *none, int64_t now_ns);

#endif
