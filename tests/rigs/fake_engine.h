/* An engine without a network, put in its place when a test is linked: it takes a set time for a frame, remembers what
 * it was asked for, and makes pictures anybody can check. */
#ifndef TESTS_FAKE_ENGINE_H
#define TESTS_FAKE_ENGINE_H

#include <stdatomic.h>

#include "unet/engine.h"

/* So many submits are remembered, the last ones. */
enum { FAKE_LOG = 4096 };

struct fake_engine_script {
  int open_ms, frame_ms;
  int info_ms;          /* until it has said what it is */
  int step_ms;          /* each step of a frame takes longer by so much */
  bool gated;           /* no picture is done before fake_engine_release lets it be */
  double pixel_flops;   /* what a frame's arithmetic is said to be, for each pixel */
  int depth;            /* frames worth having in flight; 0: one */
  long fail_at_submit;  /* from 1: this submit fails; 0: none */
  int failing_engines;  /* only the first ones do; 0: all */
  bool loses;           /* that failure leaves the device lost */
  int unopened;         /* the first engines cannot be opened */
  int refuse_steps;     /* engine_prepare fails for it; 0: for none */
  int refuse_width;     /* likewise */
  int slices;           /* that a text takes beside frames, once there was one; 0: it is there at once */
  bool slow_to_prepare; /* from the second handle on, none is done before fake_engine_let_prepare lets it be */
  bool slow_to_open;    /* from the second engine on, none is open before fake_engine_let_open lets it be */
};

/* What suits a sampler, times its number. */
#define FAKE_ETA 0.0625

/* A model that engine_open refuses. */
#define FAKE_REFUSED "refused"

struct fake_submit {
  bool has_frame;
  const uint8_t *input, *output; /* where the pixels were, and where they went */
  const uint8_t *control;        /* where the pixels of a second source were; NULL: there was no frame */
  uint64_t serial;
  int64_t captured_ns, submitted_ns;
  struct controls controls;
  int width, height;
  enum sampler sampler;
  int steps, chunks;           /* the handle's; prompts that begin with "long" have two chunks */
  enum guidance_mode guidance; /* the handle is for it */
  bool on_device;              /* the picture's pixels are poison until they are waited for */
  int engine;                  /* which one it was, from 1, in the order of opening */
};

/* What happened since fake_engine_begin. Read it when the engine is closed. */
struct fake_engine_log {
  struct fake_submit submits[FAKE_LOG];
  atomic_int submitted; /* a test may watch it grow */
  int collected, most_in_flight;
  bool starved;                              /* all pictures were held when one was to be made */
  bool overfull;                             /* a third frame in flight, or a collect with none */
  atomic_int handles_made, handles_released; /* calls of engine_prepare, failed ones too, and handles gone */
  atomic_bool released_busy;                 /* a handle went while a frame of its was in flight */
  atomic_int prompts[SLOTS];                 /* how often each slot was set; to be watched, too */
  int slices;                                /* done by engine_go_on */
  int refused_prompts;                       /* calls of engine_set_prompt */
  bool unset_prompt_used;
  atomic_int engines_tried, engines_open, engines_closed; /* calls of engine_open, and engines */
  int most_engines;                                       /* open at a time */
  atomic_size_t memory_limit;                             /* engine_limit_memory's last */
  bool closed;                                            /* all of them */
};

void fake_engine_begin(const struct fake_engine_script *script);
const struct fake_engine_log *fake_engine_log(void);
/* From 0. */
const struct fake_submit *fake_engine_submit(int number);
/* What a slot was set to last; after a look at prompts[slot], which grows later. Valid until the thread asks again. */
const char *fake_engine_text(int slot);

/* Lets so many more engines be open. */
void fake_engine_let_open(int engines);

/* Lets so many more handles be done. */
void fake_engine_let_prepare(int handles);

/* Lets so many more pictures of a gated engine be done. */
void fake_engine_release(int pictures);

/* The colour it gives to a grey value under these controls: a tint by prompt, mixed in by strength. */
void fake_engine_color(const struct controls *controls, int grey, uint8_t rgb[3]);

#endif
