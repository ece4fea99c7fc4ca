/* Settings are the values that the engine needs for a frame and that can change while frames run: the parameters and
 * the fade between prompts. */
#ifndef APP_CONTROL_SETTINGS_H
#define APP_CONTROL_SETTINGS_H

#include <stdbool.h>

#include "app/control/fade.h"
#include "app/control/parameters.h"
#include "unet/base/maps.h"
#include "unet/engine.h"
#include "unet/base/guidance.h"

/* The settings, a plain value. Before each frame the engine thread makes a copy with settings_copy. */
struct settings {
  struct parameters values;
  struct fade fade; /* the fade to the prompt of values.shown_prompt, or to the blend of values.blend */
  /* time (platform_now_ns) at which seed_walk last moved values.seed_position; 0: seed_walk has not moved it yet */
  int64_t walked_ns;
  /* For a glide (gradual change of values, glide.h) that blends the noise of one seed into that of another. seed_to:
   * the other seed; seed_share: how far the noise has come, 0 to 1 (controls.seed_to, controls.seed_share), 0: no such
   * glide. Only glides set them. */
  uint64_t seed_to;
  double seed_share;
};

/* Copies settings. *to must be initialised, at least with zeros: the texts, which are most of the bytes, are copied
 * only if the two structs have different versions of them. */
void settings_copy(struct settings *to, const struct settings *from);
/* Initialises settings with the given values, none of them marked as set, and without a fade. */
void settings_begin(struct settings *settings, const struct parameters *values);

/* Starts a fade at time now_ns (platform_now_ns) from the prompts that are shown at that time to the prompts that
 * values.shown_prompt or values.blend name. */
void settings_turn(struct settings *settings, int64_t now_ns);
/* Copies to settings the values that are marked as set in `changes`, and marks them there, too. Starts a fade if other
 * prompts are to be shown than before. */
void settings_apply(struct settings *settings, const struct parameters *changes, int64_t now_ns);

/* Computes the share (weight) of each prompt in the picture from shown_prompt and blend, as if no fade were under way.
 * The shares add up to 1. */
void values_shares(const struct parameters *values, float shares[SLOT_PRESETS]);

/* Returns the value that the parameter seed-position will have after seed-walk has changed it for `seconds` more,
 * limited to the parameter's range. */
double values_seed_position(const struct parameters *values, double seconds);

/* Moves values.seed_position on by the parameter seed-walk (seeds per second) times the time since the last call,
 * unless values.pause is set. */
void settings_walk(struct settings *settings, int64_t now_ns);

/* Returns true if the picture changes although nobody sets a value: a fade is under way, or seed-walk moves the
 * seed. */
bool settings_moves(const struct settings *settings, int64_t now_ns);

/* Fills in `controls`, what the engine needs to know for one frame, from the parameters' values and from the state
 * that the fade between prompts has at time now_ns (platform_now_ns). */
void settings_controls(const struct settings *settings, int64_t now_ns, struct controls *controls);
/* Two functions that return a bit for each control (a map or picture that steers the frame; bit 0: control[1]):
 * values_controls_there for controls that are given, values_controls_on for those that are given and switched on. */
unsigned values_controls_there(const struct parameters *values);
unsigned values_controls_on(const struct parameters *values);
/* Three functions about the bank (keys and values of earlier frames, for self-attention). values_bank_room returns for
 * how many frames it needs room: the parameter bank-room if somebody has set it, else `least`, but not less than the
 * parameter bank. values_bank_layers returns engine_shape.bank_layers (which layers use the bank) for a bank of `room`
 * frames. values_bank_layers_word returns the index of the choice of the parameter bank-layers that means these
 * layers. */
int values_bank_room(const struct parameters *values, int least);
unsigned values_bank_layers(const struct parameters *values, int room);
int values_bank_layers_word(unsigned layers);
/* Lists the parameters of control `number` (from 1) that have an effect: those of the control's network, if it has one,
 * and those of its kind of map. Returns how many there are. */
enum { CONTROL_VALUES_MAX = 4 + MAP_PARAMS };
int values_of_control(const struct parameters *values, int number, enum parameter list[CONTROL_VALUES_MAX]);
/* Returns the value that is used for a control's parameter: the parameter's value or, if that is -1 (not set), the
 * default of the control's kind of map. number: the control's number, from 1. *step gets the amount by which a key
 * changes the value; step may be NULL. */
double values_control_number(const struct parameters *values, enum parameter id, int number, double *step);
/* Returns true for the parameters of a control (those that values_of_control may list). */
bool values_is_control(enum parameter id);
/* Returns the number that is used for a parameter: the parameter's value or, if that belongs to a control and is not
 * set, a default (values_control_number). */
double values_number(const struct parameters *values, enum parameter id, int index);

/* The choices of the parameter noise: noise that is the same in every frame, or noise that moves with the picture. */
enum noise_mode { NOISE_FIXED, NOISE_CARRIED };

/* The choices of the parameter strength-grid. */
enum strength_grid {
  STRENGTH_CONTINUOUS, /* strength is not rounded: any noise level is possible */
  STRENGTH_DIFFUSERS,  /* strength is rounded to whole denoising steps, as in diffusers' image-to-image */
  STRENGTH_TRAINED, /* strength is rounded to the noise levels on which an adversarially distilled model was trained */
};

/* Fills in `controls`, what the engine needs to know for one frame, from the parameters' values alone, without a fade
 * between prompts. */
void values_controls(const struct parameters *values, struct controls *controls);

/* Copies the engine's size, number of steps, canvas and room for the bank to `values`. If the user has not set them,
 * also sets eta to the sampler's, and strength to 1 if the network reads the input picture itself or there is no input.
 * (Otherwise strength stays 0.5, which keeps the input's shapes.) */
void values_follow_engine(struct parameters *values, const struct engine_info *info,
                          const struct prepared_info *prepared);

/* Sets the parameter detail to the given value, which engine_usual_detail returned last. Does nothing if the user has
 * set the parameter. */
void values_follow_styles(struct parameters *values, float detail);

/* Returns the guidance mode for which the handle must be prepared, for models that do not take the guidance scale as an
 * input. A scale of 1 needs no guidance, so the result is GUIDANCE_NONE. The mode "self" is kept even then: it costs no
 * second prediction, and a later change of the scale then needs no new handle. */
enum guidance_mode values_guidance(const struct parameters *values);

/* Fills in the shape (size, sampler, number of steps and more) that these values ask for, and zeroes its other fields.
 * If the user has not set the parameter canvas, the shape gets CANVAS_FIXED. If the number of steps is not set, it
 * becomes 0, the model's default. */
void values_shape(const struct parameters *values, struct engine_shape *shape);

/* Returns true if the two shapes agree in all fields that may change while frames run: size, aspect ratio, sampler,
 * spacing, steps, guidance, chunks of text, stream batch, controls, canvas, bank, and support for moving noise and
 * feedback. */
bool shapes_equal(const struct engine_shape *a, const struct engine_shape *b);

/* All that a frame's picture depends on: the settings, and the controls that settings_controls computes from them.
 * moment_equal returns true if two structs give the same picture with the same handle; it ignores values that decide
 * the handle or the engine, such as the number of steps. */
struct moment {
  struct settings settings;
  struct controls controls;
};
/* Copies *from to *to. *to must be initialised, because its texts are compared with those of *from first: equal texts
 * are not copied. */
void moment_copy(struct moment *to, const struct moment *from);
bool moment_equal(const struct moment *a, const struct moment *b);

/* Returns the reason why the negative prompt has no effect with the model and handle (prepared size, steps, guidance)
 * in use, as words for a message ("without --guidance above 1"). NULL: it has an effect, or there is no negative
 * prompt. */
const char *values_negative_idle(const struct parameters *values, const struct engine_info *info,
                                 const struct prepared_info *prepared);

/* Returns the text for a slot of the engine (numbered storage for an encoded prompt): a prompt, or the negative prompt.
 * NULL: there is no text for it. */
const char *values_slot_text(const struct parameters *values, int slot);

#endif
