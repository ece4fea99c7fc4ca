/* The playback position in the source's file: seeking, and telling where the file is. Only the main thread uses it. */
#ifndef APP_LIVE_LIVE_CLIP_H
#define APP_LIVE_LIVE_CLIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct live;

struct live_clip {
  /* true: the source is a file with a length, in which one can seek; found once in each pass of the main thread's
   * loop */
  bool is_clip;
  /* wish: requested position in the file that is shown, in seconds; counted from the file's end if wish_left is true;
   * NaN: none */
  double wish;
  bool wish_left;
  /* the values of the parameters clip-position and clip-time-left that clients were sent last */
  double told, left_told;
  int64_t told_ns;           /* time (platform_now_ns) at which clients were sent the last position and time left */
  double speed, sound_speed; /* the speeds that the reader and the source's sound were given last; 0: none yet */
  /* in_set: true: somebody has set the parameter clip-in since live_follow_points was called last; out_set: the same
   * for clip-out. in_told, out_told: the values that clip-in and clip-out had after that call */
  bool in_set, out_set;
  double in_told, out_told;
  bool in_put, out_put; /* true: live_follow_points itself has changed clip-in (in_put) or clip-out (out_put) in its
                         * last call, which has marked the parameter as set until the next pass of the loop */
};

/* Returns the position of the newest frame that was read, in seconds from the beginning of the source's file (or from
 * --start); 0: the source is no file, or nothing was read. */
double live_clip_position(const struct live *live);
/* Keeps the parameters clip-in and clip-out equal to the in and out points of the wanted source (struct
 * playlist_entry). Values that somebody has set become that source's points; when another source is wanted, the
 * parameters get its points. Called after another source was asked for (live_follow_sources). */
void live_follow_points(struct live *live, int64_t now_ns);
/* Reads to which position users and clients want to seek, from the parameters clip-position and clip-time-left. Clears
 * the marks of these two, because the engine's thread does not use them. Called before values are sent to that
 * thread. */
void live_take_clip_wishes(struct live *live);
/* Plays the file at the wanted speed, and seeks to the wanted position. Once a second stores the present position in
 * the parameters clip-position and clip-time-left. Called after values came from the engine's thread, which would
 * overwrite the two, and before values are published to clients. */
void live_follow_clip(struct live *live, int64_t now_ns);
/* Shows a notice with the position in the video file, in seconds, to which the user has just moved. */
void live_tell_clip(struct live *live, double seconds, int64_t now_ns);
/* Writes the position in the file and the time left, such as "0:12 -1:18", to `words`, and returns `words`; NULL: the
 * source is no file. */
const char *live_describe_clip(const struct live *live, char *words, size_t size);

#endif
