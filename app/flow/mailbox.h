/* A hand-over of one frame between two threads, made for low delay: the newest frame wins, nothing queues, and the
 * writer never waits for the reader. Three buffers change hands (the writer's, the one in the slot, the reader's), so
 * pixels are copied outside the lock and memory is allocated only when frames grow. */
#ifndef APP_FLOW_MAILBOX_H
#define APP_FLOW_MAILBOX_H

#include <pthread.h>
#include <stdbool.h>

#include "app/flow/picture.h"

struct mail {
  struct frame frame;   /* without planes: none */
  struct frame input;   /* what frame was made from, for the before/after view; without planes: not asked for */
  int64_t submitted_ns; /* when the engine got the input; 0 on the way there */
  int64_t finished_ns;  /* when the picture was done */
  double frame_ms;      /* the engine's own time for it */
  bool again;           /* its input was shown before; only the controls differ */
};

struct mailbox_buffer {
  struct mail mail;
  struct picture frame, input;
};

struct mailbox {
  /* writing, slot and reading are always a permutation of 0, 1, 2. */
  struct mailbox_buffer buffers[3];
  int writing; /* the writer's alone */
  int reading; /* the reader's alone */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* Protected by lock */
  int slot;
  bool full, closed;
  long put, dropped; /* handed in; replaced before anyone took them */
};

struct mailbox_counts {
  long put, dropped;
};

void mailbox_init(struct mailbox *mailbox);
void mailbox_finish(struct mailbox *mailbox);

/* Writer: copies mail with its pixels into the slot, replacing what was not taken. */
int mailbox_put(struct mailbox *mailbox, const struct mail *mail, struct error *err);
/* Writer: no more will come. What lies in the slot can still be taken. */
void mailbox_close(struct mailbox *mailbox);

/* Reader: 1 and *mail, valid until the next call that returns 1; 0 when nothing came within wait_ms; -1 when the
 * mailbox is closed and empty. */
int mailbox_take(struct mailbox *mailbox, const struct mail **mail, int wait_ms);

/* Anyone: copies the frame that lies in the slot, and leaves it there. false: there is none. */
bool mailbox_peek(struct mailbox *mailbox, struct picture *picture);
struct mailbox_counts mailbox_count(struct mailbox *mailbox);

#endif
