/* Handles preroll: sound before a cut, which the decoder needs but which is not heard. */
#ifndef APP_SINK_PREROLL_H
#define APP_SINK_PREROLL_H

#include <libavformat/avformat.h>
#include <stdbool.h>

/* Returns how many seconds of packets before a cut a decoder needs so that its sound is right from the cut on. For
 * codecs whose packets overlap, that is one packet; for Opus, 80 ms; for MP3, the earlier packets that contain a part
 * of a packet's data; for codecs whose packets can be decoded alone, 0. */
double preroll_seconds(const AVCodecParameters *codec);

/* True if the sound after a cut begins with silence when the packets before the cut are missing, because the decoder
 * can make nothing of the first packets. */
bool preroll_is_vital(const AVCodecParameters *codec);

/* Writes into the header of an Opus stream that players skip its first `seconds`. Does nothing if the header has no
 * place for this number. */
void preroll_hide(AVCodecParameters *opus, double seconds);

#endif
