/* The file displays.json. It keeps for each display how the output window shows the picture on that display, as JSON
 * with an object for each display's name,
 *
 *   {"displays": {"HDMI-1": {"output-flip": "horizontal", "corner[1].x": 0.04}}}
 *
 * Names and values are those of the parameter table. */
#ifndef APP_CONTROL_DISPLAYS_FILE_H
#define APP_CONTROL_DISPLAYS_FILE_H

#include "app/control/parameters.h"

/* A parameter whose value is stored for each display. */
struct kept_value {
  enum parameter id;
  int index;
};
enum { KEPT_VALUES = 4 + 2 * OUTPUT_CORNERS };
extern const struct kept_value kept_values[KEPT_VALUES];

/* Returns true if a and b have the same values of all parameters that are stored for a display. */
bool displays_file_same(const struct parameters *a, const struct parameters *b);
/* Reads from the text of the file the values of the display of this name, and marks them in *values. The name of a
 * value that is not kept for a display is an error. Returns 1; 0: the file does not have this display, and nothing is
 * changed; -1 with err: the text is wrong, and some of *values may be changed. */
int displays_file_read(const char *text, const char *name, struct parameters *values, struct error *err);
/* Returns the text of displays.json in which the display `name` has these values; the caller frees it. before: the
 * file's present text (NULL: there is no file), whose other members are kept. NULL: memory is short, or `before` is no
 * JSON object of this form. */
char *displays_file_write(const char *before, const char *name, const struct parameters *values);

#endif
