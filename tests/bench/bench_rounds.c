/* Times the pictures of a clip where it starts again, and elsewhere. This is not a test by itself.
 *
 *   bench_rounds CLIP...           decodes in software as the live window does (one thread for each slice) and as
 * render
 *                                  does (one thread for each frame)
 *   bench_rounds --list CLIP...    plays the clips in a row as the live window does: how long the last picture of a
 * clip
 *                                  stays at each change to the next clip */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <libavutil/log.h>

#include "app/source/changer.h"
#include "tests/rigs/loop_times.h"
#include "unet/base/platform.h"
#include "unet/base/text.h"

enum { CUTS = 12, WINDOW_MS = 16 };

static int fail(const struct error *err) {
  fprintf(stderr, "%s\n", err->message);
  return 1;
}

static int time_clips(int count, char **clips) {
  for (int i = 0; i < 2 * count; i++) {
    struct loop_times times;
    struct error err;
    if (loop_times_measure(clips[i / 2], &(struct source_options){.live = !(i % 2)}, 0, &times, &err))
      return fail(&err);
    loop_times_print(text_last_part(clips[i / 2]), i % 2 ? "software, render" : "software, live", &times);
  }
  return 0;
}

/* Takes pictures until CUTS changes of the clip have passed and prints how long the last picture stayed at each. Calls
 * the changer as often as a window's thread does. */
static void time_cuts(struct changer *changer, struct mailbox *mailbox) {
  const struct mail *mail;
  struct changer_news news;
  int64_t turned_ns = 0, last_ns = 0;
  double usual = 0, longest[2] = {0}, sum = 0;
  int cuts = 0, pictures = 0, width = 0;
  while (cuts < CUTS) {
    int64_t now_ns = platform_now_ns();
    if (now_ns - turned_ns >= WINDOW_MS * INT64_C(1000000)) {
      changer_turn(changer, now_ns, &news);
      turned_ns = now_ns;
    }
    if (mailbox_take(mailbox, &mail, 1) != 1)
      continue;
    double gap = (double)(mail->frame.captured_ns - last_ns) * 1e-6;
    bool cut = mail->frame.width != width;
    if (last_ns) {
      longest[cut] = fmax(longest[cut], gap);
      usual += cut ? 0 : gap;
      sum += cut ? gap : 0;
      pictures += !cut;
      cuts += cut;
    }
    last_ns = mail->frame.captured_ns;
    width = mail->frame.width;
  }
  printf("a picture stands %.1f ms (longest %.1f), the last of a clip %.1f (longest %.1f)\n", usual / pictures,
         longest[0], sum / cuts, longest[1]);
}

/* Plays the clips one after the other. Neighbours in the list must differ in width, because that is how a change is
 * seen. */
static int time_list(int count, char **clips) {
  const struct source_options options = {.live = true};
  struct playlist list = {0};
  struct mailbox mailbox;
  struct source *source;
  struct reader *reader;
  struct changer *changer;
  struct error err;
  atomic_bool stop = false;
  mailbox_init(&mailbox);
  for (int i = 0; i < count; i++)
    if (playlist_insert(&list, i, clips[i], false, &err))
      return fail(&err);
  if (source_open(&source, clips[0], &options, &err) ||
      reader_start_list(&reader, &source, clips[0], &options, &mailbox, &err))
    return fail(&err);
  const struct changer_params params = {reader, &options, true, 0, &stop, 0};
  if (changer_open(&changer, &list, &params, &err))
    return fail(&err);
  time_cuts(changer, &mailbox);
  changer_close(&changer);
  reader_stop(&reader, NULL);
  mailbox_free(&mailbox);
  return 0;
}

int main(int count, char **args) {
  av_log_set_level(AV_LOG_ERROR);
  if (count > 3 && !strcmp(args[1], "--list"))
    return time_list(count - 2, args + 2);
  return time_clips(count - 1, args + 1);
}
