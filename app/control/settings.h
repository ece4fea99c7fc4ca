/* What the engine follows while it runs: values, and the fade that leads from one blend of prompts to the next. */
#ifndef APP_CONTROL_SETTINGS_H
#define APP_CONTROL_SETTINGS_H

#include <stdbool.h>

#include "app/control/fade.h"
#include "app/control/parameters.h"
#include "unet/base/maps.h"
#include "unet/engine.h"
#include "unet/base/guidance.h"

/* A plain value: the engine thread takes a copy before each frame. */
struct settings {
  struct parameters values;
  struct fade fade;  /* follows values.shown_prompt and values.blend */
  int64_t walked_ns; /* when values.seed_position was up to date; 0: never yet */
};

/* To has a value, if only zeros. Texts that are the same are left, for they are most of the bytes. */
void settings_copy(struct settings *to, const struct settings *from);
/* From these values, without marks and with no fade on its way. */
void settings_begin(struct settings *settings, const struct parameters *values);

/* The fade turns to what values say at time now. */
void settings_turn(struct settings *settings, int64_t now_ns);
/* What is marked in changes, at time now. */
void settings_apply(struct settings *settings, const struct parameters *changes, int64_t now_ns);

/* Each prompt's part of the picture that values ask for; they add up to 1. */
void values_shares(const struct parameters *values, float shares[SLOT_PRESETS]);

/* Where a walk from seed to seed has come to after so many seconds. */
double values_seed_position(const struct parameters *values, double seconds);

/* values.seed_position walks on until time now; while paused it stands. */
void settings_walk(struct settings *settings, int64_t now_ns);

/* Whether they are others later though nobody changes them: a fade is on its way, or the seed walks. */
bool settings_moves(const struct settings *settings, int64_t now_ns);

/* What the engine is told for a frame. */
void settings_controls(const struct settings *settings, int64_t now_ns, struct controls *controls);
/* A bit for each control that there is; for each of these that is switched on. */
unsigned values_controls_there(const struct parameters *values);
unsigned values_controls_on(const struct parameters *values);
/* Of the control of that number, from 1: how many it has of what keys may change, and which. */
enum { CONTROL_VALUES_MAX = 4 + MAP_PARAMS };
int values_of_control(const struct parameters *values, int number, enum parameter list[CONTROL_VALUES_MAX]);
/* One of these as it acts: what suits the map where nobody has set it. *step: that a key changes it by; may be NULL. */
double values_control_number(const struct parameters *values, enum parameter id, int number, double *step);
bool values_is_control(enum parameter id);
/* A number of any parameter as it acts. */
double values_number(const struct parameters *values, enum parameter id, int index);

/* Without a fade. */
void values_controls(const struct parameters *values, struct controls *controls);

/* The handle that these values want, of an engine that does not embed guidance: without a further row a scale of 1 is
 * guidance as well, so that leaving it takes no other handle. */
enum guidance_mode values_guidance(const struct parameters *values);

/* Whether a frame at one moment would be the same picture at another: values, fade and the texts in use. The controls
 * are those of the moment. The step count is not looked at. */
struct moment {
  struct settings settings;
  struct controls controls;
};
void moment_copy(struct moment *to, const struct moment *from); /* as settings_copy */
bool moment_equal(const struct moment *a, const struct moment *b);

/* Why a negative prompt that is given does nothing with such a handle; NULL: it acts, or there is none. */
const char *values_negative_idle(const struct parameters *values, const struct engine_info *info,
                                 const struct prepared_info *prepared);

/* The text that belongs into a slot of the engine; NULL: none. */
const char *values_slot_text(const struct parameters *values, int slot);

#endif
