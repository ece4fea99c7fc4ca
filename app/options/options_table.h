/* The table behind the command line, read by the parser (options.c) and by the writer of help, man page and completions
 * (options_text.c). */
#ifndef APP_OPTIONS_OPTIONS_TABLE_H
#define APP_OPTIONS_OPTIONS_TABLE_H

#include "app/options/options.h"

enum option_kind {
  OPTION_FLAG, /* stores true in a bool */
  OPTION_TEXT, /* stores a const char * */
  /* stores a parameter in options.values; the parameter's row has type, range, choices, default and help */
  OPTION_PARAMETER,
  OPTION_SEVERAL, /* may be repeated: stores the first as OPTION_PARAMETER, and all in a struct parameter_choices */
  OPTION_TEXTS,   /* may be repeated: stores all in a struct parameter_choices; it is not a parameter */
  OPTION_PROMPT,  /* may be repeated: stores the next instance of an indexed parameter */
  OPTION_LORA,    /* may be repeated: stores the next instance, given as "FILE" or "FILE:WEIGHT" */
  OPTION_STYLE,   /* may be repeated: stores the next instance, given as "FILE" or "FILE:WEIGHT" */
  OPTION_LAYERS,  /* stores the same value in all instances of the parameter */
  OPTION_CONTROL, /* may be repeated: stores the next control, given as "KIND", "KIND:MODEL" or "KIND:MODEL:WEIGHT" */
  OPTION_CONTROL_OFF,  /* like OPTION_CONTROL, but the control is switched off */
  OPTION_CONTROL_WITH, /* changes the control given last: "NAME=NUMBER", separated by commas */
  OPTION_BLEND,        /* sets instances by their number: "INDEX" or "INDEX:NUMBER", separated by commas */
  OPTION_ON,           /* sets a switch of options.values to true; OPTION_OFF sets it to false */
  OPTION_OFF,
  OPTION_INT,
  OPTION_LONG,
  OPTION_REAL,    /* stores a double */
  OPTION_SECONDS, /* stores a double, a time as seconds.h reads it */
  OPTION_BUDGET,  /* stores a double; the word "display" is BUDGET_DISPLAY */
  OPTION_SIZE,    /* stores two ints, given as "WxH" */
  OPTION_BYTES,   /* stores a size_t; K, M and G are accepted */
  OPTION_CHOICE,  /* stores an enum whose values are 0, 1, ... in the order of choices */
  OPTION_VERBOSE,
  OPTION_QUIET,
  OPTION_HELP,
  OPTION_VERSION,
  OPTION_LIST_DEVICES,
  OPTION_GENERATE,
};

enum option_group {
  GROUP_PICTURE,
  GROUP_DEVICE,
  GROUP_INPUT,
  GROUP_OUTPUT,
  GROUP_BENCH,
  GROUP_WINDOW,
  GROUP_REMOTE,
  GROUP_GENERAL,
  GROUPS
};

/* What a shell offers as completions of a value. */
enum option_value {
  VALUE_WORD,
  VALUE_FILE,
  VALUE_DIR,
  VALUE_MODEL /* a model's name, or a file */,
  VALUE_MAP /* a kind of map, which ":MODEL" may follow */
};

struct option {
  const char *name;
  char letter; /* 0: none */
  enum option_kind kind;
  enum option_group group;
  unsigned commands;   /* bit 1 << enum command */
  const char *metavar; /* NULL: the option takes no value, or a choice */
  const char *choices; /* "a|b|c" */
  /* text for --help, man page and completions; NULL: the parameter's text, or hidden if there is no parameter */
  const char *help;
  size_t offset;   /* position of the field in struct options */
  double min, max; /* range of a number */
  enum option_value value;
  enum parameter parameter;
  bool optional; /* the value may be left out, and is "" then; if it is given, it follows "=" */
};

/* Returns the choices of an option, "a|b|c". NULL: the option takes no choice. */
const char *option_choices(const struct option *option);
/* True if help, man page and completions leave the option out. */
bool option_is_hidden(const struct option *option);
enum { OPTION_HELP_MAX = 400 };
/* Returns the option's text for help, man page and completions; it may be in `help`. NULL for a hidden option. */
const char *option_help(const struct option *option, char help[OPTION_HELP_MAX]);

struct command_text {
  enum command command;
  const char *name, *arguments, *summary, *description;
  int arguments_min, arguments_max;
};

enum { OPTIONS_MAX = 128 };
extern const struct option option_table[];
extern const int option_count;
extern const struct command_text command_table[];
extern const int command_count;
extern const char *const option_group_titles[GROUPS];

#endif
