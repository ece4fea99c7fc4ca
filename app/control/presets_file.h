/* A file of presets that is read again when it changes and takes in new ones, on a thread of its own. A damaged file
 * leaves the presets as they were. A picture (PNG) that live has saved is a file of one preset, which takes no more. */
#ifndef APP_CONTROL_PRESETS_FILE_H
#define APP_CONTROL_PRESETS_FILE_H

#include "app/control/presets.h"
#include "unet/base/log.h"

struct presets_file;

/* A file that is not there has no presets, and comes to be when one is saved. A damaged one is refused. path and log
 * last. */
int presets_file_open(struct presets_file **file, const char *path, const struct log *log, struct error *err);
/* Waits for what is being saved. Stores NULL; takes NULL. */
void presets_file_close(struct presets_file **file);

int presets_file_count(struct presets_file *file);
/* As presets_values; name (80 bytes and a zero) gets its name. */
int presets_file_values(struct presets_file *file, int number, const struct parameters *start,
                        struct parameters *changes, char name[81], struct error *err);
/* Adds a preset, named after the time, behind those there are; what becomes of it is told later. */
void presets_file_save(struct presets_file *file, const struct parameters *values);
/* Once a turn: true: line says what was saved, or read anew, or refused; the log has it, too. */
bool presets_file_refresh(struct presets_file *file, char *line, size_t size, enum log_level *level);

#endif
