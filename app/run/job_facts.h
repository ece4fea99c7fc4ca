/* Collects what identifies a render job (struct job) from its options and its engine: two renders with equal jobs make
 * pictures that fit together. */
#ifndef APP_RUN_JOB_FACTS_H
#define APP_RUN_JOB_FACTS_H

#include "app/job/job.h"
#include "app/options/options.h"

/* Fills the fields of *job (the description of a render) that are known before the output is opened: program, input,
 * model, device, number of frames in a run, and the options on which pictures or output depend. Left out are options
 * that may differ between machines or attempts (--device, --yes, --progress), and --shard. A file that an option names
 * is stored with its size and hash. Passwords are not stored: addresses are stored as address_shown returns them, and
 * --input-options as a digest.
 *
 * engine, prepared: the first of several engines, whose choices the others adopt; NULL: the engine's fields stay empty.
 * Called on the thread that submits frames, before other engines get any. The caller frees job, also after an error.
 * Returns 0, or -1 with err. */
int job_facts(struct job *job, const struct options *options, const struct engine *engine,
              const struct prepared *prepared, struct error *err);

/* Sets the options that say how the job's input is read: which part, in which format, and which sound track. The
 * strings in `options` then belong to `job`, which must outlive them. Returns 0; or -1 with err if the job has a value
 * that no option takes, or if sound is wanted but `options` has other --input-options than the job. */
int job_facts_of_input(const struct job *job, struct options *options, struct error *err);

#endif
