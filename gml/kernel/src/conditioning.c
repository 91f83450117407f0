#include "conditioning.h"

#include <string.h>

#include "stop.h"

#define MANY (INT64_C(1) << 62)
/* 64 columns of two levels have more cells than can be numbered. */
#define MOST_MEMBERS 64

/* Neighbours of x that may stand in a set for (x, y): not y, and of no tier later than both. */
static size_t candidates(const conditioning *from, int32_t x, int32_t y, int32_t *out)
{
    int32_t tier_x = from->tiers[x], tier_y = from->tiers[y];
    int32_t latest = tier_x < 0 || tier_y < 0 ? INT32_MAX : tier_x > tier_y ? tier_x : tier_y;
    size_t n = 0;
    for (int64_t k = from->starts[x]; k < from->starts[x + 1]; k++) {
        int32_t node = from->neighbours[k];
        if (node != y && from->tiers[node] <= latest)
            out[n++] = node;
    }
    return n;
}

static int64_t choose(size_t n, size_t k)
{
    if (k > n || k > MOST_MEMBERS)
        return 0;
    int64_t result = 1;
    for (size_t i = 1; i <= k; i++) {
        if (result > MANY / 4 / (int64_t)n)
            return MANY / 4;
        result = result * (int64_t)(n - k + i) / (int64_t)i;
    }
    return result;
}

/* Members that two ascending lists share. */
static size_t common(const int32_t *a, size_t n, const int32_t *b, size_t m)
{
    size_t i = 0, j = 0, found = 0;
    while (i < n && j < m) {
        if (a[i] == b[j])
            found++;
        if (a[i] <= b[j])
            i++;
        else
            j++;
    }
    return found;
}

static int contains_all(const int32_t *list, size_t n, const int32_t *members, size_t level)
{
    return common(list, n, members, level) == level;
}

int64_t conditioning_total(const conditioning *from, int32_t x, int32_t y, int32_t *scratch)
{
    if (from->level == 0)
        return 1;
    size_t n = candidates(from, x, y, scratch);
    int32_t *of_y = scratch + n;
    size_t m = candidates(from, y, x, of_y);
    int64_t total = choose(n, from->level) + choose(m, from->level) -
                    choose(common(scratch, n, of_y, m), from->level);
    return total > MANY ? MANY : total;
}

/* Sets of `list` in lexicographic order; those within `known` are passed over. Returns how many were
   written; *skip counts down the sets to pass over first. */
static int64_t subsets(const int32_t *list, size_t n, size_t level, const int32_t *known,
                       size_t n_known, int64_t *skip, int64_t count, int32_t *out)
{
    size_t at[MOST_MEMBERS];
    int32_t set[MOST_MEMBERS];
    int64_t written = 0;
    if (level > n || level > MOST_MEMBERS)
        return 0;
    for (size_t i = 0; i < level; i++)
        at[i] = i;
    for (uint64_t k = 0; !stop_at_step(k); k++) {
        for (size_t i = 0; i < level; i++)
            set[i] = list[at[i]];
        if (n_known == 0 || !contains_all(known, n_known, set, level)) {
            if (*skip > 0)
                (*skip)--;
            else {
                memcpy(out + written * (int64_t)level, set, level * sizeof *set);
                if (++written == count)
                    return written;
            }
        }
        size_t i = level;
        while (i > 0 && at[i - 1] == n - level + i - 1)
            i--;
        if (i == 0)
            return written;
        at[i - 1]++;
        for (; i < level; i++)
            at[i] = at[i - 1] + 1;
    }
    return written;
}

void conditioning_fill(const conditioning *from, int32_t x, int32_t y, int64_t first, int64_t count,
                       int32_t *scratch, int32_t *out)
{
    if (count == 0 || from->level == 0)
        return;
    size_t n = candidates(from, x, y, scratch);
    int32_t *of_y = scratch + n;
    size_t m = candidates(from, y, x, of_y);
    int64_t skip = first, done = 0, of_x = choose(n, from->level);
    if (skip >= of_x)
        skip -= of_x;
    else
        done = subsets(scratch, n, from->level, NULL, 0, &skip, count, out);
    if (done < count)
        subsets(of_y, m, from->level, scratch, n, &skip, count - done,
                out + done * (int64_t)from->level);
}
