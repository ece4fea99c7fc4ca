#include "app/remote/scene_picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "unet/base/platform.h"

/* Returns the number in "/scene/NUMBER.png"; 0: the path is another one. */
static int read_number(const char *path) {
  int number = 0, end = 0;
  if (sscanf(path, "/scene/%4d.png%n", &number, &end) != 1 || !end || path[end] || number < 1)
    return 0;
  return number;
}

/* Returns the whole file if it is a PNG of at most SCENE_PICTURE_MAX bytes; otherwise NULL. */
static void *read_png(const char *path, size_t *size) {
  static const unsigned char signature[] = "\x89PNG\r\n\x1a\n";
  struct platform_file file;
  if (platform_open(&file, path))
    return NULL;
  *size = (size_t)file.size;
  bool fits = file.regular && *size >= sizeof signature - 1 && *size <= SCENE_PICTURE_MAX;
  char *bytes = fits ? malloc(*size) : NULL;
  if (bytes && (platform_read(&file, 0, bytes, *size) < 0 || memcmp(bytes, signature, sizeof signature - 1) != 0)) {
    free(bytes);
    bytes = NULL;
  }
  platform_close(&file);
  return bytes;
}

void *scene_picture_read(struct hub *hub, const char *path, size_t *size) {
  int number = read_number(path);
  char *text = number ? hub_get_list(hub, HUB_SCENE_FILES) : NULL;
  cJSON *files = text ? cJSON_Parse(text) : NULL;
  const char *file = cJSON_GetStringValue(cJSON_GetArrayItem(files, number - 1));
  void *bytes = file && *file ? read_png(file, size) : NULL;
  cJSON_Delete(files);
  free(text);
  return bytes;
}
