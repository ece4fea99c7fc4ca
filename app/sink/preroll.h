/* Handles preroll: sound before a cut, which the decoder needs but which is not heard. */
#ifndef APP_SINK_PREROLL_H
#define APP_SINK_PREROLL_H

#include <libavformat/avformat.h>
#include <stdbool.h>

/* Returns how many seconds of packets before a cut a decoder needs for correct sound from the cut on: one packet if
 * packets overlap; 80 ms for Opus; for MP3 the earlier packets that contain part of a packet's data; 0 if packets are
 * decoded alone. */
double preroll_seconds(const AVCodecParameters *codec);

/* True if the sound after a cut begins with silence when the packets before the cut are missing, because the decoder
 * can make nothing of the first packets. */
bool preroll_is_vital(const AVCodecParameters *codec);

/* Writes into the header of an Opus stream that players skip its first `seconds`. Does nothing if the header has no
 * field for this number. */
void preroll_hide(AVCodecParameters *opus, double seconds);

#endif
