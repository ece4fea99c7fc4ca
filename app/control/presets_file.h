/* A file of presets that is open while the program runs. A thread of its own appends new presets, and reads the file
 * again when another program has changed it. If the file is damaged then, the presets in memory stay. The file may also
 * be a PNG that the live window saved; it has one preset and is never written.
 *
 * All functions except open and close are called on the window's thread and do not wait for the disk. */
#ifndef APP_CONTROL_PRESETS_FILE_H
#define APP_CONTROL_PRESETS_FILE_H

#include "app/control/presets.h"
#include "unet/base/log.h"
#include "unet/base/picture.h"

struct presets_file;

/* Opens and reads the file, and starts the thread. A file that does not exist counts as empty, and is made when a
 * preset is saved. `path` and `log` are borrowed and must outlive *file. Returns 0, or -1 with err set, also if the
 * file is damaged. */
int presets_file_open(struct presets_file **file, const char *path, const struct log *log, struct error *err);
/* Saves a preset that is still waiting to be saved, and ends the thread. *file becomes NULL; does nothing if it is
 * NULL. */
void presets_file_close(struct presets_file **file);

/* Returns the number of presets. */
int presets_file_count(struct presets_file *file);
/* Sets the values of preset `number` (from 1) in *changes, as presets_values does: they are marked as set, and
 * instances that the preset lacks get their value in `start`. `name` gets the preset's name, at most 80 bytes and a
 * terminating zero. Returns 0, or -1 with err. */
int presets_file_values(struct presets_file *file, int number, const struct parameters *start,
                        struct parameters *changes, char name[81], struct error *err);
/* Returns the number (from 1) of the first preset of this name; 0: there is none. */
int presets_file_find(struct presets_file *file, const char *name);
/* Copies the name of preset `number`; "" if there is no such preset. */
void presets_file_name(struct presets_file *file, int number, char name[81]);
/* Copies the name of the source that preset `number` is shown with (presets_source). Returns false if it has none. */
bool presets_file_source(struct presets_file *file, int number, char source[PRESET_SOURCE_MAX]);
/* Returns the seconds within which the values change to those of a preset (presets_fade). */
double presets_file_fade(struct presets_file *file, int number);
/* presets_file_list returns the JSON list of the presets (presets_list), presets_file_pictures the JSON list of the
 * paths of their small pictures (presets_pictures). The caller frees the text. */
char *presets_file_list(struct presets_file *file);
char *presets_file_pictures(struct presets_file *file);
/* Asks the background thread to append a preset with these values, named after the present time. It replaces a preset
 * that still waits to be saved. picture: the shown picture (PIXEL_RGBA), of which a small PNG is written to
 * FILE-pictures/NAME.png beside the file; NULL: none. Up to PRESETS_HOLDS pictures are held until they are written.
 * presets_file_refresh later reports the result. */
enum { PRESETS_HOLDS = 2 };
void presets_file_save(struct presets_file *file, const struct parameters *values, const struct frame *picture);
/* Asks the thread that saves presets to set other members of the file: those of the JSON object `members`
 * (presets_set_members). *file owns this text from then on. presets_file_refresh later reports whether the members were
 * saved. */
void presets_file_keep(struct presets_file *file, char *members);
/* Returns true if the thread that reads and saves presets has a new report: a preset was saved, the file was read
 * again, or one of these failed. Stores the report, which is already logged, in `line`, and its log level in `level`.
 * The window calls this in each pass of its loop. */
bool presets_file_refresh(struct presets_file *file, char *line, size_t size, enum log_level *level);

#endif
