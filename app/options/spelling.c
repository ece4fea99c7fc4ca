#include "app/options/spelling.h"

#include <string.h>

int spelling_distance(const char *a, const char *b) {
  enum { MAX = 32 };
  int la = (int)strnlen(a, MAX), lb = (int)strnlen(b, MAX);
  int row[MAX + 1];
  for (int j = 0; j <= lb; j++)
    row[j] = j;
  for (int i = 1; i <= la; i++) {
    int diagonal = row[0];
    row[0] = i;
    for (int j = 1; j <= lb; j++) {
      int best = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      if (row[j] + 1 < best)
        best = row[j] + 1;
      if (row[j - 1] + 1 < best)
        best = row[j - 1] + 1;
      row[j] = best;
    }
  }
  return row[lb];
}
