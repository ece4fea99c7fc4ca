/* Changes subtitles that are text from one codec to another: SRT, ASS, WebVTT and MP4's own (mov_text). */
#ifndef APP_SINK_SUBTITLE_TEXT_H
#define APP_SINK_SUBTITLE_TEXT_H

#include <libavformat/avformat.h>

struct subtitle_text;

/* Returns the codec for text subtitles that this container holds; AV_CODEC_ID_NONE: there is none. */
enum AVCodecID subtitle_text_codec(const AVOutputFormat *container);
/* Prepares to change subtitles of `from` to a codec, and fills `to` with the parameters of the result. Returns 0, or a
 * negative FFmpeg code if the subtitles are not text or cannot be changed; then *text is NULL. */
int subtitle_text_open(struct subtitle_text **text, const AVStream *from, enum AVCodecID codec, AVCodecParameters *to);
/* Replaces the packet's data by the same subtitle in the other codec; the packet's times stay. Returns 1; 0 if the
 * packet has no text; or a negative FFmpeg code. */
int subtitle_text_change(struct subtitle_text *text, AVPacket *packet);
/* Frees the converter; *text becomes NULL; does nothing if it is NULL. */
void subtitle_text_close(struct subtitle_text **text);

#endif
