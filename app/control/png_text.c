#include "app/control/png_text.h"

#include <errno.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "unet/base/platform.h"

enum { TEXTS_MAX = 4, FAST = 3 };

bool png_text_is(const char *path) {
  png_byte head[8] = {0};
  struct platform_file file;
  bool is = !platform_open(&file, path) && file.regular && platform_read(&file, 0, head, sizeof head) == sizeof head &&
            !png_sig_cmp(head, 0, sizeof head);
  platform_close(&file);
  return is;
}

/* libpng calls this function when an error occurs. The function stores the message, and jumps to the setjmp in the code
 * that called libpng, because libpng does not allow it to return. */
static void note_error(png_structp png, png_const_charp message) {
  error_set(png_get_error_ptr(png), STATUS_FAILED, "%s", message);
  png_longjmp(png, 1);
}

static void note_warning(png_structp png, png_const_charp message) {
  (void)png;
  (void)message;
}

static int copy_text(png_structp png, png_infop info, const char *key, char **text, struct error *err) {
  png_textp texts;
  int count = png_get_text(png, info, &texts, NULL);
  for (int i = 0; i < count; i++)
    if (!strcmp(texts[i].key, key) && texts[i].text) {
      *text = strdup(texts[i].text);
      return *text ? 0 : error_set(err, STATUS_FAILED, "no memory to read it");
    }
  return error_set(err, STATUS_USAGE, "a picture without a preset in it");
}

/* Reads the text with this key from an open PNG file. It must be a separate function: after libpng's longjmp, changed
 * local variables of the function that called setjmp are undefined. */
static int read_from(png_structp png, png_infop info, FILE *file, const char *key, char **text, struct error *err) {
  if (setjmp(png_jmpbuf(png)))
    return -1;
  png_init_io(png, file);
  png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  png_read_info(png, info);
  return copy_text(png, info, key, text, err);
}

int png_text_read(const char *path, const char *key, char **text, struct error *err) {
  struct error why = {.status = STATUS_USAGE, .message = "cannot be read"};
  FILE *file = platform_stream(path, "rb");
  png_structp png = file ? png_create_read_struct(PNG_LIBPNG_VER_STRING, &why, note_error, note_warning) : NULL;
  png_infop info = png ? png_create_info_struct(png) : NULL;
  *text = NULL;
  int status = info ? read_from(png, info, file, key, text, &why) : -1;
  png_destroy_read_struct(&png, &info, NULL);
  if (file)
    fclose(file);
  return status ? error_set(err, STATUS_USAGE, "%s: %s", path, why.message) : 0;
}

static int write_to(png_structp png, png_infop info, FILE *file, const struct frame *picture, png_textp texts,
                    int count) {
  if (setjmp(png_jmpbuf(png)))
    return -1;
  png_init_io(png, file);
  png_set_compression_level(png, FAST);
  png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
  png_set_IHDR(png, info, (png_uint_32)picture->width, (png_uint_32)picture->height, 8, PNG_COLOR_TYPE_RGB_ALPHA,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_sRGB(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
  png_set_text(png, info, texts, count);
  png_write_info(png, info);
  for (int y = 0; y < picture->height; y++)
    png_write_row(png, picture->plane[0] + (ptrdiff_t)y * picture->pitch[0]);
  png_write_end(png, info);
  return 0;
}

int png_text_write(FILE *file, const struct frame *picture, const struct png_words *texts, int count,
                   struct error *err) {
  png_text list[TEXTS_MAX] = {{0}};
  int used = 0;
  for (int i = 0; i < count && used < TEXTS_MAX; i++)
    if (texts[i].text)
      list[used++] = (png_text){.compression = PNG_ITXT_COMPRESSION_NONE,
                                .key = (png_charp)(uintptr_t)texts[i].key,
                                .text = (png_charp)(uintptr_t)texts[i].text,
                                .lang = (png_charp)(uintptr_t) "",
                                .lang_key = (png_charp)(uintptr_t) ""};
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, err, note_error, note_warning);
  png_infop info = png ? png_create_info_struct(png) : NULL;
  int status = info ? write_to(png, info, file, picture, list, used) : error_set(err, STATUS_FAILED, "no memory");
  /* a failed write gets this message, because libpng's own does not say that the file could not be written */
  if (status && ferror(file))
    error_set(err, STATUS_OUTPUT, "cannot be written: %s", strerror(errno));
  png_destroy_write_struct(&png, &info);
  return status;
}
