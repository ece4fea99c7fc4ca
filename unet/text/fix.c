/* Cleans a prompt's characters: as ftfy's fix_text does, or as transformers' tokenizer does without ftfy. */
#include "unet/text/fix.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The named entities of HTML 4, sorted by name. */
static const struct entity {
  const char *name;
  utf8proc_int32_t c;
} entities[] = {
    {"AElig", 0xC6},    {"Aacute", 0xC1},   {"Acirc", 0xC2},    {"Agrave", 0xC0},   {"Alpha", 0x391},
    {"Aring", 0xC5},    {"Atilde", 0xC3},   {"Auml", 0xC4},     {"Beta", 0x392},    {"Ccedil", 0xC7},
    {"Chi", 0x3A7},     {"Dagger", 0x2021}, {"Delta", 0x394},   {"ETH", 0xD0},      {"Eacute", 0xC9},
    {"Ecirc", 0xCA},    {"Egrave", 0xC8},   {"Epsilon", 0x395}, {"Eta", 0x397},     {"Euml", 0xCB},
    {"Gamma", 0x393},   {"Iacute", 0xCD},   {"Icirc", 0xCE},    {"Igrave", 0xCC},   {"Iota", 0x399},
    {"Iuml", 0xCF},     {"Kappa", 0x39A},   {"Lambda", 0x39B},  {"Mu", 0x39C},      {"Ntilde", 0xD1},
    {"Nu", 0x39D},      {"OElig", 0x152},   {"Oacute", 0xD3},   {"Ocirc", 0xD4},    {"Ograve", 0xD2},
    {"Omega", 0x3A9},   {"Omicron", 0x39F}, {"Oslash", 0xD8},   {"Otilde", 0xD5},   {"Ouml", 0xD6},
    {"Phi", 0x3A6},     {"Pi", 0x3A0},      {"Prime", 0x2033},  {"Psi", 0x3A8},     {"Rho", 0x3A1},
    {"Scaron", 0x160},  {"Sigma", 0x3A3},   {"THORN", 0xDE},    {"Tau", 0x3A4},     {"Theta", 0x398},
    {"Uacute", 0xDA},   {"Ucirc", 0xDB},    {"Ugrave", 0xD9},   {"Upsilon", 0x3A5}, {"Uuml", 0xDC},
    {"Xi", 0x39E},      {"Yacute", 0xDD},   {"Yuml", 0x178},    {"Zeta", 0x396},    {"aacute", 0xE1},
    {"acirc", 0xE2},    {"acute", 0xB4},    {"aelig", 0xE6},    {"agrave", 0xE0},   {"alefsym", 0x2135},
    {"alpha", 0x3B1},   {"amp", 0x26},      {"and", 0x2227},    {"ang", 0x2220},    {"aring", 0xE5},
    {"asymp", 0x2248},  {"atilde", 0xE3},   {"auml", 0xE4},     {"bdquo", 0x201E},  {"beta", 0x3B2},
    {"brvbar", 0xA6},   {"bull", 0x2022},   {"cap", 0x2229},    {"ccedil", 0xE7},   {"cedil", 0xB8},
    {"cent", 0xA2},     {"chi", 0x3C7},     {"circ", 0x2C6},    {"clubs", 0x2663},  {"cong", 0x2245},
    {"copy", 0xA9},     {"crarr", 0x21B5},  {"cup", 0x222A},    {"curren", 0xA4},   {"dArr", 0x21D3},
    {"dagger", 0x2020}, {"darr", 0x2193},   {"deg", 0xB0},      {"delta", 0x3B4},   {"diams", 0x2666},
    {"divide", 0xF7},   {"eacute", 0xE9},   {"ecirc", 0xEA},    {"egrave", 0xE8},   {"empty", 0x2205},
    {"emsp", 0x2003},   {"ensp", 0x2002},   {"epsilon", 0x3B5}, {"equiv", 0x2261},  {"eta", 0x3B7},
    {"eth", 0xF0},      {"euml", 0xEB},     {"euro", 0x20AC},   {"exist", 0x2203},  {"fnof", 0x192},
    {"forall", 0x2200}, {"frac12", 0xBD},   {"frac14", 0xBC},   {"frac34", 0xBE},   {"frasl", 0x2044},
    {"gamma", 0x3B3},   {"ge", 0x2265},     {"gt", 0x3E},       {"hArr", 0x21D4},   {"harr", 0x2194},
    {"hearts", 0x2665}, {"hellip", 0x2026}, {"iacute", 0xED},   {"icirc", 0xEE},    {"iexcl", 0xA1},
    {"igrave", 0xEC},   {"image", 0x2111},  {"infin", 0x221E},  {"int", 0x222B},    {"iota", 0x3B9},
    {"iquest", 0xBF},   {"isin", 0x2208},   {"iuml", 0xEF},     {"kappa", 0x3BA},   {"lArr", 0x21D0},
    {"lambda", 0x3BB},  {"lang", 0x2329},   {"laquo", 0xAB},    {"larr", 0x2190},   {"lceil", 0x2308},
    {"ldquo", 0x201C},  {"le", 0x2264},     {"lfloor", 0x230A}, {"lowast", 0x2217}, {"loz", 0x25CA},
    {"lrm", 0x200E},    {"lsaquo", 0x2039}, {"lsquo", 0x2018},  {"lt", 0x3C},       {"macr", 0xAF},
    {"mdash", 0x2014},  {"micro", 0xB5},    {"middot", 0xB7},   {"minus", 0x2212},  {"mu", 0x3BC},
    {"nabla", 0x2207},  {"nbsp", 0xA0},     {"ndash", 0x2013},  {"ne", 0x2260},     {"ni", 0x220B},
    {"not", 0xAC},      {"notin", 0x2209},  {"nsub", 0x2284},   {"ntilde", 0xF1},   {"nu", 0x3BD},
    {"oacute", 0xF3},   {"ocirc", 0xF4},    {"oelig", 0x153},   {"ograve", 0xF2},   {"oline", 0x203E},
    {"omega", 0x3C9},   {"omicron", 0x3BF}, {"oplus", 0x2295},  {"or", 0x2228},     {"ordf", 0xAA},
    {"ordm", 0xBA},     {"oslash", 0xF8},   {"otilde", 0xF5},   {"otimes", 0x2297}, {"ouml", 0xF6},
    {"para", 0xB6},     {"part", 0x2202},   {"permil", 0x2030}, {"perp", 0x22A5},   {"phi", 0x3C6},
    {"pi", 0x3C0},      {"piv", 0x3D6},     {"plusmn", 0xB1},   {"pound", 0xA3},    {"prime", 0x2032},
    {"prod", 0x220F},   {"prop", 0x221D},   {"psi", 0x3C8},     {"quot", 0x22},     {"rArr", 0x21D2},
    {"radic", 0x221A},  {"rang", 0x232A},   {"raquo", 0xBB},    {"rarr", 0x2192},   {"rceil", 0x2309},
    {"rdquo", 0x201D},  {"real", 0x211C},   {"reg", 0xAE},      {"rfloor", 0x230B}, {"rho", 0x3C1},
    {"rlm", 0x200F},    {"rsaquo", 0x203A}, {"rsquo", 0x2019},  {"sbquo", 0x201A},  {"scaron", 0x161},
    {"sdot", 0x22C5},   {"sect", 0xA7},     {"shy", 0xAD},      {"sigma", 0x3C3},   {"sigmaf", 0x3C2},
    {"sim", 0x223C},    {"spades", 0x2660}, {"sub", 0x2282},    {"sube", 0x2286},   {"sum", 0x2211},
    {"sup", 0x2283},    {"sup1", 0xB9},     {"sup2", 0xB2},     {"sup3", 0xB3},     {"supe", 0x2287},
    {"szlig", 0xDF},    {"tau", 0x3C4},     {"there4", 0x2234}, {"theta", 0x3B8},   {"thetasym", 0x3D1},
    {"thinsp", 0x2009}, {"thorn", 0xFE},    {"tilde", 0x2DC},   {"times", 0xD7},    {"trade", 0x2122},
    {"uArr", 0x21D1},   {"uacute", 0xFA},   {"uarr", 0x2191},   {"ucirc", 0xFB},    {"ugrave", 0xF9},
    {"uml", 0xA8},      {"upsih", 0x3D2},   {"upsilon", 0x3C5}, {"uuml", 0xFC},     {"weierp", 0x2118},
    {"xi", 0x3BE},      {"yacute", 0xFD},   {"yen", 0xA5},      {"yuml", 0xFF},     {"zeta", 0x3B6},
    {"zwj", 0x200D},    {"zwnj", 0x200C},
};

/* --- replacing HTML entities by their characters --- */

static int compare_names(const void *key, const void *entity) {
  return strcmp(key, ((const struct entity *)entity)->name);
}

static utf8proc_int32_t find_entity(const char *name) {
  const struct entity *found =
      bsearch(name, entities, sizeof entities / sizeof *entities, sizeof *entities, compare_names);
  return found ? found->c : -1;
}

/* Appends the character of a named entity. If a name in capitals is no entity, but the same name in small letters is
 * one, appends that entity's character as a capital. Returns false if there is no such entity; `name` may then be
 * changed. */
static bool add_named(struct builder *b, char *name) {
  utf8proc_int32_t c = find_entity(name);
  bool capitals = false;
  if (c < 0 && !strcmp(name, "apos"))
    c = 39;
  for (char *at = name; c < 0 && *at; at++) {
    if (islower((unsigned char)*at))
      return false;
    capitals = true;
    *at = (char)tolower((unsigned char)*at);
  }
  if (c < 0)
    c = find_entity(name);
  if (c == 0xDF && capitals)
    add_bytes(b, "SS", 2);
  else if (c >= 0)
    add_char(b, capitals ? utf8proc_toupper(c) : c);
  return c >= 0;
}

/* The characters 0x80 to 0x9F of Windows-1252. In Latin-1 the same codes are control characters, which no prompt
 * means. */
static const utf8proc_int32_t windows_1252[32] = {
    0x20AC, 0x81,   0x201A, 0x192,  0x201E, 0x2026, 0x2020, 0x2021, 0x2C6,  0x2030, 0x160,
    0x2039, 0x152,  0x8D,   0x17D,  0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x2DC,  0x2122, 0x161,  0x203A, 0x153,  0x9D,   0x17E,  0x178,
};

static utf8proc_int32_t from_windows(utf8proc_int32_t c) {
  return c >= 0x80 && c <= 0x9F ? windows_1252[c - 0x80] : c;
}

/* Returns the character that a numeric entity stands for: U+FFFD if the number is no code point; -1 if the entity is to
 * be dropped. */
static utf8proc_int32_t numbered_char(unsigned long number) {
  if (number == 0 || number > 0x10FFFF || (number >= 0xD800 && number <= 0xDFFF))
    return 0xFFFD;
  bool control = (number < 0x20 && number != 9 && number != 10 && number != 12 && number != 13) || number == 0x7F;
  if (control || (number >= 0xFDD0 && number <= 0xFDEF) || (number & 0xFFFE) == 0xFFFE)
    return -1;
  return from_windows((utf8proc_int32_t)number);
}

/* Appends the character of a numbered HTML entity, whose name is such as "#65" or "#x41". Returns false if the name is
 * not that of an entity. */
static bool add_numbered(struct builder *b, const char *name) {
  bool hex = name[1] == 'x' || name[1] == 'X';
  const char *digits = name + 1 + hex;
  size_t length = strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789");
  if (!length || digits[length])
    return false;
  utf8proc_int32_t c = numbered_char(strtoul(digits, NULL, hex ? 16 : 10));
  if (c == ';')
    return false;
  if (c >= 0)
    add_char(b, c);
  return true;
}

/* Appends the character for which an HTML entity stands. text: begins with the entity's &. Returns the entity's length
 * in bytes; 0: the text is no entity. */
static size_t add_entity(struct builder *b, const char *text, size_t length) {
  char name[27];
  size_t size = 1 + (length > 1 && text[1] == '#');
  size_t first = size;
  while (size < length && size - first < 25 && isalnum((unsigned char)text[size]))
    size++;
  if (size == first || size - first > 24 || size == length || text[size] != ';')
    return 0;
  memcpy(name, text + 1, size - 1);
  name[size - 1] = 0;
  return (name[0] == '#' ? add_numbered(b, name) : add_named(b, name)) ? size + 1 : 0;
}

static void add_unescaped(struct builder *b, const char *bytes, size_t length) {
  for (size_t at = 0; at < length;) {
    size_t used = bytes[at] == '&' ? add_entity(b, bytes + at, length - at) : 0;
    if (!used)
      add_bytes(b, bytes + at, used = 1);
    at += used;
  }
}

/* --- other fixes that ftfy makes: ligatures, widths, quotes, control characters --- */

static const struct {
  utf8proc_int32_t c;
  const char *apart;
} ligatures[] = {
    {0x132, "IJ"},      {0x133, "ij"},      {0x149, "\u02BCn"},  {0x1F1, "DZ"},  {0x1F2, "Dz"},  {0x1F3, "dz"},
    {0x1C4, "D\u017D"}, {0x1C5, "D\u017E"}, {0x1C6, "d\u017E"},  {0x1C7, "LJ"},  {0x1C8, "Lj"},  {0x1C9, "lj"},
    {0x1CA, "NJ"},      {0x1CB, "Nj"},      {0x1CC, "nj"},       {0xFB00, "ff"}, {0xFB01, "fi"}, {0xFB02, "fl"},
    {0xFB03, "ffi"},    {0xFB04, "ffl"},    {0xFB05, "\u017Ft"}, {0xFB06, "st"},
};

static bool add_apart(struct builder *b, utf8proc_int32_t c) {
  for (size_t i = 0; i < sizeof ligatures / sizeof *ligatures; i++)
    if (ligatures[i].c == c) {
      add_bytes(b, ligatures[i].apart, strlen(ligatures[i].apart));
      return true;
    }
  return false;
}

static void add_wide(struct builder *b, utf8proc_int32_t c) {
  struct builder one = {0};
  utf8proc_uint8_t *narrow = NULL;
  add_char(&one, c);
  utf8proc_ssize_t size = one.failed ? -1
                                     : utf8proc_map((const utf8proc_uint8_t *)one.bytes, (utf8proc_ssize_t)one.length,
                                                    &narrow, UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
  b->failed |= size < 0;
  if (size > 0)
    add_bytes(b, narrow, (size_t)size);
  free(narrow);
  free(one.bytes);
}

static utf8proc_int32_t straight(utf8proc_int32_t c) {
  if (c == 0x2BC || (c >= 0x2018 && c <= 0x201B))
    return '\'';
  if (c >= 0x201C && c <= 0x201F)
    return '"';
  return c == '\r' || c == 0x2028 || c == 0x2029 || c == 0x85 ? '\n' : c == 0x3000 ? ' ' : c;
}

static void add_replaced(struct builder *b, const char *bytes, size_t length) {
  utf8proc_int32_t c;
  for (size_t at = 0; at < length;) {
    at += next_char(bytes + at, length - at, &c);
    c = from_windows(c);
    if (c == '\r' && at < length && bytes[at] == '\n')
      continue;
    if (c > 0xFF00 && c < 0xFFF0)
      add_wide(b, c);
    else if (!add_apart(b, c))
      add_char(b, straight(c));
  }
}

/* Returns the length in bytes of a terminal escape sequence at text, such as a colour's; 0: text does not begin with
 * one. */
static size_t terminal_code(const char *text, size_t length) {
  size_t at = 2;
  if (length < 3 || text[0] != 27 || text[1] != '[')
    return 0;
  while (at < length && (isdigit((unsigned char)text[at]) || text[at] == ';'))
    at++;
  return at < length && isalpha((unsigned char)text[at]) ? at + 1 : 0;
}

static bool is_dropped(utf8proc_int32_t c) {
  return c < 9 || c == 0xB || (c >= 0xE && c < 0x20) || c == 0x7F || (c >= 0x206A && c <= 0x206F) || c == 0xFEFF ||
         (c >= 0xFFF9 && c <= 0xFFFC);
}

static void add_printable(struct builder *b, const char *bytes, size_t length) {
  utf8proc_int32_t c;
  for (size_t at = 0; at < length;) {
    size_t code = terminal_code(bytes + at, length - at);
    at += code;
    if (code)
      continue;
    at += next_char(bytes + at, length - at, &c);
    if (!is_dropped(c))
      add_char(b, c);
  }
}

static void add_ftfy_once(struct builder *b, bool html, const char *bytes, size_t length) {
  struct builder unescaped = {0}, replaced = {0}, printable = {0};
  if (html)
    add_unescaped(&unescaped, bytes, length);
  else
    add_bytes(&unescaped, bytes, length);
  add_replaced(&replaced, unescaped.bytes, unescaped.length);
  add_printable(&printable, replaced.bytes, replaced.length);
  add_composed(b, printable.bytes, printable.length);
  b->failed |= unescaped.failed || replaced.failed || printable.failed;
  free(unescaped.bytes);
  free(replaced.bytes);
  free(printable.bytes);
}

/* Applies the fixes until the text stays the same: when escaped characters are replaced, new entities may appear. The
 * loop ends, because each pass undoes one level of escaping. html true: entities of HTML are replaced by their
 * characters. */
static void add_ftfy(struct builder *b, bool html, const char *bytes, size_t length) {
  struct builder now = {0};
  add_bytes(&now, bytes, length);
  for (;;) {
    struct builder next = {0};
    add_ftfy_once(&next, html, now.bytes, now.length);
    bool same =
        next.failed || (next.length == now.length && (!now.length || !memcmp(next.bytes, now.bytes, now.length)));
    free(now.bytes);
    now = next;
    if (same)
      break;
  }
  b->failed |= now.failed;
  if (!now.failed)
    add_bytes(b, now.bytes, now.length);
  free(now.bytes);
}

/* Returns the position at which the first line with a '<' begins; `length` if there is none. From there on the text is
 * taken for HTML, whose entities are not replaced. */
static size_t find_html(const char *bytes, size_t length) {
  const char *found = length ? memchr(bytes, '<', length) : NULL;
  size_t at = found ? (size_t)(found - bytes) : length;
  while (found && at && bytes[at - 1] != '\n')
    at--;
  return at;
}

/* --- cleaning as transformers does without ftfy --- */

static bool is_chinese(utf8proc_int32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2CEAF) || (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

static bool is_left_out(utf8proc_int32_t c) {
  utf8proc_category_t category = utf8proc_category(c);
  bool control = category == UTF8PROC_CATEGORY_CN || category >= UTF8PROC_CATEGORY_CC;
  return c == 0xFFFD || (control && c != '\t' && c != '\n' && c != '\r');
}

static void add_basic(struct builder *b, const char *bytes, size_t length) {
  struct builder clean = {0};
  utf8proc_int32_t c;
  for (size_t at = 0; at < length;) {
    at += next_char(bytes + at, length - at, &c);
    if (is_left_out(c))
      continue;
    if (is_chinese(c))
      add_bytes(&clean, " ", 1);
    add_char(&clean, c);
    if (is_chinese(c))
      add_bytes(&clean, " ", 1);
  }
  b->failed |= clean.failed;
  add_composed(b, clean.bytes, clean.length);
  free(clean.bytes);
}

void add_fixed(struct builder *b, enum text_fix fix, const char *bytes, size_t length) {
  if (fix == FIX_FTFY) {
    size_t html = find_html(bytes, length);
    add_ftfy(b, true, bytes, html);
    add_ftfy(b, false, bytes + html, length - html);
  } else if (fix == FIX_BASIC) {
    add_basic(b, bytes, length);
  } else {
    add_composed(b, bytes, length);
  }
}
