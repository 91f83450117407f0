#include "distinct.h"

#include <stdlib.h>
#include <string.h>

#include "byte_hash.h"
#include "stop.h"

int64_t group_rows(const uint8_t *rows, size_t n, size_t width, int64_t limit, int32_t *group,
                   int64_t *firsts)
{
    int bits = 4;
    while ((INT64_C(1) << bits) < 2 * limit + 2)
        bits++;
    size_t mask = ((size_t)1 << bits) - 1;
    int32_t *slots = malloc((mask + 1) * sizeof *slots);
    if (slots == NULL)
        return -2;
    memset(slots, 0xFF, (mask + 1) * sizeof *slots);
    int64_t found = 0;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *row = rows + i * width;
        if (stop_at_step(i))
            break;
        size_t k = (size_t)(hash_bytes(row, width) >> (64 - bits));
        while (slots[k] >= 0 && memcmp(rows + (size_t)firsts[slots[k]] * width, row, width) != 0)
            k = (k + 1) & mask;
        if (slots[k] < 0) {
            if (found == limit) {
                free(slots);
                return -1;
            }
            firsts[found] = (int64_t)i;
            slots[k] = (int32_t)found++;
        }
        group[i] = slots[k];
    }
    free(slots);
    return found;
}
