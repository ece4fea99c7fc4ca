/* Lists the options of render with which a picture depends not only on its own frame but also on earlier frames. */
#ifndef APP_RUN_EARLIER_FRAMES_H
#define APP_RUN_EARLIER_FRAMES_H

#include "app/options/options.h"

/* Consequences of an option that makes pictures depend on earlier frames, as bits. EARLIER_ONE: pictures must be made
 * one at a time, because each needs the one before. EARLIER_LOST: the pictures of a part differ from those in a render
 * of the whole clip. (engine_follow cannot prevent this, because it only computes the motion of the frames before.) */
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
 * consequences include all bits of `follows` (EARLIER_ONE, EARLIER_LOST; 0: any such option). NULL: none. */
const struct earlier_option *earlier_option_given(const struct options *options, unsigned follows);

#endif
