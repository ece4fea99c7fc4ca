/* The mark of a render: a line of JSON in each picture file of a sequence, by which a later render can tell with which
 * settings the picture was made. It contains all that decides pixels: the program, the input's content, the model and
 * the options, but not which part of the input is rendered. So all pictures of a render have the same mark, and a
 * render of more frames of the same input has the same mark as well. */
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
