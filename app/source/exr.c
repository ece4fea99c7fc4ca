#include "app/source/exr.h"

#include <string.h>

#include <libavutil/intreadwrite.h>

enum { MAGIC = 0x01312f76, TILED = 0x200, SEVERAL_PARTS = 0x1000 };

struct layout {
  int64_t rows, rows_of_block;
  size_t table; /* byte offset of the file's table of block offsets */
};

/* Returns how many rows of pixels one block holds with this compression (its number in the header); 0: unknown. */
static int rows_of_block(uint8_t compression) {
  static const int rows[] = {1, 1, 1, 16, 32, 16, 32, 32, 32, 256};
  return compression < sizeof rows / sizeof *rows ? rows[compression] : 0;
}

static void take_attribute(struct layout *layout, const char *name, const uint8_t *value, size_t size) {
  if (!strcmp(name, "dataWindow") && size == 16)
    layout->rows = (int64_t)(int32_t)AV_RL32(value + 12) - (int32_t)AV_RL32(value + 4) + 1;
  else if (!strcmp(name, "compression") && size == 1)
    layout->rows_of_block = rows_of_block(*value);
}

/* Reads the header: a list of attributes, each with a name, a type and a size, which ends with an empty name.
 * Returns false if the file ends within it. */
static bool read_header(struct layout *layout, const uint8_t *data, size_t size) {
  size_t at = 8;
  while (at < size && data[at]) {
    const char *name = (const char *)data + at;
    const uint8_t *end = memchr(name, 0, size - at);
    const uint8_t *type_end = end ? memchr(end + 1, 0, size - (size_t)(end + 1 - data)) : NULL;
    size_t value = type_end ? (size_t)(type_end + 5 - data) : size;
    if (value >= size || AV_RL32(data + value - 4) > size - value)
      return false;
    take_attribute(layout, name, data + value, AV_RL32(data + value - 4));
    at = value + AV_RL32(data + value - 4);
  }
  layout->table = at + 1;
  return at < size;
}

bool exr_is_whole(const uint8_t *data, size_t size) {
  struct layout layout = {0};
  if (size < 8 || AV_RL32(data) != MAGIC)
    return false;
  if (AV_RL32(data + 4) & (TILED | SEVERAL_PARTS))
    return true;
  if (!read_header(&layout, data, size))
    return false;
  if (layout.rows < 1 || layout.rows_of_block < 1)
    return true;
  uint64_t blocks = (uint64_t)((layout.rows + layout.rows_of_block - 1) / layout.rows_of_block);
  if (blocks > (size - layout.table) / 8)
    return false;
  for (uint64_t i = 0; i < blocks; i++) {
    uint64_t offset = AV_RL64(data + layout.table + 8 * i);
    if (offset > size || size - offset < 8 || AV_RL32(data + offset + 4) > size - offset - 8)
      return false;
  }
  return true;
}
