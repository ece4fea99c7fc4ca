/* Writes a golden's checkpoint as one file in the original key layout. */
#ifndef TESTS_SINGLE_FILE_H
#define TESTS_SINGLE_FILE_H

#include "tests/rigs/golden.h"

/* Ways in which the file may differ from a correct one. */
struct single_file_change {
  const char *without;   /* tensors whose names begin with this are left out; NULL: none */
  const char *only;      /* all tensors whose names do not begin with this are left out; NULL: none */
  const char *from, *to; /* names that begin with `from` begin with `to` instead; NULL: none */
  const char *extra;     /* a tensor of this name is added, a vector of two; NULL: none */
  const char *metadata;  /* fields of __metadata__; NULL: none */
};

/* Writes folder/name from the golden's folder, as its original.json says. change may be NULL. Errors fail the test. */
void single_file_write(const struct golden *golden, const char *folder, const char *name,
                       const struct single_file_change *change);

#endif
