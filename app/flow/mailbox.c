#include "app/flow/mailbox.h"

#include <errno.h>

#include "unet/base/platform.h"
#include "app/flow/wait.h"

void mail_release(struct mail *mail) {
  frame_release(&mail->frame);
  frame_release(&mail->input);
}

void mailbox_init(struct mailbox *mailbox) {
  *mailbox = (struct mailbox){0};
  platform_lock_init(&mailbox->lock);
  wait_init(&mailbox->changed);
  wait_init(&mailbox->done);
}

void mailbox_free(struct mailbox *mailbox) {
  mail_release(&mailbox->taken);
  mail_release(&mailbox->newest);
  pthread_cond_destroy(&mailbox->done);
  pthread_cond_destroy(&mailbox->changed);
  pthread_mutex_destroy(&mailbox->lock);
}

void mailbox_put(struct mailbox *mailbox, const struct mail *mail) {
  int64_t now_ns = platform_now_ns();
  pthread_mutex_lock(&mailbox->lock);
  struct mail replaced = mailbox->newest;
  mailbox->newest = *mail;
  mailbox->newest.put_ns = now_ns;
  mailbox->put++;
  mailbox->dropped += mailbox->full && !replaced.again;
  mailbox->full = true;
  mailbox->undone = true;
  pthread_mutex_unlock(&mailbox->lock);
  /* the condition is signalled after unlocking, so that the woken thread finds the lock free */
  pthread_cond_signal(&mailbox->changed);
  mail_release(&replaced);
}

void mailbox_close(struct mailbox *mailbox) {
  pthread_mutex_lock(&mailbox->lock);
  mailbox->closed = true;
  pthread_cond_broadcast(&mailbox->changed);
  pthread_mutex_unlock(&mailbox->lock);
}

void mailbox_wake(struct mailbox *mailbox) {
  pthread_mutex_lock(&mailbox->lock);
  mailbox->woken = true;
  pthread_cond_signal(&mailbox->changed);
  pthread_mutex_unlock(&mailbox->lock);
}

/* True if the reader's wait has to end: because mailbox_wake was called or, if or_mail is true, because a frame is
 * there or the mailbox is closed. The caller holds the lock. */
static bool is_through(const struct mailbox *mailbox, bool or_mail) {
  return mailbox->woken || (or_mail && (mailbox->full || mailbox->closed));
}

/* Waits until mailbox_wake is called or, if or_mail is true, until a frame is there or the mailbox is closed; at most
 * wait_ms milliseconds. The caller holds the lock; this function releases it while it waits. */
static void wait_for(struct mailbox *mailbox, bool or_mail, int wait_ms) {
  struct timespec deadline = wait_deadline(platform_now_ns() + (int64_t)wait_ms * 1000000);
  while (!is_through(mailbox, or_mail))
    if (pthread_cond_timedwait(&mailbox->changed, &mailbox->lock, &deadline) == ETIMEDOUT)
      break;
  mailbox->woken = false;
}

void mailbox_rest(struct mailbox *mailbox, int wait_ms) {
  pthread_mutex_lock(&mailbox->lock);
  wait_for(mailbox, false, wait_ms);
  pthread_mutex_unlock(&mailbox->lock);
}

int mailbox_take(struct mailbox *mailbox, const struct mail **mail, int wait_ms) {
  int result = 0;
  pthread_mutex_lock(&mailbox->lock);
  if (wait_ms > 0)
    wait_for(mailbox, true, wait_ms);
  if (mailbox->full) {
    mail_release(&mailbox->taken);
    mailbox->taken = mailbox->newest;
    mailbox->newest = (struct mail){0};
    mailbox->full = false;
    *mail = &mailbox->taken;
    result = 1;
  } else if (mailbox->closed) {
    result = -1;
  }
  pthread_mutex_unlock(&mailbox->lock);
  return result;
}

void mailbox_done(struct mailbox *mailbox) {
  pthread_mutex_lock(&mailbox->lock);
  mailbox->undone = mailbox->full;
  pthread_mutex_unlock(&mailbox->lock);
  pthread_cond_signal(&mailbox->done);
}

bool mailbox_wait_done(struct mailbox *mailbox, int64_t until_ns) {
  struct timespec deadline = wait_deadline(until_ns);
  pthread_mutex_lock(&mailbox->lock);
  bool waits = mailbox->undone;
  while (waits && mailbox->undone)
    if (pthread_cond_timedwait(&mailbox->done, &mailbox->lock, &deadline) == ETIMEDOUT)
      break;
  pthread_mutex_unlock(&mailbox->lock);
  return waits;
}

bool mailbox_peek(struct mailbox *mailbox, struct frame *frame) {
  pthread_mutex_lock(&mailbox->lock);
  bool got = mailbox->full;
  if (got)
    *frame = frame_hold(&mailbox->newest.frame);
  pthread_mutex_unlock(&mailbox->lock);
  return got;
}

bool mailbox_look(struct mailbox *mailbox, struct frame *frame) {
  pthread_mutex_lock(&mailbox->lock);
  const struct frame *newest = mailbox->full ? &mailbox->newest.frame : &mailbox->taken.frame;
  bool got = newest->plane[0];
  if (got)
    *frame = frame_hold(newest);
  pthread_mutex_unlock(&mailbox->lock);
  return got;
}

struct mailbox_counts mailbox_count(struct mailbox *mailbox) {
  pthread_mutex_lock(&mailbox->lock);
  struct mailbox_counts counts = {mailbox->put, mailbox->dropped};
  pthread_mutex_unlock(&mailbox->lock);
  return counts;
}
