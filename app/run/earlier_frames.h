/* Lists the options of render with which a picture depends not only on its own frame but also on earlier frames. */
#ifndef APP_RUN_EARLIER_FRAMES_H
#define APP_RUN_EARLIER_FRAMES_H

#include "app/options/options.h"

/* Consequences of an option that makes pictures depend on earlier frames, as bits. EARLIER_ONE: the engine must make
 * pictures one at a time, because each picture needs the one before it. EARLIER_LOST: a part of the clip, rendered
 * alone, has other pictures than in a render of the whole clip. (It does not help to run engine_follow on the frames
 * before the part, because that computes only their motion.) */
enum { EARLIER_ONE = 1, EARLIER_LOST = 2 };

struct earlier_option {
  const char *name; /* the option as messages name it: "--noise carried" */
  const char *why;  /* a clause for messages that says how a picture depends on the frames before it */
  /* consequences of the option. EARLIER_ONE: pictures must be made one at a time; EARLIER_LOST: a part of the clip,
   * rendered alone, has other pictures than in a render of the whole clip */
  unsigned follows;
  bool (*is_given)(const struct options *options);
};

/* Some options make pictures depend on earlier frames. Returns the first such option that the user has given and whose
 * consequences include all bits of `follows` (EARLIER_ONE, EARLIER_LOST); 0: any of these options. NULL: the user has
 * given none. */
const struct earlier_option *earlier_option_given(const struct options *options, unsigned follows);

#endif
