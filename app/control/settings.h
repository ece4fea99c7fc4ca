/* Settings are all that the engine needs for a frame and that may change: the parameters' values, and the fade that
 * leads from one blend of prompts to the next. */
#ifndef APP_CONTROL_SETTINGS_H
#define APP_CONTROL_SETTINGS_H

#include <stdbool.h>

#include "app/control/fade.h"
#include "app/control/parameters.h"
#include "unet/base/maps.h"
#include "unet/engine.h"
#include "unet/base/guidance.h"

/* A plain value. The engine thread takes a copy before each frame. */
struct settings {
  struct parameters values;
  struct fade fade;  /* leads to values.shown_prompt or values.blend */
  int64_t walked_ns; /* time up to which values.seed_position has walked; 0: it has not yet begun */
};

/* Copies settings. *to must be initialised, if only with zeros: texts that are equal are not copied, because texts are
 * most of the bytes. */
void settings_copy(struct settings *to, const struct settings *from);
/* Starts with these values, without marks and with no fade under way. */
void settings_begin(struct settings *settings, const struct parameters *values);

/* Starts a fade to the blend that the values ask for, at time now. */
void settings_turn(struct settings *settings, int64_t now_ns);
/* Copies the values that are marked in changes, and starts the fade that they ask for, at time now. */
void settings_apply(struct settings *settings, const struct parameters *changes, int64_t now_ns);

/* Computes each prompt's share in the picture that the values ask for. The shares add up to 1. */
void values_shares(const struct parameters *values, float shares[SLOT_PRESETS]);

/* Returns the seed position that a walk reaches after so many seconds. */
double values_seed_position(const struct parameters *values, double seconds);

/* Lets values.seed_position walk on until time now. It does not move while the values say pause. */
void settings_walk(struct settings *settings, int64_t now_ns);

/* Returns true if the picture will change although nobody changes a value: a fade is under way, or the seed walks. */
bool settings_moves(const struct settings *settings, int64_t now_ns);

/* Fills in the controls of a frame at time now. */
void settings_controls(const struct settings *settings, int64_t now_ns, struct controls *controls);
/* Return a bit for each control that is given, and for each that is given and switched on. */
unsigned values_controls_there(const struct parameters *values);
unsigned values_controls_on(const struct parameters *values);
/* Lists the parameters of a control (number from 1) that keys may change. Returns their number. */
enum { CONTROL_VALUES_MAX = 4 + MAP_PARAMS };
int values_of_control(const struct parameters *values, int number, enum parameter list[CONTROL_VALUES_MAX]);
/* Returns the value of a control's parameter that is in effect: if nobody has set it, the one that suits the kind of
 * map. *step gets the amount that a key changes it by; step may be NULL. */
double values_control_number(const struct parameters *values, enum parameter id, int number, double *step);
bool values_is_control(enum parameter id);
/* Returns the number in effect of any parameter. */
double values_number(const struct parameters *values, enum parameter id, int index);

/* Fills in the controls of a frame without a fade. */
void values_controls(const struct parameters *values, struct controls *controls);

/* Returns the guidance mode of the handle that these values need, for engines without guidance embedding. A scale of 1
 * needs no guidance, except in the mode self: that computes no further row, so its handle is kept, and a change of the
 * scale from 1 needs no other handle. */
enum guidance_mode values_guidance(const struct parameters *values);

/* All that the picture of a frame depends on, at one moment: values, fade and texts. controls are those of that moment.
 * moment_equal returns true if a frame would be the same picture at both moments; it ignores the step count. */
struct moment {
  struct settings settings;
  struct controls controls;
};
/* Copies like settings_copy: *to must be initialised. */
void moment_copy(struct moment *to, const struct moment *from);
bool moment_equal(const struct moment *a, const struct moment *b);

/* Returns the reason why a given negative prompt has no effect with this handle, in words, or NULL if it has an effect
 * or is not given. */
const char *values_negative_idle(const struct parameters *values, const struct engine_info *info,
                                 const struct prepared_info *prepared);

/* Returns the text that belongs into a slot of the engine, or NULL if there is none. */
const char *values_slot_text(const struct parameters *values, int slot);

#endif
