/* A fake of the engine, which replaces it when a test is linked. It has no network: each frame takes a set time, all
 * requests are recorded, and tests can compute its pictures. */
#ifndef TESTS_FAKE_ENGINE_H
#define TESTS_FAKE_ENGINE_H

#include <stdatomic.h>

#include "unet/engine.h"

/* Number of the last submits that are recorded. */
enum { FAKE_LOG = 4096 };

struct fake_engine_script {
  /* time that it takes to open the engine, and for each frame */
  int open_ms, frame_ms;
  int info_ms;          /* time that engine_get_info takes */
  int step_ms;          /* additional time for each step of a frame */
  bool gated;           /* no picture is finished before fake_engine_release allows it */
  double pixel_flops;   /* operations for each pixel of a frame, as the engine reports them */
  int depth;            /* most useful number of frames in flight; 0: one */
  long fail_at_submit;  /* number of the submit that fails, from 1; 0: none */
  int failing_engines;  /* only this many engines fail there, the first ones; 0: all */
  bool loses;           /* after that failure the device is lost */
  int unopened;         /* number of engines that cannot be opened, from the first one */
  int refuse_steps;     /* engine_prepare fails for this step count; 0: for none */
  int refuse_width;     /* engine_prepare fails for this width; 0: for none */
  int slices;           /* slices that a text takes in the background, except for the first text; 0: texts take none */
  bool slow_to_prepare; /* from the second handle on, none is ready before fake_engine_let_prepare allows it */
  bool slow_to_open;    /* from the second engine on, none is open before fake_engine_let_open allows it */
};

/* The fake model's recommended eta of a sampler is this times the sampler's number. */
#define FAKE_ETA 0.0625

/* Name of a model that engine_open refuses. */
#define FAKE_REFUSED "refused"

struct fake_submit {
  bool has_frame;
  const uint8_t *input, *output; /* addresses of the frame's and the picture's pixels */
  const uint8_t *control;        /* address of the pixels of the control source's frame; NULL: there was none */
  uint64_t serial;
  int64_t captured_ns, submitted_ns;
  struct controls controls;
  int width, height;
  enum sampler sampler;
  int room;                    /* the handle's bank_room */
  int steps, chunks;           /* the handle's steps and chunks; prompts that begin with "long" have two chunks */
  enum guidance_mode guidance; /* the handle's guidance */
  bool restart;                /* the request said that the run has no past */
  bool on_device;              /* the picture's pixels are invalid until they are waited for */
  int engine;                  /* number of the engine, from 1, in the order of opening */
};

/* Everything that happened since fake_engine_begin. Tests read it when the engine is closed, except for the atomic
 * fields. */
struct fake_engine_log {
  struct fake_submit submits[FAKE_LOG];
  atomic_int submitted; /* number of submits */
  int collected, most_in_flight;
  bool starved;                              /* a picture was to be made while all pictures were held */
  bool overfull;                             /* a third frame was in flight, or engine_collect was called with none */
  atomic_int handles_made, handles_released; /* calls of engine_prepare, including failed ones; handles released */
  atomic_bool released_busy;                 /* a handle was released while one of its frames was in flight */
  atomic_int prompts[SLOTS];                 /* how often each slot was set */
  int slices;                                /* slices done by engine_go_on */
  int refused_prompts;                       /* calls of engine_set_prompt that were refused */
  bool unset_prompt_used;
  atomic_int engines_tried, engines_open, engines_closed; /* calls of engine_open; engines open now; engines closed */
  int most_engines;                                       /* most engines that were open at the same time */
  atomic_size_t memory_limit;                             /* the last value given to engine_limit_memory */
  bool closed;                                            /* no engine is open */
};

/* Starts a new log, with engines that behave as the script says. */
void fake_engine_begin(const struct fake_engine_script *script);
/* Returns the log, which goes on growing. */
const struct fake_engine_log *fake_engine_log(void);
/* Returns a recorded submit, from 0. */
const struct fake_submit *fake_engine_submit(int number);
/* Returns the text that a slot was set to last. prompts[slot] must have been read before, because it grows later. Valid
 * until the same thread calls this again. */
const char *fake_engine_text(int slot);

/* Allows so many more engines to be opened. */
void fake_engine_let_open(int engines);

/* Allows so many more handles to be prepared. */
void fake_engine_let_prepare(int handles);

/* Allows a gated engine to finish so many more pictures. */
void fake_engine_release(int pictures);

/* Computes the colour that the fake engine gives to a grey value under these controls: a tint by prompt, mixed in by
 * strength. */
void fake_engine_color(const struct controls *controls, int grey, uint8_t rgb[3]);

#endif
