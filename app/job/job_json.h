/* Converts a job (a render as a whole) and one part of it to JSON and back, for the first line of a manifest. */
#ifndef APP_JOB_JOB_JSON_H
#define APP_JOB_JOB_JSON_H

#include <cjson/cJSON.h>

#include "app/job/job.h"

/* Adds the fields of the job and of the part to a JSON object. Returns 0, or -1 if memory is short. */
int job_to_json(cJSON *object, const struct job *job, const struct job_part *part);
/* Reads a job (the render as a whole) and a part of it from a JSON object. Members that the object lacks leave texts,
 * times, options and the header empty. Returns 1; 0 if a member is not as job_to_json writes it, or if a number, the
 * input or the part is missing; or -1 with err if memory is short. The caller frees job in each case. */
int job_from_json(struct job *job, struct job_part *part, const cJSON *object, struct error *err);

/* Stores a JSON member that is a whole number from `least` to `most`. Returns false if the member is no such number. */
bool job_json_whole(int64_t *value, const cJSON *object, const char *name, int64_t least, int64_t most);

/* Largest number up to which JSON's readers, which convert numbers to double, represent each whole number exactly. */
#define JOB_JSON_MOST INT64_C(9007199254740992)

#endif
