/* Parts of a screen, for FFmpeg's x11grab, which by itself grabs as much as all of the screen from wherever one begins.
 */
#ifndef APP_SOURCE_SCREEN_H
#define APP_SOURCE_SCREEN_H

#include <libavformat/avformat.h>

/* Where url says where the grabbed part begins (":0.0+100,100") and wishes not how large it is, it is wished to reach
 * to the screen's end. Nothing where the screen cannot be opened: opening it says why. */
void screen_wish_rest(AVDictionary **wishes, const AVInputFormat *format, const char *url);

#endif
