/* The table behind the command line, shared by the parser (options.c) and what is written from it (options_text.c). */
#ifndef APP_OPTIONS_OPTIONS_TABLE_H
#define APP_OPTIONS_OPTIONS_TABLE_H

#include "app/options/options.h"

enum option_kind {
  OPTION_FLAG,         /* bool */
  OPTION_TEXT,         /* const char * */
  OPTION_PARAMETER,    /* in options.values; the parameter's row has type, range, choices, default and help */
  OPTION_SEVERAL,      /* likewise the first; all are a struct parameter_choices */
  OPTION_TEXTS,        /* all are a struct parameter_choices, and none is a parameter */
  OPTION_PROMPT,       /* the next of the parameter's instances */
  OPTION_LORA,         /* likewise, "FILE" or "FILE:WEIGHT" */
  OPTION_STYLE,        /* likewise */
  OPTION_LAYERS,       /* all of the instances alike */
  OPTION_CONTROL,      /* likewise, "KIND", "KIND:MODEL" or "KIND:MODEL:WEIGHT" */
  OPTION_CONTROL_OFF,  /* likewise, switched off */
  OPTION_CONTROL_WITH, /* of the control given last: "NAME=NUMBER", with commas between */
  OPTION_BLEND,        /* some of the instances: "INDEX" or "INDEX:NUMBER", with commas between */
  OPTION_ON,           /* a switch of options.values */
  OPTION_OFF,
  OPTION_INT,
  OPTION_LONG,
  OPTION_REAL,    /* double */
  OPTION_SECONDS, /* double; a time as seconds.h reads it */
  OPTION_BUDGET,  /* double; or the word display, which is BUDGET_DISPLAY */
  OPTION_SIZE,    /* two ints, "WxH" */
  OPTION_BYTES,   /* size_t, with K, M, G */
  OPTION_CHOICE,  /* an enum whose values are 0, 1, ... in the order of choices */
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

/* What a shell completes a value with. */
enum option_value {
  VALUE_WORD,
  VALUE_FILE,
  VALUE_DIR,
  VALUE_MODEL /* a model's name, or a file */,
  VALUE_MAP /* a kind of map, and more */
};

struct option {
  const char *name;
  char letter; /* 0: none */
  enum option_kind kind;
  enum option_group group;
  unsigned commands;   /* bit 1 << enum command */
  const char *metavar; /* NULL: takes no value, or a choice */
  const char *choices; /* "a|b|c" */
  const char *help;    /* for --help, man and completions; NULL: the parameter's, or hidden where there is none */
  size_t offset;       /* into struct options */
  double min, max;     /* numbers */
  enum option_value value;
  enum parameter parameter;
  bool optional; /* the value may be left out, and is "" then; a given one stands behind = */
};

/* NULL: the option takes no choice. */
const char *option_choices(const struct option *option);
bool option_is_hidden(const struct option *option);
enum { OPTION_HELP_MAX = 400 };
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
