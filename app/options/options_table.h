/* The table behind the command line, read by the parser (options.c) and by the writer of help, man page and completions
 * (options_text.c). */
#ifndef APP_OPTIONS_OPTIONS_TABLE_H
#define APP_OPTIONS_OPTIONS_TABLE_H

#include "app/options/options.h"

enum option_kind {
  OPTION_FLAG, /* a switch: stores true in a bool; given as "NAME=no", false */
  OPTION_TEXT, /* the value is a text: a pointer to it is stored, a const char * */
  /* stores a parameter's value in options.values; the table of parameters gives its type, range, choices, default and
   * help */
  OPTION_PARAMETER,
  /* may be repeated: the first text becomes a parameter's value in options.values, and all texts are stored in a
   * struct parameter_choices, from which keys select */
  OPTION_SEVERAL,
  OPTION_TEXTS,   /* may be repeated: stores all texts in a struct parameter_choices; there is no parameter */
  OPTION_PROMPT,  /* may be repeated: stores the next prompt (instance of the parameter) */
  OPTION_LORA,    /* may be repeated: stores the next LoRA, given as "FILE" or "FILE:WEIGHT" */
  OPTION_STYLE,   /* may be repeated: stores the next style picture, given as "FILE" or "FILE:WEIGHT" */
  OPTION_LFO,     /* may be repeated: sets the next LFO, given as "PARAMETER=WAVE*AMOUNT@PERIOD" and more (lfo.h) */
  OPTION_LAYERS,  /* the value is stored for each layer (instance of the parameter) */
  OPTION_CONTROL, /* may be repeated: stores the next control, given as "KIND", "KIND:MODEL" or "KIND:MODEL:WEIGHT" */
  OPTION_CONTROL_OFF,  /* like OPTION_CONTROL, but the control is switched off at first */
  OPTION_CONTROL_WITH, /* changes values of the last --control before this option: "NAME=NUMBER", separated by commas */
  OPTION_BLEND,        /* sets the prompts' weights: "INDEX" (weight 1) or "INDEX:WEIGHT", separated by commas */
  OPTION_ON,           /* a switch: sets a parameter in options.values to true; given as "NAME=no", to false */
  OPTION_OFF,          /* a switch: sets a parameter in options.values to false; given as "NAME=no", to true */
  OPTION_INT,
  OPTION_LONG,
  OPTION_REAL,        /* the value is a number, stored as a double */
  OPTION_RATE,        /* the value is a number of frames a second, which may be a fraction; stored as a double */
  OPTION_SECONDS,     /* the value is a time, as seconds.h reads it; stored as a double */
  OPTION_BUDGET,      /* the value is a number, stored as a double, or the word "display", stored as BUDGET_DISPLAY */
  OPTION_RANGE,       /* the value is a range, "A", "A-" or "A-B", each with ":STEP" or without; stored as a struct
                       * option_range */
  OPTION_SHARD,       /* the value is a part of a render, "I/N" or "A-B"; stored as a struct option_shard */
  OPTION_SIZE,        /* the value is a size, "WxH", stored as two ints */
  OPTION_OUTPUT_SIZE, /* the value is a size, "WxH", stored as two ints, or the word "source", stored as two
                       * OUTPUT_SIZE_SOURCE */
  OPTION_BYTES,       /* the value is a number of bytes, which may end with K, M or G; stored as a size_t */
  OPTION_CHOICE,      /* the value is one of the words in `choices`; its index, from 0, is stored as a value of an
                       * enum */
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

/* What shells offer to complete an option's value. */
enum option_value {
  VALUE_WORD,
  VALUE_FILE,
  VALUE_DIR,
  VALUE_MODEL /* a model's name, or a file */,
  VALUE_MAP /* a kind of control map, such as canny, after which ":MODEL" may follow */
};

struct option {
  const char *name;
  char letter; /* letter of the short form, such as 'o' of -o; 0: there is no short form */
  enum option_kind kind;
  enum option_group group;
  unsigned commands;   /* commands that have the option, as a set of bits 1 << enum command */
  const char *metavar; /* name of the value in the help, such as FILE; NULL: the option takes no value, or a choice */
  const char *choices; /* words that the value can be: "a|b|c"; NULL: any words or, for a parameter, the words of its
                        * choices */
  /* text for --help, man page and completions; NULL: the parameter's text is used, or the option is hidden if there is
   * no parameter */
  const char *help;
  size_t offset;   /* offset, in struct options, of the field that gets the value */
  double min, max; /* smallest and largest value, if the option takes a number */
  enum option_value value;
  enum parameter parameter;
  bool optional; /* true: the value may be left out, and is "" then; if it is given, it follows "=" */
};

/* Returns the choices of an option, "a|b|c". NULL: the option takes no choice. */
const char *option_choices(const struct option *option);
/* True if the option is a switch: it takes no value, or one of =yes and =no. */
bool option_is_switch(const struct option *option);
/* True if help, man page and completions leave the option out. */
bool option_is_hidden(const struct option *option);
enum { OPTION_HELP_MAX = 400 };
/* Returns the option's text for help, man page and completions; the buffer `help` may be used for it. NULL for a hidden
 * option. */
const char *option_help(const struct option *option, char help[OPTION_HELP_MAX]);

struct command_text {
  enum command command;
  const char *name, *arguments, *summary, *description;
  int arguments_min, arguments_max;
};

enum { OPTIONS_MAX = 160 };
extern const struct option option_table[];
extern const int option_count;
extern const struct command_text command_table[];
extern const int command_count;
extern const char *const option_group_titles[GROUPS];

#endif
