/* Lists the inputs of one render command, and names the output of each. */
#ifndef APP_RUN_INPUTS_H
#define APP_RUN_INPUTS_H

#include "app/options/options.h"

struct input_output {
  char *input, *output;
};

/* A list of inputs, each with its output. Zero-initialise to start. */
struct inputs {
  struct input_output *of;
  int count;
};

/* Lists the inputs that options name, in order. A glob is replaced by the matching files, or folders of picture
 * sequences, sorted by name. Each input's output is named by OUT on the command line: {name} becomes the input's file
 * name without folder and extension (of a sequence: the text before its number or, without such a text, its folder's
 * name), and {number} the input's number, from 1, padded with zeros.
 *
 * Returns 0, or -1 with err: a glob matches nothing, two inputs have the same output, or an output is one of several
 * inputs. The caller calls inputs_free in both cases. */
int inputs_find(struct inputs *inputs, const struct options *options, struct error *err);
void inputs_free(struct inputs *inputs);

/* Returns true if the output's name contains a placeholder, {name} or {number}. */
bool inputs_are_named(const char *output);

enum { INPUTS_NAME_MAX = 256 };
/* Writes the text that replaces {name} in the output's name for this input. */
void inputs_name(char name[INPUTS_NAME_MAX], const char *input);

#endif
