#include "app/window/fonts.h"

#include <stdio.h>

#include "unet/base/platform.h"

static const char *const paths[] = {
    "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc", /* where Debian installs the font */
    "/usr/share/fonts/noto-cjk/NotoSansCJK-Regular.ttc",      /* where Arch installs the font */
    "/usr/share/fonts/google-noto-sans-cjk-fonts/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/google-noto-cjk/NotoSansCJK-Regular.ttc", /* where Fedora installs the font */
    "/usr/share/fonts/truetype/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/truetype/wqy/wqy-microhei.ttc",
    "/usr/share/fonts/truetype/wqy/wqy-zenhei.ttc",
    "/usr/share/fonts/opentype/ipafont-gothic/ipag.ttf",
    "/usr/share/fonts/truetype/nanum/NanumGothic.ttf",
    "/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf",
    "/usr/share/fonts/truetype/unifont/unifont.ttf",
    "/System/Library/Fonts/PingFang.ttc",
    "/System/Library/Fonts/Hiragino Sans GB.ttc",
    "C:/Windows/Fonts/msgothic.ttc",
    "C:/Windows/Fonts/msyh.ttc",
};
enum { PATHS = sizeof paths / sizeof *paths };

/* This implementation opens nothing: the returned pointer is not NULL and stands for the constant list of paths. */
struct fonts *fonts_open(void) {
  return (struct fonts *)(void *)(uintptr_t)paths;
}

void fonts_close(struct fonts **fonts) {
  *fonts = NULL;
}

bool fonts_find(const struct fonts *fonts, uint32_t character, int number, struct font_file *file) {
  (void)character;
  int at = 0;
  while (fonts && at < PATHS && (!platform_can_read_file(paths[at]) || number-- > 0))
    at++;
  if (!fonts || at == PATHS)
    return false;
  file->index = 0;
  snprintf(file->path, sizeof file->path, "%s", paths[at]);
  return true;
}
