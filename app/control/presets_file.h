/* A file of presets that is open while the program runs. A thread of its own saves new presets to it, and reads it
 * again when another program has changed it. If it is damaged then, the presets stay as they were. The file may also be
 * a PNG picture that live saved, which contains one preset and is never written. All functions except open and close
 * are called on the window's thread and do not wait for the disk. */
#ifndef APP_CONTROL_PRESETS_FILE_H
#define APP_CONTROL_PRESETS_FILE_H

#include "app/control/presets.h"
#include "unet/base/log.h"

struct presets_file;

/* Opens and reads the file, and starts the thread. A file that does not exist counts as empty, and is made when a
 * preset is saved. path and log are borrowed and must outlive *file. Returns 0, or -1 with err set, also if the file is
 * damaged. */
int presets_file_open(struct presets_file **file, const char *path, const struct log *log, struct error *err);
/* Saves a preset that is still waiting to be saved, and ends the thread. Stores NULL; accepts NULL. */
void presets_file_close(struct presets_file **file);

/* Returns the number of presets. */
int presets_file_count(struct presets_file *file);
/* Gets the values of a preset as presets_values does: marked, with those of `start` for instances that the preset's
 * lists lack. number: from 1. name gets the preset's name: at most 80 bytes and a terminating zero byte. */
int presets_file_values(struct presets_file *file, int number, const struct parameters *start,
                        struct parameters *changes, char name[81], struct error *err);
/* Asks the thread to append a preset of these values, named after the present time. presets_file_refresh later reports
 * whether it was saved. */
void presets_file_save(struct presets_file *file, const struct parameters *values);
/* Returns true if the thread has something to report since the last call: a preset was saved, the file was read again,
 * or one of these failed. line and level get its message, which has been logged already. The window calls it at each
 * turn of its loop. */
bool presets_file_refresh(struct presets_file *file, char *line, size_t size, enum log_level *level);

#endif
