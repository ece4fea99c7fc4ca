/* Writes a golden's model as a single file with the original names of tensors. */
#ifndef TESTS_SINGLE_FILE_H
#define TESTS_SINGLE_FILE_H

#include "tests/rigs/golden.h"

/* How the file differs from a correct one. */
struct single_file_change {
  const char *without; /* beginning of the names of tensors that are left out; NULL: none */
  /* beginning of the names of tensors that are written, while all others are left out; NULL: all are written */
  const char *only;
  const char *from, *to; /* names that begin with `from` are changed, so that they begin with `to`; NULL: none */
  const char *extra;     /* name of a tensor of two values that is added; NULL: none */
  const char *metadata;  /* fields of the header's object __metadata__, as JSON; NULL: there is no such object */
};

/* Writes folder/name from the model in the golden's folder, with the names in the golden's original.json.gz. change:
 * how the file differs from a correct one; NULL: not at all. Errors fail the test. */
void single_file_write(const struct golden *golden, const char *folder, const char *name,
                       const struct single_file_change *change);

#endif
