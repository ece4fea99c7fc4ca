/* Writes the text of the overlay's panels. A byte with a value of enum tone is a colour mark: the text after it has
 * that colour. Nothing here draws, so that tests can read the text. */
#ifndef APP_WINDOW_HUD_TEXT_H
#define APP_WINDOW_HUD_TEXT_H

#include <stddef.h>

#include "app/window/hud.h"

enum tone { TONE_PLAIN = 1, TONE_DIM, TONE_ALERT, TONE_TITLE, TONES };

enum { HUD_TEXT_MAX = 8192 };

/* hud_figures_text writes the measured values (frame rate, latency, model, ...), hud_notice_text the notice. Like the
 * other functions here that write text, they store "" if there is nothing to show. text holds HUD_TEXT_MAX bytes. */
void hud_figures_text(char *text, const struct hud_content *content);
void hud_notice_text(char *text, const struct hud_content *content);
/* Writes to `text` the address of the web page, of which a QR code is drawn; "" if no code is to be shown. */
void hud_code_text(char *text, const struct hud_content *content);
/* Breaks lines that are longer than this many columns. A line is broken at the last space before which the text fits
 * into the columns; a line without such a space is not broken. */
void hud_text_fold(char *text, int columns);
/* Breaks lines of measured values that are longer than this many columns. Lines are broken between two values, so that
 * no value is cut. */
void hud_text_fold_figures(char *text, int columns);
/* Writes the help text: a line for each key that the user has bound, and a line for each command with a label (the
 * names of its keys). A command is left out if the user has bound all of its keys. */
void hud_help_text(char *text, const struct hud_content *content);
/* Writes a line for each alert with its reason, if these lines are at most `lines`. Otherwise puts several alerts into
 * a line of at most `columns` characters: without reasons, and if that is still too much, without durations. Returns
 * the number of lines. */
int hud_alerts_text(char *text, const struct hud_content *content, int columns, int lines);
/* Reduces the text to page number `page` (from 0), and appends a line with the page's number. A page is `width`
 * characters wide and `lines` lines high, with as many columns of text as fit. Returns the number of pages, 0 for an
 * empty text. If there is at most one page, the text is not changed. */
int hud_text_page(char *text, int page, int width, int lines);
/* Number of spaces between two columns of text that are side by side. */
enum { HUD_COLUMN_GAP = 2 };
/* Stores the number of lines in the text, and the width of the longest one in character columns. */
void hud_text_measure(const char *text, int *lines, int *columns);
/* Returns the beginning of the text's second line; if it has only one line, its end. */
const char *hud_text_next_line(const char *text);
/* Writes the heading of the parameter list, and a line for each row: a colour mark, TONE_TITLE for a group's heading;
 * '>' for the selected row, else a space; 4 characters with the bar's length in thousandths (-1: no bar); the name in
 * HUD_NAME_COLUMNS characters; the value. */
void hud_list_text(char *text, const struct hud_content *content);
/* Writes the line that the user is typing: its label, then the text with the cursor in it. */
void hud_line_text(char *text, const struct hud_content *content);

#endif
