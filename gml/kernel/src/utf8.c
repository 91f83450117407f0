#include "utf8.h"

int is_utf8(const unsigned char *text, size_t length)
{
    size_t i = 0;
    while (i < length) {
        unsigned char c = text[i];
        if (c < 0x80) {
            i++;
            continue;
        }
        size_t more;
        unsigned char low = 0x80, high = 0xBF;
        if (c >= 0xC2 && c <= 0xDF)
            more = 1;
        else if (c >= 0xE0 && c <= 0xEF) {
            more = 2;
            if (c == 0xE0)
                low = 0xA0;
            if (c == 0xED)
                high = 0x9F;
        } else if (c >= 0xF0 && c <= 0xF4) {
            more = 3;
            if (c == 0xF0)
                low = 0x90;
            if (c == 0xF4)
                high = 0x8F;
        } else
            return 0;
        if (length - i <= more)
            return 0;
        if (text[i + 1] < low || text[i + 1] > high)
            return 0;
        for (size_t k = 2; k <= more; k++)
            if ((text[i + k] & 0xC0) != 0x80)
                return 0;
        i += more + 1;
    }
    return 1;
}
