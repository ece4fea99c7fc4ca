/* Usage: drag WINDOW TYPE TEXT. Drops a text of that type (text/uri-list: addresses of files, one a line) on a window,
 * as a file manager does when the user lets go. It speaks the source's part of the XDND protocol, version 5, and prints
 * whether the text was taken. */
#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 5, PATIENCE_MS = 60000 };

static Display *display;
static Window own, target;
static Atom type;
static const char *text;

static Atom atom(const char *name) {
  return XInternAtom(display, name, False);
}

static void tell(const char *message, long a, long b, long c, long d) {
  XEvent event = {.xclient = {.type = ClientMessage,
                              .display = display,
                              .window = target,
                              .message_type = atom(message),
                              .format = 32,
                              .data.l = {(long)own, a, b, c, d}}};
  XSendEvent(display, target, False, NoEventMask, &event);
}

/* Stores the text in the property that the target names. */
static void answer(const XSelectionRequestEvent *request) {
  XEvent event = {.xselection = {.type = SelectionNotify,
                                 .requestor = request->requestor,
                                 .selection = request->selection,
                                 .target = request->target,
                                 .property = request->property,
                                 .time = request->time}};
  XChangeProperty(display, request->requestor, request->property, request->target, 8, PropModeReplace,
                  (const unsigned char *)text, (int)strlen(text));
  XSendEvent(display, request->requestor, False, NoEventMask, &event);
}

/* Waits until the target sends this message. */
static bool await(const char *message, XClientMessageEvent *told) {
  struct pollfd server = {.fd = ConnectionNumber(display), .events = POLLIN};
  while (XPending(display) || poll(&server, 1, PATIENCE_MS) == 1) {
    XEvent event;
    XNextEvent(display, &event);
    if (event.type == SelectionRequest)
      answer(&event.xselectionrequest);
    *told = event.xclient;
    if (event.type == ClientMessage && told->message_type == atom(message))
      return true;
  }
  return false;
}

int main(int argc, char **argv) {
  if (argc != 4 || !(display = XOpenDisplay(NULL)))
    return 2;
  target = strtoul(argv[1], NULL, 0);
  type = atom(argv[2]);
  text = argv[3];
  own = XCreateSimpleWindow(display, DefaultRootWindow(display), 0, 0, 1, 1, 0, 0, 0);
  XSetSelectionOwner(display, atom("XdndSelection"), own, CurrentTime);
  XClientMessageEvent told;
  tell("XdndEnter", VERSION << 24, (long)type, 0, 0);
  tell("XdndPosition", 0, 10 << 16 | 10, CurrentTime, (long)atom("XdndActionCopy"));
  if (!await("XdndStatus", &told))
    return 1;
  bool taken = told.data.l[1] & 1;
  if (taken)
    tell("XdndDrop", 0, CurrentTime, 0, 0);
  else
    tell("XdndLeave", 0, 0, 0, 0);
  XFlush(display);
  if (taken && !await("XdndFinished", &told))
    return 1;
  puts(taken ? "taken" : "refused");
  return 0;
}
