/* Fuzzes address patterns of OSC: whether a pattern matches an address is compared with the answer of a simple
 * backtracking matcher, which follows the standard word for word. The input is a pattern, a zero byte and an
 * address. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "app/remote/osc_pattern.h"

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("/reverie/{strength,mix}", "\0/reverie/mix"),
    FUZZ_SEED("/*a*b?[a-c]", "\0/xaybzc"),
    FUZZ_SEED("/[!ab-]*/{a,ab,}b", "\0/c/ab"),
    FUZZ_SEED("/**a**a**a**ab", "\0/aaaaaaaaaaaa"),
    FUZZ_SEED("/{a,aa,aaa}{a,aa,aaa}{a,aa}*", "\0/aaaaaaaa"),
    FUZZ_SEED("/a_b/[x-]/[-x]/[]", "\0/a-b/-/x/"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

enum { TRIES_MAX = 20000 };

static bool is_same(char pattern, char character) {
  return pattern == character || (pattern == '_' && character == '-');
}

/* True if the character is in the set between two brackets, whose text goes from `at` up to `end`. */
static bool names(const char *at, const char *end, char character) {
  bool others = *at == '!', named = false;
  for (at += others; at < end; at++)
    if (end - at > 2 && at[1] == '-') {
      named |= character >= at[0] && character <= at[2];
      at += 2;
    } else {
      named |= is_same(*at, character);
    }
  return named != others;
}

/* The backtracking matcher: tries all ways to match, at most *steps of them. */
static bool tries(const char *pattern, const char *address, int *steps) {
  if (--*steps < 0)
    return false;
  const char *end = *pattern == '[' ? strchr(pattern, ']') : *pattern == '{' ? strchr(pattern, '}') : NULL;
  bool any = *address && *address != '/';
  switch (*pattern) {
  case 0:
    return !*address;
  case '?':
    return any && tries(pattern + 1, address + 1, steps);
  case '*':
    return tries(pattern + 1, address, steps) || (any && tries(pattern, address + 1, steps));
  case '[':
    return any && names(pattern + 1, end, *address) && tries(end + 1, address + 1, steps);
  case '{':
    for (const char *word = pattern + 1; word <= end; word += strcspn(word, ",}") + 1) {
      size_t length = strcspn(word, ",}"), same = 0;
      while (same < length && address[same] && is_same(word[same], address[same]))
        same++;
      if (same == length && tries(end + 1, address + length, steps))
        return true;
    }
    return false;
  default:
    return is_same(*pattern, *address) && tries(pattern + 1, address + 1, steps);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char text[OSC_PATTERN_MAX + 2] = "", address[OSC_ADDRESS_MAX] = "";
  const uint8_t *zero = memchr(data, 0, size);
  size_t length = zero ? (size_t)(zero - data) : size;
  struct osc_pattern pattern;
  struct error err = {0};
  for (size_t i = 0; i < length && i + 1 < sizeof text; i++)
    text[i] = (char)data[i];
  for (size_t i = length + 1; i < size && data[i] && i - length < sizeof address; i++)
    address[i - length - 1] = (char)data[i];
  if (osc_pattern_read(&pattern, text, &err)) {
    FUZZ_CHECK(*err.message && !strchr(err.message, '\n'));
    return 0;
  }
  long most = (OSC_PATTERN_MAX + 1) * OSC_ADDRESS_MAX, work = most;
  int steps = TRIES_MAX;
  bool matches = osc_pattern_matches(&pattern, address, &work), tried = tries(text, address, &steps);
  FUZZ_CHECK(work >= 0);
  FUZZ_CHECK(steps < 0 || matches == tried);
  return 0;
}
