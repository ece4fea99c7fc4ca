#include "app/sink/chapters.h"

#include <libavutil/avstring.h>

#include "app/source/ffmpeg_util.h"

bool chapters_are_kept(const AVOutputFormat *container) {
  return av_match_name(container->name, "mp4,mov,ipod,matroska,webm,nut,asf,asf_stream");
}

int chapters_copy(AVFormatContext *output, const AVFormatContext *input, int64_t origin, double duration) {
  for (unsigned i = 0; i < input->nb_chapters; i++) {
    const AVChapter *from = input->chapters[i];
    int64_t shift = av_rescale_q(origin, AV_TIME_BASE_Q, from->time_base);
    int64_t last = av_rescale_q((int64_t)(duration * AV_TIME_BASE), AV_TIME_BASE_Q, from->time_base);
    int64_t start = FFMAX(from->start - shift, 0);
    int64_t end = from->end == AV_NOPTS_VALUE ? from->end : from->end - shift;
    if (duration > 0 && (end == AV_NOPTS_VALUE || end > last))
      end = last;
    bool outside = (duration > 0 && start >= last) || (end != AV_NOPTS_VALUE && end <= start);
    if (!outside && ffmpeg_add_chapter(output, from, start, end))
      return -1;
  }
  return 0;
}
