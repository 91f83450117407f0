/* A hash of bytes, eight at a time; equality is always checked byte for byte after it. */
#ifndef GML_BYTE_HASH_H
#define GML_BYTE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t hash_bytes(const unsigned char *bytes, size_t length)
{
    uint64_t hash = length * UINT64_C(0x9E3779B97F4A7C15);
    for (size_t k = 0; k < length; k += 8) {
        size_t rest = length - k;
        uint64_t word = 0;
        memcpy(&word, bytes + k, rest < 8 ? rest : 8);
        hash = (hash ^ word) * UINT64_C(0xFF51AFD7ED558CCD);
        hash ^= hash >> 32;
    }
    return hash * UINT64_C(0x9E3779B97F4A7C15);
}

#endif
