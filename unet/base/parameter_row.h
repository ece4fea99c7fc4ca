/* struct parameter_row, one row of the table of all parameters that users set (app/control/parameter_table.h), and the
 * defaults and words that rows of this table use. */
#ifndef UNET_BASE_PARAMETER_ROW_H
#define UNET_BASE_PARAMETER_ROW_H

#include <stdbool.h>
#include <stddef.h>

/* The prompt that is used if the user gives none. It changes the picture in a way that is easy to see. */
#define PARAMETER_PROMPT_DEFAULT "neon"
/* The prompt that is used if the user gives none, but a style picture that the model's own IP-Adapter reads: it leaves
 * the look to the picture. */
#define PARAMETER_PROMPT_STYLED "photo"
/* Words that a user gives in place of a file's name: PARAMETER_MODEL_BUILT_IN selects the small model that is part of
 * the program, PARAMETER_VAE_OWN the autoencoder that is part of the model, PARAMETER_IP_ADAPTER_OWN the IP-Adapter in
 * the model's folder. If a file or folder of such a name exists, that file is used, but not in place of the
 * IP-Adapter. */
#define PARAMETER_MODEL_BUILT_IN "mini"
#define PARAMETER_VAE_OWN "own"
#define PARAMETER_IP_ADAPTER_OWN "own"
/* The depth model that is used if the user names none. */
#define PARAMETER_DEPTH_USUAL "depth-anything/Depth-Anything-V2-Small-hf"
#define PARAMETER_WHOLE_MAX 9007199254740991.0 /* 2^53 - 1 */

/* The words of the parameter bank-layers. They name self-attention layers by the size of their input relative to the
 * picture; "+" joins several sizes. */
#define BANK_LAYER_WORDS "auto|1/8|1/16|1/32|1/64|1/8+1/16|1/16+1/32|1/32+1/64|1/8+1/16+1/32|all"

enum parameter_type {
  TYPE_REAL,   /* the value is a double */
  TYPE_WHOLE,  /* the value is an int64_t */
  TYPE_SWITCH, /* the value is a bool */
  TYPE_CHOICE, /* the value is an int: the index of the choice, from 0 */
  TYPE_SIZE,   /* the value is a struct parameter_size */
  TYPE_TEXT,   /* the value is a struct parameter_text */
};

/* What the program must do until a changed value has an effect on pictures. Parameters with NEED_START can be set only
 * on the command line, all others also while frames run. */
enum parameter_need {
  NEED_START,       /* the value is used only when the program starts */
  NEED_ENGINE,      /* a new engine is opened in the background, while the present one goes on making frames */
  NEED_PREPARATION, /* the engine prepares a new handle (buffers and graphs for the new values) in the background */
  NEED_ENCODING,    /* the engine encodes the text before the next frame that uses it */
  NEED_READING,     /* a file is read in the background, and the first frame after that uses its contents */
  NEED_FRAME,       /* a change has an effect from the next frame on */
  /* As NEED_FRAME, with one exception: if guidance changes to 1 or from 1, the network computes another number of
   * guidance rows (predictions for each latent: 1 without guidance, else 2). The engine then prepares a new handle,
   * unless the model takes the guidance scale as an input. */
  NEED_ROWS,
  NEED_NOTHING, /* the engine does not read the value, though it may change other parameters that the engine reads */
  NEEDS
};

/* The groups under which windows and pages list the parameters, in the order in which they list them. */
enum parameter_group {
  PARAMETER_GROUP_PROMPT,   /* parameters of texts, and of which texts are shown */
  PARAMETER_GROUP_PICTURE,  /* parameters of how the network makes a picture of the input */
  PARAMETER_GROUP_GUIDANCE, /* parameters of guidance: its strength, and the negative prompt */
  PARAMETER_GROUP_TIME,     /* parameters of what a picture takes from earlier pictures */
  PARAMETER_GROUP_CONTROL,  /* parameters of maps that steer the frame */
  PARAMETER_GROUP_STYLE,    /* parameters of style pictures, and of the network that reads them */
  PARAMETER_GROUP_MODEL,    /* parameters that name files of the model, and of what is added to it */
  PARAMETER_GROUP_SCENE,    /* parameters of presets, and of how presets fade in */
  PARAMETER_GROUP_SOURCE,   /* parameters of the source, whose frames the network reads */
  PARAMETER_GROUP_OUTPUT,   /* parameters of what the audience sees, and of what is recorded */
  PARAMETER_GROUP_TEMPO,    /* parameters of the clock of beats */
  PARAMETER_GROUP_WAVE,     /* parameters of LFOs, which move other parameters */
  PARAMETER_GROUP_SOUND,    /* parameters of how the sound is analysed: frequency bands and onsets */
  PARAMETER_GROUP_WINDOW,   /* parameters of windows, and of devices that control the program */
  PARAMETER_GROUPS
};

struct parameter_row {
  const char *name;
  enum parameter_type type;
  enum parameter_need need;
  int first, count; /* index of the first instance, and number of instances; count 0: the parameter has no index */
  /* byte offset of the first instance in struct parameters, and bytes from one instance to the next */
  size_t offset, size;
  enum parameter_group group;
  const char *label; /* name for people to read, with [] in the place of the number of an instance */
  /* position in the group's list, from 1; 0: after all parameters that have a position, in the order of the table */
  int order;
  int rank;        /* how much the parameter matters to somebody who performs: 1 the most; 0: it is only listed */
  double min, max; /* smallest and largest allowed number; for TYPE_SIZE, of each side */
  /* smallest and largest value that a knob or slider offers, a part of min..max; both 0: all of min..max */
  double low, high;
  double standard;     /* default value, for parameters that are numbers */
  bool by_model;       /* true: a parameter that the user has not set takes the value that the model recommends */
  int decimals;        /* number of decimals with which a TYPE_REAL is shown and rounded */
  const char *unit;    /* unit of a number; NULL: there is none */
  const char *choices; /* the words that the parameter may have, in the form "a|b|c"; TYPE_CHOICE only */
  const char *text;    /* default value of a parameter of type TYPE_TEXT; NULL: there is none */
  /* the default in words, for the help, where a value alone would not explain it; NULL: the value is shown */
  const char *from;
  const char *help;
};

#endif
