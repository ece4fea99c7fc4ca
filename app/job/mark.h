/* The mark of a render: a line of JSON in each picture file of a sequence. From it a later render can tell with which
 * settings a picture was made. It contains all that decides pixels (program, input's content, model, options), but not
 * which frames are rendered. So all pictures of a render have the same mark, also if a later render of the input makes
 * more frames. */
#ifndef APP_JOB_MARK_H
#define APP_JOB_MARK_H

#include "app/job/job.h"

/* Key of the text in a PNG (chunk iTXt) that contains the mark. */
#define JOB_MARK_KEY "reverie-job"

/* Makes the mark: the line of JSON that identifies the settings of the render. The caller frees *mark. Returns 0, or
 * -1 with err. */
int job_mark_write(char **mark, const struct job *job, struct error *err);
/* Compares the mark `was` of an existing picture with the mark `is` of the present job. Returns 0, or -1 with err,
 * which says what differs first. A text that is no mark counts as different. */
int job_mark_compare(const char *was, const char *is, struct error *err);

#endif
