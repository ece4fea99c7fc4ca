/* A show file holds all that a show needs, as JSON; LIVE.md describes it:
 *
 *   {"options": {"budget": 33, "to": ["srt://studio:9000"]},
 *    "sources": [{"name": "opening.mp4", "in": 2, "out": 3.5}, "/dev/video0"],
 *    "values": {"strength": 0.4, "prompt[1]": "neon"}, "keys": ["F1 scene night"],
 *    "midi": {"bindings": [...]}, "presets": [...]}
 *
 * options: options of the command live, by their names. sources: the sources, as the command line would name them; a
 * source with an in or an out point, in seconds, is an object. values: values of parameters. keys: lines as in
 * keys.conf. midi: the contents of a midi.json. presets: presets as in a file of presets (control/presets.h); the
 * program reads and writes the show file as such a file, too. Where the command line and the file set the same thing,
 * the command line decides.
 *
 * A show file that comes from a stranger opens nothing outside its folder and connects to nothing: unless the user
 * trusts it, files that it names must lie in its folder, and options that write files, listen, send, or pass text
 * to other libraries are refused. Members that are wrong are reported by name and ignored; the others are used. */
#ifndef APP_OPTIONS_SHOW_FILE_H
#define APP_OPTIONS_SHOW_FILE_H

#include <cjson/cJSON.h>

#include "app/options/options.h"

enum { SHOW_BYTES_MAX = 16 << 20 };

struct show_file {
  char *options;                          /* text of the options, as struct options_config takes it; "": none */
  char *keys;                             /* key bindings, as the text of a keys.conf; "": none */
  char *midi;                             /* MIDI bindings, as the text of a midi.json; "": none */
  const char *sources[FILES_MAX];         /* names of the sources; source_count is their number */
  struct option_points points[FILES_MAX]; /* in and out points of these sources; zeros: the whole source */
  int source_count;
  bool left_out;            /* true: something was left out because the file is not trusted */
  struct parameters values; /* values of parameters; those that the file contains are marked */
};

/* A callback that gets the reason, for the user, why a member of the show file is wrong. */
typedef void show_complain(void *opaque, const char *why);

/* Reads the text of a show file. folder: the file's folder, where relative names start. trusted: true: names may lie
 * anywhere, and all options are allowed. complain: called for each wrong member. The caller frees *show with
 * show_file_free once nothing points into it. Returns 0, or -1 with err if the text is no JSON object or memory is
 * short. */
int show_file_read(struct show_file **show, const char *text, const char *folder, bool trusted, show_complain *complain,
                   void *opaque, struct error *err);
void show_file_free(struct show_file **show); /* frees the show file; *show becomes NULL; does nothing if it is NULL */
/* Adds the file's sources to the options, if the options name no sources. Also adds the file's values, except those of
 * parameters that the options set. The options then point into *show. */
void show_file_apply(const struct show_file *show, struct options *options);

/* Returns a JSON object with the options of the command live that differ from their defaults, in the form of a show
 * file. Parameters are left out. Names of files that exist become absolute paths. NULL: memory is short. */
cJSON *show_file_options(const struct options *options);
/* Returns a JSON object with the values that differ from the defaults, of those that a show file may have. NULL: memory
 * is short. */
cJSON *show_file_values(const struct parameters *values);
/* Returns a source in the form of a show file: a string or, if it has an in or an out point, an object. name: the
 * result of show_file_name. NULL: memory is short. */
cJSON *show_file_source(const char *name, double in_s, double out_s);
/* Returns the absolute path of a file that exists. Any other name, such as that of a device or an address, is returned
 * unchanged. The caller frees the result. NULL: memory is short. */
char *show_file_name(const char *name);

#endif
