/* Helpers for tests of the thread that makes pictures in the live window: its loop, mailboxes for frames and pictures,
 * and a fake engine. */
#ifndef TESTS_LOOP_RIG_H
#define TESTS_LOOP_RIG_H

#include "app/run/loop.h"
#include "tests/rigs/fake_engine.h"

enum { SIDE = 16, PATIENCE_MS = 120000, OTHERS_HOLD = 2, LIMIT = 4096 };

/* A loop with its mailboxes. Tests set some fields before they call rig_start, and read others. */
struct rig {
  struct mailbox in, out;
  struct host_pictures frames;
  struct loop *loop;
  uint64_t stretch; /* value of frame.stretch in the frames that put_frame makes */
  struct log log;
  bool early; /* true: rig_start sends changes before the engine is open */
  /* warnings that were logged: their number, and the text of the last one */
  int warnings;
  char warned[200];
  struct log told;
  /* lines that the loop has told the user: their number, and the text of the last one */
  int tellings;
  char lastly[200];
  /* before: true if loop_params.before is set. Of its calls: their number, the serial of the last frame, and the serial
   * from which on it fails. */
  bool before, controlled; /* controlled: true if the engine has two controls, the second of which is off */
  int befores;
  bool before_on_device;
  uint64_t before_serial, refused;
  struct frame control; /* frame for the control network that loop_params.before puts into the request */
  double budget_ms, drawing_ms;
  bool urgent;
  bool recovers, retries_start, leaves_lost;
  atomic_int lefts; /* number of calls of loop_params.left */
  /* true: loop_params.modulate is set */
  bool modulated;
  bool still;                 /* true: loop_params.modulate changes no value between frames */
  atomic_int moments;         /* number of calls of loop_params.modulate */
  _Atomic uint64_t moved_for; /* serial of the frame in the last call of loop_params.modulate */
  _Atomic double offset;      /* amount that loop_params.modulate adds to the strength */
  bool files;                 /* true: loop_params.read_files is set; it can read every style but "none" */
  /* true: the last style could not be read */
  bool refuses_file;
  atomic_int refusals; /* number of styles that could not be read */
  atomic_int turns;    /* number of calls of loop_params.read_files */
};

/* Send a change of a value to the loop. */
void set_prompt_text(struct loop *loop, int index, const char *text);
void set_number(struct loop *loop, enum parameter id, double number);
/* Starts the loop, with a fake engine that behaves as the script says. has_frames: true if the loop makes pictures of
 * frames that it is given, false if it makes them of prompts alone. */
void rig_start(struct rig *rig, const struct fake_engine_script *script, bool has_frames);

/* Ends the loop, and checks all that must always hold. expected: status with which the loop must end. */
void rig_finish(struct rig *rig, int expected);
/* Gives the loop a frame all of whose pixels have the value `serial`. */
void put_frame(struct rig *rig, int serial);
/* Waits for the next picture, and returns it. The test fails if none comes. */
const struct mail *expect_picture(struct rig *rig);
/* Waits for a picture that was made again of the frame with this serial. */
void expect_again(struct rig *rig, uint64_t serial);
/* Fails the test if a picture comes within `ms` milliseconds. */
void expect_nothing(struct rig *rig, int ms);

/* Returns the last recorded call of engine_submit, of which there must be one. */
const struct fake_submit *last_submit(void);

/* Gives the loop frames until the engine has the shape `wish`, or has refused it, and a few more frames after that.
 * serial: that of the first frame. Returns the serial of the next one. */
int feed_until_followed(struct rig *rig, int serial, const struct engine_shape *wish, bool refused);
void wait_for_handles(int count);

/* Gives the loop `count` frames, one after the other, and waits for the picture of each. If this thread is delayed
 * between two frames, the loop may make another picture of the frame before, which is skipped. So the last recorded
 * engine_submit is that of the last frame. Returns the serial of the next frame. */
int feed_frames(struct rig *rig, int serial, int count);

#endif
