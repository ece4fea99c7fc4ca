#include "app/flow/mailbox.h"

#include <errno.h>

#include "app/flow/stats.h"
#include "app/flow/wait.h"

void mailbox_init(struct mailbox *mailbox) {
  *mailbox = (struct mailbox){.writing = 0, .slot = 1, .reading = 2};
  pthread_mutex_init(&mailbox->lock, NULL);
  wait_init(&mailbox->changed);
}

void mailbox_finish(struct mailbox *mailbox) {
  for (int i = 0; i < 3; i++) {
    picture_free(&mailbox->buffers[i].frame);
    picture_free(&mailbox->buffers[i].input);
  }
  pthread_cond_destroy(&mailbox->changed);
  pthread_mutex_destroy(&mailbox->lock);
}

/* Copies from with its pixels, if it has any, and points *to at them. */
static int keep(struct picture *picture, const struct frame *from, struct frame *to, struct error *err) {
  *to = *from;
  if (!from->plane[0])
    return 0;
  if (picture_copy(picture, from, err))
    return -1;
  *to = picture->frame;
  return 0;
}

int mailbox_put(struct mailbox *mailbox, const struct mail *mail, struct error *err) {
  struct mailbox_buffer *buffer = &mailbox->buffers[mailbox->writing];
  buffer->mail = *mail;
  if (keep(&buffer->frame, &mail->frame, &buffer->mail.frame, err) ||
      keep(&buffer->input, &mail->input, &buffer->mail.input, err))
    return -1;
  pthread_mutex_lock(&mailbox->lock);
  int free_buffer = mailbox->slot;
  mailbox->slot = mailbox->writing;
  mailbox->writing = free_buffer;
  mailbox->put++;
  mailbox->dropped += mailbox->full;
  mailbox->full = true;
  pthread_cond_signal(&mailbox->changed);
  pthread_mutex_unlock(&mailbox->lock);
  return 0;
}

void mailbox_close(struct mailbox *mailbox) {
  pthread_mutex_lock(&mailbox->lock);
  mailbox->closed = true;
  pthread_cond_broadcast(&mailbox->changed);
  pthread_mutex_unlock(&mailbox->lock);
}

int mailbox_take(struct mailbox *mailbox, const struct mail **mail, int wait_ms) {
  struct timespec deadline = wait_deadline(clock_now_ns() + (int64_t)wait_ms * 1000000);
  int result = 0;
  pthread_mutex_lock(&mailbox->lock);
  while (!mailbox->full && !mailbox->closed && wait_ms > 0)
    if (pthread_cond_timedwait(&mailbox->changed, &mailbox->lock, &deadline) == ETIMEDOUT)
      break;
  if (mailbox->full) {
    int free_buffer = mailbox->reading;
    mailbox->reading = mailbox->slot;
    mailbox->slot = free_buffer;
    mailbox->full = false;
    *mail = &mailbox->buffers[mailbox->reading].mail;
    result = 1;
  } else if (mailbox->closed) {
    result = -1;
  }
  pthread_mutex_unlock(&mailbox->lock);
  return result;
}

bool mailbox_peek(struct mailbox *mailbox, struct picture *picture) {
  pthread_mutex_lock(&mailbox->lock);
  const struct frame *frame = &mailbox->buffers[mailbox->slot].mail.frame;
  bool got = mailbox->full && frame->plane[0] && !picture_copy(picture, frame, NULL);
  pthread_mutex_unlock(&mailbox->lock);
  return got;
}

struct mailbox_counts mailbox_count(struct mailbox *mailbox) {
  pthread_mutex_lock(&mailbox->lock);
  struct mailbox_counts counts = {mailbox->put, mailbox->dropped};
  pthread_mutex_unlock(&mailbox->lock);
  return counts;
}
