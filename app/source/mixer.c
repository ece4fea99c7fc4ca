#include "app/source/mixer.h"

#include <stdlib.h>

#include "unet/base/platform.h"

struct mixer {
  struct mailbox *out;
  pthread_mutex_t lock;
  /* The following fields are protected by `lock`. */
  enum mixer_input shown;
  /* the input of the last frame that was passed on, and the number of its stretch in that input */
  enum mixer_input last;
  uint64_t last_stretch;
  uint64_t serial, stretch; /* numbers of the next frame, and of the present stretch, counted over all inputs */
};

int mixer_open(struct mixer **out, struct mailbox *mailbox, struct error *err) {
  struct mixer *mixer = calloc(1, sizeof *mixer);
  if (!mixer)
    return error_set(err, STATUS_FAILED, "no memory for sources");
  mixer->out = mailbox;
  platform_lock_init(&mixer->lock);
  *out = mixer;
  return 0;
}

void mixer_close(struct mixer **pointer) {
  if (*pointer)
    pthread_mutex_destroy(&(*pointer)->lock);
  free(*pointer);
  *pointer = NULL;
}

/* Replaces the numbers that the frame has in its input by numbers over all inputs. The caller holds the lock. */
static void number(struct mixer *mixer, enum mixer_input input, struct frame *frame) {
  mixer->stretch += !mixer->serial || input != mixer->last || frame->stretch != mixer->last_stretch;
  mixer->last = input;
  mixer->last_stretch = frame->stretch;
  frame->stretch = mixer->stretch;
  frame->serial = mixer->serial++;
}

void mixer_put(struct mixer *mixer, enum mixer_input input, struct frame *frame) {
  pthread_mutex_lock(&mixer->lock);
  if (input == MIXER_LIST)
    mixer->shown = MIXER_LIST;
  bool passes = input == mixer->shown;
  if (passes) {
    number(mixer, input, frame);
    mailbox_put(mixer->out, &(struct mail){.frame = *frame});
  }
  pthread_mutex_unlock(&mixer->lock);
  if (!passes)
    frame_release(frame);
}

void mixer_stand_in(struct mixer *mixer) {
  pthread_mutex_lock(&mixer->lock);
  mixer->shown = MIXER_STAND_IN;
  pthread_mutex_unlock(&mixer->lock);
}

void mixer_end(struct mixer *mixer, enum mixer_input input) {
  if (input == MIXER_LIST)
    mailbox_close(mixer->out);
}
