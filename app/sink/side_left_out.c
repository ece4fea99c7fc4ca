#include "app/sink/side_left_out.h"

#include <libavutil/bprint.h>

static const struct {
  const char *one, *many;
} words[SIDE_THINGS] = {
    [SIDE_SUBTITLES] = {"a subtitle track", "subtitle tracks"},
    [SIDE_CHAPTERS] = {"a chapter mark", "chapter marks"},
    [SIDE_COVERS] = {"a cover picture", "cover pictures"},
    [SIDE_ATTACHMENTS] = {"an attachment", "attachments"},
    [SIDE_TIMECODES] = {"a timecode", "timecodes"},
    [SIDE_VIDEOS] = {"another video track", "other video tracks"},
    [SIDE_DATA] = {"a data track", "data tracks"},
    [SIDE_TAGS] = {"a tag of the file", "tags of the file"},
    [SIDE_NAMES] = {"a track's name", "names of tracks"},
    [SIDE_LANGUAGES] = {"a track's language", "languages of tracks"},
    [SIDE_MARKS] = {"a track's mark such as dub or forced", "marks of tracks such as dub or forced"},
    [SIDE_DEFAULTS] = {"the default track", "default tracks"},
    [SIDE_TIMES] = {"the time of its creation", "times of creation"},
};

void side_left_out_tell(const int counts[SIDE_THINGS], const char *input, const struct log *log) {
  AVBPrint list;
  av_bprint_init(&list, 0, AV_BPRINT_SIZE_AUTOMATIC);
  for (int i = 0; i < SIDE_THINGS; i++)
    if (counts[i] == 1)
      av_bprintf(&list, "%s%s", list.len ? ", " : "", words[i].one);
    else if (counts[i])
      av_bprintf(&list, "%s%d %s", list.len ? ", " : "", counts[i], words[i].many);
  if (list.len)
    log_line(log, LOG_WARNING, "%s: left out: %s", input, list.str);
}
