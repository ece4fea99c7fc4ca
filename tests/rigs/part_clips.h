/* Clips for the tests of parts and of several inputs, which are made once in the folder of the test. */
#ifndef TESTS_PART_CLIPS_H
#define TESTS_PART_CLIPS_H

#include "tests/rigs/clips.h"

/* film.mp4 has 29.97 frames a second and B-frames, jerky.mp4 uneven times, and late.ts times that do not begin at 0. */
static inline void make_clips(void) {
  shell("test -e late.ts || { " FFMPEG "-f lavfi -i testsrc2=s=64x64:r=30000/1001:d=1 -f lavfi -i sine=d=1 "
        "-c:v libx264 -bf 2 -g 12 -c:a aac film.mp4 && " FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=1.2 -f lavfi -i "
        "sine=d=1.2 -vf \"settb=1/1000,setpts='if(N,PREV_OUTPTS+17+mod(N*37,62),0)'\" -fps_mode passthrough "
        "-enc_time_base 1/1000 -c:v libx264 -bf 2 -g 12 -c:a aac jerky.mp4 && " FFMPEG
        "-itsoffset 0.3 -i film.mp4 -i film.mp4 -map 0:v -map 1:a -c copy late.ts; }");
}

/* pan.mp4 shows a moving picture. */
static inline void make_pan(void) {
  shell("test -e pan.mp4 || " FFMPEG "-f lavfi -i \"mandelbrot=s=320x240:r=25,trim=duration=0.32,crop=128:128:n*5:n\" "
        "-c:v libx264 -bf 2 pan.mp4");
}

#endif
