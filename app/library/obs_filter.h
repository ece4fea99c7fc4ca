/* Declares what the files of the OBS filter share. obs_filter.c is the filter itself, on OBS's graphics thread;
 * obs_worker.c is the thread that owns an engine; obs_properties.c turns the library's parameters into properties and
 * settings. Memory comes from libobs (bmalloc, bfree), which ends the process if there is none left.
 *
 * The headers of libobs are under the GNU General Public License 2 or later, and so is the compiled plug-in, which
 * includes them. The filter's source files themselves are under reverie's licence. */
#ifndef APP_LIBRARY_OBS_FILTER_H
#define APP_LIBRARY_OBS_FILTER_H

#include <obs-module.h>

#include "app/library/reverie.h"

/* --- obs_properties.c: parameters of the library as properties and settings of OBS --- */

/* One of the library's parameters, or one instance of a parameter. */
struct obs_row {
  char *name; /* name of the parameter, such as "lora[1].weight"; OBS's setting and property have the same name */
  struct reverie_parameter about;
};

struct obs_rows {
  struct obs_row *row;
  int count;
};

/* Lists the parameters that a user of OBS can set. The caller frees the list with rows_free. */
struct obs_rows *rows_list(void);
void rows_free(struct obs_rows *rows);

/* Sets the defaults of a filter's settings; its type is that of obs_source_info.get_defaults. */
void set_defaults(obs_data_t *settings);
/* Makes the properties view; its type is that of obs_source_info.get_properties. */
obs_properties_t *make_properties(void *filter);

/* Value of a parameter. */
struct obs_value {
  bool given;    /* false: the user has not set the parameter, so the engine uses its default, or the value that suits
                  * the model */
  double number; /* value of a number, a switch or a choice (index of its word) */
  char *text;    /* value of a text or a size; NULL: the parameter has another type or is not given */
};

/* The settings of a filter at one time. */
struct wish {
  int count;
  struct obs_value *value; /* `count` values, one for each parameter in the list that rows_list returns */
  char *device;            /* name of the device as in struct reverie_config: "auto", "cpu", "cuda" or "cuda:N" */
  int threads;             /* number of threads with which a CPU makes pictures; 0: one for each core */
  uint64_t time;           /* when the settings were read, in ns of os_gettime_ns */
};

/* Copies what a filter's settings say. The caller frees it with wish_free. */
struct wish *wish_read(const struct obs_rows *rows, obs_data_t *settings);
/* Frees what wish_read has returned; does nothing if it is NULL. */
void wish_free(struct wish *wish);
/* Returns true if the two values are the same. */
bool value_equal(const struct obs_value *first, const struct obs_value *second);
/* Returns true if two versions of a filter's settings differ in a setting that is read only when an engine is
 * opened. */
bool wish_opens_anew(const struct obs_rows *rows, const struct wish *first, const struct wish *second);
/* Sets the row's parameter of an engine to a value. Returns 0, or a status of the library with error. */
int value_apply(const struct obs_row *row, const struct obs_value *value, struct reverie *engine,
                struct reverie_error *error);

/* --- obs_worker.c: the thread that owns an engine and makes pictures of the newest frame --- */

struct worker;

/* Starts a thread that opens the engine once the first frame comes. Takes over wish; rows have to outlive the worker.
 * Returns NULL if the thread cannot be started, which is logged. */
struct worker *worker_start(const struct obs_rows *rows, struct wish *wish);
/* Ends the thread and frees the worker; waits for the picture that is being made. Does nothing if it is NULL. */
void worker_stop(struct worker *worker);
/* Gives the worker new settings, which the next frame uses. *wish belongs to the worker afterwards. Never waits. */
void worker_set(struct worker *worker, struct wish *wish);
/* Hands over a frame of RGBA: rows of `pitch` bytes, which are copied. A frame that the thread has not begun with is
 * replaced. time_ns: time of the frame, which counts from 0. Called by one thread; never waits for a picture. */
void worker_offer(struct worker *worker, const uint8_t *pixels, uint32_t pitch, uint32_t width, uint32_t height,
                  int64_t time_ns);
/* Takes the newest finished picture. The caller releases it with reverie_release, and does so before it takes
 * another one. Returns false if there is none that was not taken yet. Never waits for a picture. */
bool worker_take(struct worker *worker, struct reverie_picture *picture);
/* Returns true if the engine has failed. The worker tries to open an engine again when the filter's settings
 * change. */
bool worker_failed(struct worker *worker);

#endif
