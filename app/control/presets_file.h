/* A file of presets. A thread of its own saves new presets to the file, and reads the file again when it changes. If
 * the file is damaged then, the presets stay as they were. A picture (PNG) that live has saved counts as a file with
 * one preset, and no preset can be added to it. All other functions are for one thread and do not wait for the disk. */
#ifndef APP_CONTROL_PRESETS_FILE_H
#define APP_CONTROL_PRESETS_FILE_H

#include "app/control/presets.h"
#include "unet/base/log.h"

struct presets_file;

/* Opens a file of presets. If it does not exist, there are no presets, and it is created when one is saved. A damaged
 * file is an error. path and log must outlive the file. */
int presets_file_open(struct presets_file **file, const char *path, const struct log *log, struct error *err);
/* Waits until the preset that is being saved is written. Stores NULL; takes NULL. */
void presets_file_close(struct presets_file **file);

/* Returns the number of presets. */
int presets_file_count(struct presets_file *file);
/* Gets the values of a preset, like presets_values. name gets its name: at most 80 bytes and a terminating zero. */
int presets_file_values(struct presets_file *file, int number, const struct parameters *start,
                        struct parameters *changes, char name[81], struct error *err);
/* Adds a preset of these values behind the others, named after the time. presets_file_refresh tells later if it was
 * saved. */
void presets_file_save(struct presets_file *file, const struct parameters *values);
/* Returns true if there is news: a preset was saved, the file was read again, or one of these failed. line gets the
 * message, which has also been logged. Called once a turn. */
bool presets_file_refresh(struct presets_file *file, char *line, size_t size, enum log_level *level);

#endif
