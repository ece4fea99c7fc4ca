/* What the overlay's panels say, as text with marks: a byte of enum tone switches the colour of what follows. Knows
 * nothing of drawing, so that tests can read it. */
#ifndef APP_WINDOW_HUD_TEXT_H
#define APP_WINDOW_HUD_TEXT_H

#include <stddef.h>

#include "app/window/hud.h"

enum tone { TONE_PLAIN = 1, TONE_DIM, TONE_ALERT, TONE_TITLE, TONES };

enum { HUD_TEXT_MAX = 8192 };

/* Each writes "" where there is nothing to show. text holds HUD_TEXT_MAX bytes. */
void hud_figures_text(char *text, const struct hud_content *content);
void hud_notice_text(char *text, const struct hud_content *content);
void hud_help_text(char *text, const struct hud_content *content);
/* A line a row: '>' where it is chosen, what is filled of its bar in thousandths (-1: it has none) in 4 characters, its
 * name in HUD_NAME_COLUMNS, its value. */
void hud_list_text(char *text, const struct hud_content *content);
/* What the line that is typed looks like, all of it. */
void hud_line_text(char *text, const struct hud_content *content);

#endif
