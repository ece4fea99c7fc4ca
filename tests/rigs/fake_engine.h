/* A fake of the engine (unet/engine.h), which tests are linked with instead of the real one. It has no network: each
 * frame takes a set time, all calls are recorded, and tests can compute what its pictures look like. */
#ifndef TESTS_FAKE_ENGINE_H
#define TESTS_FAKE_ENGINE_H

#include <stdatomic.h>

#include "unet/engine.h"

/* Number of calls of engine_submit that are recorded: the last ones. */
enum { FAKE_LOG = 4096 };

struct fake_engine_script {
  /* milliseconds that it takes to open an engine, and to make each frame */
  int open_ms, frame_ms;
  int info_ms;         /* milliseconds that engine_get_info takes */
  int step_ms;         /* further milliseconds for each step of a frame */
  bool gated;          /* true: no picture is finished before fake_engine_release allows it */
  double pixel_flops;  /* floating-point operations for each pixel of a frame, as engine_get_info reports them */
  int depth;           /* number of frames in flight that engine_get_info reports as most useful; 0: one */
  long fail_at_submit; /* number of the call of engine_submit that fails, from 1; 0: none fails */
  int failing_engines; /* number of engines, counted from the first one, to which fail_at_submit applies; 0: all */
  /* number of the only engine to which fail_at_submit applies, which then counts this engine's calls; 0: see
   * failing_engines */
  int failing_engine;
  /* true: the failure comes when the frame's picture is collected; false: when the frame is submitted */
  bool fails_late;
  int most_random_ms; /* each frame takes a random time longer, less than this many milliseconds */
  bool loses;         /* true: with the failure of fail_at_submit the device is lost */
  int unopened;       /* number of engines, counted from the first one, that cannot be opened */
  int refuse_steps;   /* number of steps for which engine_prepare fails; 0: for none */
  int refuse_width;   /* width for which engine_prepare fails; 0: for none */
  /* number of slices of background work that each text takes, except for the first one; 0: texts take none */
  int slices;
  bool slow_to_prepare; /* true: from the second handle on, none is ready before fake_engine_let_prepare allows it */
  bool slow_to_open;    /* true: from the second engine on, none is open before fake_engine_let_open allows it */
};

/* The eta that the fake model recommends for a sampler is FAKE_ETA times the sampler's number. */
#define FAKE_ETA 0.0625

/* The detail that suits the fake model's style, whose prompts begin with FAKE_STYLE; 0 suits all other prompts. */
#define FAKE_STYLE "photo"
#define FAKE_DETAIL 0.5f

/* name of a model that cannot be opened: engine_open refuses it */
#define FAKE_REFUSED "refused"

struct fake_submit {
  bool has_frame;
  const uint8_t *input, *output; /* addresses of the pixels of the frame and of the picture */
  const uint8_t *control; /* address of the pixels of the control source's frame; NULL: there was no such frame */
  uint64_t serial;
  int64_t captured_ns, submitted_ns;
  struct controls controls;
  int width, height;
  enum sampler sampler;
  int room;                    /* bank_room of the handle (an engine made ready for one size and step count) */
  int steps, chunks;           /* steps and chunks of the handle; prompts that begin with "long" have two chunks */
  enum guidance_mode guidance; /* guidance mode of the handle */
  bool restart;                /* request.restart: true if the run does not continue earlier frames */
  bool on_device;              /* true: the picture's pixels are invalid until somebody waits for them */
  int engine;                  /* number of the engine, counted from 1 in the order in which engines were opened */
};

/* All that happened since fake_engine_begin. Tests read it after the engine was closed; the atomic fields also
 * before. */
struct fake_engine_log {
  struct fake_submit submits[FAKE_LOG];
  atomic_int submitted; /* number of calls of engine_submit */
  int collected;
  int most_in_flight; /* largest number of frames that one engine had in flight */
  bool starved;       /* true: a picture could not be made, because all pictures were in use */
  bool overfull;      /* true: there were three frames in flight, or engine_collect was called without one in flight */
  /* handles_made: number of calls of engine_prepare, including failed ones; handles_released: number of handles that
   * were released */
  atomic_int handles_made, handles_released;
  atomic_bool released_busy; /* true: a handle was released while one of its frames was in flight */
  atomic_int prompts[SLOTS]; /* for each slot: how often a text was set */
  int slices;                /* number of slices of background work that engine_go_on has done */
  int refused_prompts;       /* number of calls of engine_set_prompt that were refused */
  bool unset_prompt_used;
  /* numbers of calls of engine_open, of engines that are open now, and of engines that were closed */
  atomic_int engines_tried, engines_open, engines_closed;
  int most_engines;           /* largest number of engines that were open at the same time */
  atomic_size_t memory_limit; /* value that was last given to engine_limit_memory */
  bool closed;                /* true: no engine is open any more */
};

/* Starts a new log. Engines behave as the script says from now on. */
void fake_engine_begin(const struct fake_engine_script *script);
/* Returns the log, to which further events are still added. */
const struct fake_engine_log *fake_engine_log(void);
/* Returns a recorded call of engine_submit; number counts from 0. */
const struct fake_submit *fake_engine_submit(int number);
/* Returns the text that was last set in a slot. The caller must have read log->prompts[slot] before, which is
 * incremented after the text is stored. The text is valid until the same thread calls this function again. */
const char *fake_engine_text(int slot);

/* Allows this many more engines to be opened. */
void fake_engine_let_open(int engines);

/* Allows this many more handles to be prepared. */
void fake_engine_let_prepare(int handles);

/* Allows a gated engine to finish this many more pictures. */
void fake_engine_release(int pictures);

/* Computes the colour that the fake engine makes of a grey value under these controls: a tint that depends on the
 * prompt, mixed with the grey value by strength. */
void fake_engine_color(const struct controls *controls, int grey, uint8_t rgb[3]);

#endif
