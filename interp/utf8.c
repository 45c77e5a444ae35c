/* Decoding of UTF-8 and the display width of characters. The width tables are our own and coarse:
 * they cover whole blocks, which is enough for carets to stand where they belong. */
#include "interp/utf8.h"

uint32_t utf8_decode(const char *s, size_t left, unsigned *length) {
    unsigned char lead = (unsigned char)s[0];
    *length = 1;
    if (lead < 0x80) return lead;
    unsigned follow = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    if (lead < 0xC2 || lead > 0xF4 || follow >= left) return UTF8_BAD;
    uint32_t character = lead & (0x3Fu >> follow);
    for (unsigned i = 1; i <= follow; i++) {
        unsigned char byte = (unsigned char)s[i];
        if ((byte & 0xC0) != 0x80) return UTF8_BAD;
        character = character << 6 | (byte & 0x3F);
    }
    static const uint32_t least[4] = {0, 0x80, 0x800, 0x10000};
    bool surrogate = character >= 0xD800 && character <= 0xDFFF;
    if (character < least[follow] || surrogate || character > 0x10FFFF) return UTF8_BAD;
    *length = follow + 1;
    return character;
}

unsigned utf8_encode(uint32_t character, char out[4]) {
    if (character < 0x80) {
        out[0] = (char)character;
        return 1;
    }
    unsigned follow = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    static const unsigned char lead[4] = {0, 0xC0, 0xE0, 0xF0};
    out[0] = (char)(lead[follow] | character >> (6 * follow));
    for (unsigned i = 1; i <= follow; i++) {
        out[i] = (char)(0x80 | (character >> (6 * (follow - i)) & 0x3F));
    }
    return follow + 1;
}

typedef struct range {
    uint32_t first, last;
} range;

static const range zero_width[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A},
    {0x064B, 0x065F}, {0x06D6, 0x06DC}, {0x0900, 0x0902}, {0x0E34, 0x0E3A},
    {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x20D0, 0x20FF},
    {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF},
};

static const range double_width[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x23E9, 0x23EC},   {0x2614, 0x2615},
    {0x26A1, 0x26A1},   {0x2705, 0x2705},   {0x274C, 0x274C},   {0x2E80, 0x303E},
    {0x3041, 0x33FF},   {0x3400, 0x4DBF},   {0x4E00, 0xA4CF},   {0xA960, 0xA97F},
    {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
    {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF},
    {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD},
};

static bool in_ranges(uint32_t character, const range *table, size_t count) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (character > table[middle].last) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && character >= table[low].first;
}

unsigned utf8_width(uint32_t character) {
    if (character < 0x300) return 1;
    if (in_ranges(character, zero_width, COUNT_OF(zero_width))) return 0;
    return in_ranges(character, double_width, COUNT_OF(double_width)) ? 2 : 1;
}

bool utf8_unprintable(uint32_t character) {
    if (character < 0x20 || (character >= 0x7F && character <= 0x9F)) return true;
    bool turns = (character >= 0x200E && character <= 0x200F) ||
                 (character >= 0x202A && character <= 0x202E) ||
                 (character >= 0x2066 && character <= 0x2069);
    return turns || character == 0x2028 || character == 0x2029 || character >= UTF8_BAD;
}

bool utf8_is_text(const char *s, size_t length) {
    unsigned step = 0;
    for (size_t i = 0; i < length; i += step) {
        uint32_t character = utf8_decode(s + i, length - i, &step);
        bool blank = character == '\n' || character == '\r' || character == '\t';
        if (character == UTF8_BAD || (character < 0x20 && !blank)) return false;
    }
    return true;
}
