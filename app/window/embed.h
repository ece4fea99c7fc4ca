/* Files that the build compiles into the program (embed.sh): the shaders as C strings, and the file of the built-in
 * font. */
#ifndef APP_WINDOW_EMBED_H
#define APP_WINDOW_EMBED_H

extern const char embed_present_vert[], embed_picture_frag[], embed_bicubic_frag[], embed_input_frag[];
extern const char embed_text_vert[], embed_text_frag[];
extern const unsigned char embed_font[], embed_font_end[];

#endif
