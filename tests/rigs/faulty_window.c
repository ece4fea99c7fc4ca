/* Makes the program's window fail. While the file named in REVERIE_FAULT_GL exists, the driver reports that the OpenGL
 * context was lost, and creates no other.
 *
 * With REVERIE_FAULT_SERVER the X server with that process id is killed when the 20th drawing begins. Xlib then leaves
 * the window's size undefined, and Mesa crashes because of that.
 *
 * It also writes to the file named in REVERIE_TOLD_TEXT whether input methods get the keys now. */
#include <SDL.h>
#include <epoxy/gl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

SDL_GLContext __real_SDL_GL_CreateContext(SDL_Window *window);
SDL_GLContext __wrap_SDL_GL_CreateContext(SDL_Window *window);

void __real_SDL_StartTextInput(void);
void __wrap_SDL_StartTextInput(void);
void __real_SDL_StopTextInput(void);
void __wrap_SDL_StopTextInput(void);

struct present;
struct present_view;
void __real_present_draw(struct present *present, const struct present_view *view);
void __wrap_present_draw(struct present *present, const struct present_view *view);
void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name);

static bool is_alive(int process) {
  char path[64], state = 'Z';
  snprintf(path, sizeof path, "/proc/%d/stat", process);
  FILE *file = fopen(path, "r");
  if (!file)
    return false;
  bool read = fscanf(file, "%*d %*s %c", &state) == 1;
  fclose(file);
  return read && state != 'Z';
}

void __wrap_present_draw(struct present *present, const struct present_view *view) {
  static long count;
  const char *server = getenv("REVERIE_FAULT_SERVER");
  if (server && ++count == 20)
    for (kill(atoi(server), SIGKILL); is_alive(atoi(server));)
      usleep(1000);
  __real_present_draw(present, view);
}

/* Xlib's XGetGeometry, which x11.c looks up. */
static int (*ask)(void *, unsigned long, unsigned long *, int *, int *, unsigned *, unsigned *, unsigned *, unsigned *);

static int ask_for_size(void *display, unsigned long drawable, unsigned long *root, int *x, int *y, unsigned *width,
                        unsigned *height, unsigned *border, unsigned *depth) {
  int got = ask(display, drawable, root, x, y, width, height, border, depth);
  if (!got)
    *width = *height = 65535;
  return got;
}

void *__wrap_dlsym(void *library, const char *name) {
  void *found = __real_dlsym(library, name);
  if (!found || strcmp(name, "XGetGeometry"))
    return found;
  *(void **)&ask = found;
  return (void *)ask_for_size;
}

static bool is_lost(void) {
  const char *path = getenv("REVERIE_FAULT_GL");
  return path && !access(path, F_OK);
}

static GLenum status(void) {
  return is_lost() ? GL_UNKNOWN_CONTEXT_RESET : GL_NO_ERROR;
}

SDL_GLContext __wrap_SDL_GL_CreateContext(SDL_Window *window) {
  if (!is_lost())
    return __real_SDL_GL_CreateContext(window);
  SDL_SetError("refused, as it was told to");
  return NULL;
}

static void tell_text(const char *words) {
  const char *path = getenv("REVERIE_TOLD_TEXT");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (!file)
    return;
  fputs(words, file);
  fclose(file);
}

void __wrap_SDL_StartTextInput(void) {
  __real_SDL_StartTextInput();
  tell_text("on");
}

void __wrap_SDL_StopTextInput(void) {
  __real_SDL_StopTextInput();
  tell_text("off");
}

/* Replaces libepoxy's pointer to the OpenGL function, which libepoxy would set on first use. */
__attribute__((constructor)) static void put_status(void) {
  epoxy_glGetGraphicsResetStatus = status;
}
