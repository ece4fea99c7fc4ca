/* The mark of a job: a line of JSON that each picture of a sequence carries, so that a later render can tell with which
 * settings it was made. It contains all that decides pixels: the program, the input's content, the model and the
 * options, but not which part of the input is rendered. So all pictures of a job have the same mark, and so has a job
 * that renders more frames of the same input. */
#ifndef APP_JOB_MARK_H
#define APP_JOB_MARK_H

#include "app/job/job.h"

/* Key of the text in a PNG (chunk iTXt) that contains the mark. */
#define JOB_MARK_KEY "reverie-job"

/* Makes the line of JSON that identifies the job. The caller frees it. Returns 0, or -1 with err. */
int job_mark_write(char **mark, const struct job *job, struct error *err);
/* Compares the mark `was` of an existing picture with the mark `is` of the present job. Returns 0, or -1 with err,
 * which says what differs first. A text that is no mark counts as different. */
int job_mark_compare(const char *was, const char *is, struct error *err);

#endif
