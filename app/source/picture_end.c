#include "app/source/picture_end.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "unet/base/platform.h"

enum { NAME_MAX_BYTES = 256 };

/* Reads a little-endian number of this many bytes, at most 8. At the end of the file, missing bytes count as 255, so
 * that a file offset that is read there lies beyond the end. */
static uint64_t read_number(FILE *file, int bytes) {
  uint64_t number = 0;
  for (int i = 0; i < bytes; i++)
    number |= (uint64_t)(fgetc(file) & 255) << (8 * i);
  return number;
}

/* Reads a text that ends with a zero byte. Returns false if the text with this byte is longer than NAME_MAX_BYTES, or
 * if the file ends within it. */
static bool read_text(FILE *file, char text[NAME_MAX_BYTES]) {
  for (int i = 0; i < NAME_MAX_BYTES; i++) {
    int c = fgetc(file);
    if (c == EOF)
      return false;
    text[i] = (char)c;
    if (!c)
      return true;
  }
  return false;
}

/* --- the end of a JPEG --- */

/* True if the last bytes of a JPEG do not have the marker of its end (EOI). The marker need not be at the very end,
 * because some programs append bytes to a picture. Compressed data cannot contain this marker. */
static bool jpeg_is_cut(FILE *file, long size) {
  enum { LAST = 4096 };
  uint8_t bytes[LAST];
  long from = size > LAST ? size - LAST : 0;
  size_t got = fseek(file, from, SEEK_SET) ? 0 : fread(bytes, 1, sizeof bytes, file);
  for (size_t i = 0; i + 1 < got; i++)
    if (bytes[i] == 0xFF && bytes[i + 1] == 0xD9)
      return false;
  return true;
}

/* --- OpenEXR, by its file layout (openexr.com/en/latest/OpenEXRFileLayout.html) --- */

/* Returns how many lines of pixels a block has with this compression (its number in the header); 0: unknown. */
static int lines_of(int compression) {
  static const int lines[] = {1, 1, 1, 16, 32, 16, 32, 32, 32, 256};
  return compression >= 0 && compression < (int)(sizeof lines / sizeof *lines) ? lines[compression] : 0;
}

/* Reads the attributes of an OpenEXR file's header. Returns the number of blocks into which the file divides the
 * picture's lines; 0: unknown. */
static long count_blocks(FILE *file) {
  char name[NAME_MAX_BYTES], type[NAME_MAX_BYTES];
  int lines = 0;
  int64_t height = 0;
  while (read_text(file, name) && *name) {
    if (!read_text(file, type))
      return 0;
    long size = (long)(uint32_t)read_number(file, 4), at = ftell(file);
    if (!strcmp(name, "compression"))
      lines = lines_of(fgetc(file));
    if (!strcmp(name, "dataWindow")) {
      read_number(file, 4);
      int64_t top = (int32_t)read_number(file, 4);
      read_number(file, 4);
      height = (int32_t)read_number(file, 4) - top + 1;
    }
    if (fseek(file, at + size, SEEK_SET))
      return 0;
  }
  return lines && height > 0 ? (long)((height + lines - 1) / lines) : 0;
}

/* True if the file of an OpenEXR picture is cut: its last block, as the table of block offsets says, goes beyond the
 * end of the file. A block has a line number, its size in bytes, and that many bytes of data. */
static bool exr_is_cut(FILE *file, long size) {
  enum { LONG_NAMES = 0x400, VERSION = 0xFF };
  if (fseek(file, 4, SEEK_SET) || read_number(file, 4) & ~(uint64_t)(VERSION | LONG_NAMES))
    return false;
  long blocks = count_blocks(file);
  uint64_t last = 0, whole = (uint64_t)size;
  if (blocks > size / 8)
    return true;
  for (long i = 0; i < blocks; i++) {
    uint64_t at = read_number(file, 8);
    last = at > last ? at : last;
  }
  if (!blocks)
    return false;
  if (last > whole - 8 || whole < 8 || fseek(file, (long)last + 4, SEEK_SET))
    return true;
  return read_number(file, 4) > whole - last - 8;
}

bool picture_is_cut(const char *path) {
  static const uint8_t jpeg[] = {0xFF, 0xD8}, exr[] = {0x76, 0x2F, 0x31, 0x01};
  uint8_t first[4] = {0};
  FILE *file = platform_stream(path, "rb");
  if (!file)
    return false;
  bool cut = false;
  size_t got = fread(first, 1, sizeof first, file);
  long size = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
  if (got == sizeof first && size > 0 && !memcmp(first, jpeg, sizeof jpeg))
    cut = jpeg_is_cut(file, size);
  if (got == sizeof first && size > 0 && !memcmp(first, exr, sizeof exr))
    cut = exr_is_cut(file, size);
  fclose(file);
  return cut;
}
