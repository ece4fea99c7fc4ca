#include "app/sink/timecode.h"

#include <math.h>
#include <stdio.h>

#include <libavutil/timecode.h>

const char timecode_tag[] = "timecode";

/* FRAMES_MOST: most frames a second that MOV's track of a timecode can have. */
enum { FRAMES_MOST = 255 };
/* Largest relative error of a frame rate that was guessed from few pictures. */
static const double rate_error = 2e-4;

struct label {
  int hours, minutes, seconds, frames;
  bool drop;
};

/* Returns how many frames a second timecodes of this rate count, such as 30 at 29.97 frames a second; 0: the rate has
 * no timecodes. *slow becomes true for rates such as 23.976 and 29.97, which are a whole number divided by 1.001. */
static int frames_counted(AVRational rate, bool *slow) {
  double fps = av_q2d(rate), whole = round(fps);
  *slow = fabs(fps * 1.001 - whole) < rate_error * fps;
  bool counts = *slow || fabs(fps - whole) < rate_error * fps;
  return counts && whole >= 1 && whole <= FRAMES_MOST ? (int)whole : 0;
}

/* Drop-frame timecodes leave out two labels for each 30 frames a second at the beginning of each minute, except each
 * tenth one. If the label is one of these, moves it to the next label that exists. */
static void skip_dropped(struct label *label, int frames) {
  int dropped = frames / 15;
  if (label->drop && !label->seconds && label->minutes % 10 && label->frames < dropped)
    label->frames = dropped;
}

/* `from` and `to` are rates in frames a second. Changes a label of a timecode at the rate `from` to the nearest label
 * of the same time of day at the rate `to`. */
static void convert(struct label *label, int from, int to) {
  label->frames = (int)lrint((double)label->frames * to / from);
  int seconds = label->seconds + label->frames / to, minutes = label->minutes + seconds / 60,
      hours = label->hours + minutes / 60;
  *label = (struct label){hours % 24, minutes % 60, seconds % 60, label->frames % to, label->drop};
  skip_dropped(label, to);
}

/* Rewrites the text of a timecode of the input's rate as one of the output's rate. Returns false if the latter has no
 * timecodes. */
static bool change_rate(char text[AV_TIMECODE_STR_SIZE], const struct timecode_change *change) {
  struct label label = {0};
  bool slow;
  char mark;
  int from = (int)lrint(av_q2d(change->input)), to = frames_counted(change->output, &slow);
  if (from < 1 || !to ||
      sscanf(text, "%d:%d:%d%c%d", &label.hours, &label.minutes, &label.seconds, &mark, &label.frames) != 5)
    return false;
  label.drop = mark == ';' && slow && to % 30 == 0;
  if (to != from || (mark == ';') != label.drop)
    convert(&label, from, to);
  snprintf(text, AV_TIMECODE_STR_SIZE, "%02d:%02d:%02d%c%02d", label.hours, label.minutes, label.seconds,
           label.drop ? ';' : ':', label.frames);
  return true;
}

void timecode_settle(AVDictionary **tags, const struct timecode_change *change, const struct log *log) {
  const AVDictionaryEntry *entry = av_dict_get(*tags, timecode_tag, NULL, 0);
  int pictures = change->passed > 0 ? (int)ceil(change->passed) : 0;
  char text[AV_TIMECODE_STR_SIZE];
  AVTimecode timecode;
  if (!entry)
    return;
  bool valid = change->input.num > 0 && av_timecode_init_from_string(&timecode, change->input, entry->value, NULL) >= 0;
  if (valid)
    av_timecode_make_string(&timecode, text, pictures);
  bool taken = valid && (change->output.num <= 0 || change_rate(text, change));
  if (!valid)
    log_line(log, LOG_WARNING, "the timecode %.32s is none at this frame rate and is left out", entry->value);
  else if (!taken)
    log_line(log, LOG_WARNING, "the timecode %.32s is left out: there are none at %.5g frames a second", entry->value,
             av_q2d(change->output));
  av_dict_set(tags, timecode_tag, taken ? text : NULL, 0);
}
