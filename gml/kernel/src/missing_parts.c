#include "missing_parts.h"

#include <stdlib.h>
#include <string.h>

#include "byte_hash.h"
#include "stop.h"

/* Keys of 32-bit words, each kept once, by open addressing. */
typedef struct {
    int32_t *words;
    size_t n_words, room;
    uint64_t *starts; /* of key k; one more than there are keys */
    size_t n_keys, key_room;
    uint32_t *slots; /* 1 + the number of a key, or 0 */
    size_t n_slots;
} key_set;

struct parts_collector {
    const family_layout *layout;
    const void *const *codes;
    const int *widths;
    int keep_barren;
    size_t most_bytes, n_bytes;
    key_set shapes;    /* how many missing nodes, these, and families */
    key_set questions; /* shape, bases */
    int64_t *weights, *first_rows;
    size_t question_room;
    /* Of the row at hand, by node: codes, whether they matter, roots, and lists of what a part has. */
    int32_t *code, *root, *last_node, *next_node, *first_family, *last_family, *next_family, *key;
    unsigned char *matters;
    uint32_t *shape_order, *question_order, *shape_rank;
};

static void *grown(parts_collector *c, void *old, size_t before, size_t after, int *problem)
{
    if (after - before > c->most_bytes - c->n_bytes) {
        *problem = PARTS_TOO_MANY;
        return NULL;
    }
    void *found = realloc(old, after);
    if (found == NULL)
        *problem = PARTS_NO_MEMORY;
    else
        c->n_bytes += after - before;
    return found;
}

static int grow_slots(parts_collector *c, key_set *set)
{
    int problem = PARTS_OK;
    const size_t n = set->n_slots ? 2 * set->n_slots : 1024;
    uint32_t *slots = grown(c, NULL, 0, n * sizeof *slots, &problem);
    if (slots == NULL)
        return problem;
    memset(slots, 0, n * sizeof *slots);
    for (size_t k = 0; k < set->n_keys; k++) {
        const int32_t *words = set->words + set->starts[k];
        const size_t n_words = set->starts[k + 1] - set->starts[k];
        size_t at = hash_bytes((const unsigned char *)words, 4 * n_words) >> 20 & (n - 1);
        while (slots[at])
            at = (at + 1) & (n - 1);
        slots[at] = (uint32_t)k + 1;
    }
    c->n_bytes -= set->n_slots * sizeof *slots;
    free(set->slots);
    set->slots = slots;
    set->n_slots = n;
    return PARTS_OK;
}

static int grow_keys(parts_collector *c, key_set *set, size_t n_words)
{
    int problem = PARTS_OK;
    if (set->n_words + n_words > set->room) {
        const size_t room = 2 * (set->room + n_words) + 1024;
        int32_t *words = grown(c, set->words, 4 * set->room, 4 * room, &problem);
        if (words == NULL)
            return problem;
        set->words = words;
        set->room = room;
    }
    if (set->n_keys + 2 > set->key_room) {
        const size_t room = 2 * set->key_room + 1024;
        uint64_t *starts = grown(c, set->starts, 8 * set->key_room, 8 * room, &problem);
        if (starts == NULL)
            return problem;
        if (set->starts == NULL)
            starts[0] = 0;
        set->starts = starts;
        set->key_room = room;
    }
    return PARTS_OK;
}

/* The number of a key, which is added if it is new; negative for a problem. */
static int64_t number_of(parts_collector *c, key_set *set, const int32_t *key, size_t n_words)
{
    int problem;
    if (2 * (set->n_keys + 1) > set->n_slots && (problem = grow_slots(c, set)))
        return problem;
    size_t at = hash_bytes((const unsigned char *)key, 4 * n_words) >> 20 & (set->n_slots - 1);
    for (; set->slots[at]; at = (at + 1) & (set->n_slots - 1)) {
        const uint64_t k = set->slots[at] - 1;
        if (set->starts[k + 1] - set->starts[k] == n_words &&
            memcmp(set->words + set->starts[k], key, 4 * n_words) == 0)
            return (int64_t)k;
    }
    if (set->n_keys >= UINT32_MAX - 2)
        return PARTS_TOO_MANY;
    if ((problem = grow_keys(c, set, n_words)))
        return problem;
    memcpy(set->words + set->n_words, key, 4 * n_words);
    set->n_words += n_words;
    set->starts[++set->n_keys] = set->n_words;
    set->slots[at] = (uint32_t)set->n_keys;
    return (int64_t)set->n_keys - 1;
}

/* Numbers by node of which the arrays have room; the key is the longest of them. */
#define ROW_ARRAYS 7

parts_collector *parts_new(const family_layout *layout, const void *const *codes, const int *widths,
                           int keep_barren, size_t most_bytes)
{
    const size_t n = layout->n_nodes + 1;
    parts_collector *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->layout = layout;
    c->codes = codes;
    c->widths = widths;
    c->keep_barren = keep_barren;
    c->most_bytes = most_bytes;
    c->code = malloc((ROW_ARRAYS * n + 2 * n + 2) * sizeof(int32_t));
    c->matters = malloc(n);
    if (c->code == NULL || c->matters == NULL) {
        parts_free(c);
        return NULL;
    }
    c->root = c->code + n;
    c->last_node = c->root + n;
    c->next_node = c->last_node + n;
    c->first_family = c->next_node + n;
    c->last_family = c->first_family + n;
    c->next_family = c->last_family + n;
    c->key = c->next_family + n;
    return c;
}

static void free_keys(key_set *set)
{
    free(set->words);
    free(set->starts);
    free(set->slots);
}

void parts_free(parts_collector *c)
{
    if (c == NULL)
        return;
    free_keys(&c->shapes);
    free_keys(&c->questions);
    free(c->weights);
    free(c->first_rows);
    free(c->code);
    free(c->matters);
    free(c->shape_order);
    free(c->question_order);
    free(c->shape_rank);
    free(c);
}

/* Read the codes of a row, -1 where it says nothing; returns whether anything is missing. */
static int read_row(const parts_collector *c, size_t row)
{
    const family_layout *l = c->layout;
    int some = 0;
    for (size_t node = 0; node < l->n_nodes; node++) {
        int32_t code = -1;
        if (c->codes[node] != NULL) {
            const uint32_t value = c->widths[node] == 1 ? ((const uint8_t *)c->codes[node])[row]
                                                        : ((const uint16_t *)c->codes[node])[row];
            if (value < (uint32_t)l->sizes[node])
                code = (int32_t)value;
        }
        some |= code < 0;
        c->code[node] = code;
    }
    return some;
}

static int32_t root_of(int32_t *root, int32_t node)
{
    while (root[node] != node)
        node = root[node] = root[root[node]];
    return node;
}

/* A missing node matters if something below it is observed. */
static void find_what_matters(const parts_collector *c)
{
    const family_layout *l = c->layout;
    memset(c->matters, c->keep_barren, l->n_nodes);
    for (size_t k = l->n_nodes; k-- > 0;) {
        const int32_t node = l->order[k];
        c->matters[node] |= c->code[node] >= 0;
        if (c->matters[node])
            for (int64_t m = l->member_starts[node]; m < l->member_starts[node + 1] - 1; m++)
                c->matters[l->members[m]] = 1;
    }
}

/* Join the missing nodes of each family, and list the nodes and families of each part by its root,
   which is its smallest node. */
static void split(const parts_collector *c)
{
    const family_layout *l = c->layout;
    const int32_t n = (int32_t)l->n_nodes;
    for (int32_t node = 0; node < n; node++) {
        c->root[node] = node;
        c->next_node[node] = c->first_family[node] = c->next_family[node] = -1;
        c->last_node[node] = node;
    }
    for (int32_t f = 0; f < n; f++) {
        int32_t first = -1;
        if (!c->matters[f])
            continue;
        for (int64_t m = l->member_starts[f]; m < l->member_starts[f + 1]; m++) {
            const int32_t node = l->members[m];
            if (c->code[node] >= 0)
                continue;
            const int32_t other = root_of(c->root, node);
            if (first < 0 || first == other)
                first = other;
            else if (first < other)
                c->root[other] = first;
            else {
                c->root[first] = other;
                first = other;
            }
        }
    }
    for (int32_t node = 0; node < n; node++) {
        if (c->code[node] >= 0 || !c->matters[node])
            continue;
        const int32_t root = root_of(c->root, node);
        if (root != node) {
            c->next_node[c->last_node[root]] = node;
            c->last_node[root] = node;
        }
    }
    for (int32_t f = 0; f < n; f++) {
        if (!c->matters[f])
            continue;
        for (int64_t m = l->member_starts[f]; m < l->member_starts[f + 1]; m++) {
            if (c->code[l->members[m]] >= 0)
                continue;
            const int32_t root = root_of(c->root, l->members[m]);
            if (c->first_family[root] < 0)
                c->first_family[root] = f;
            else
                c->next_family[c->last_family[root]] = f;
            c->last_family[root] = f;
            break;
        }
    }
}

const int32_t *parts_split_row(parts_collector *c, size_t row)
{
    read_row(c, row);
    find_what_matters(c);
    split(c);
    return c->code;
}

/* The first cell of a family in the row at hand, where the levels of missing nodes are 0. */
static int32_t base_of(const parts_collector *c, int32_t family)
{
    const family_layout *l = c->layout;
    int64_t base = l->table_starts[family];
    for (int64_t m = l->member_starts[family]; m < l->member_starts[family + 1]; m++)
        if (c->code[l->members[m]] > 0)
            base += l->strides[m] * c->code[l->members[m]];
    return (int32_t)base;
}

size_t parts_of_root(const parts_collector *c, int32_t root, int32_t *nodes, int32_t *families,
                     int32_t *bases, size_t *n_families)
{
    size_t n = 0;
    *n_families = 0;
    if (c->code[root] >= 0 || !c->matters[root] || c->root[root] != root)
        return 0;
    for (int32_t node = root; node >= 0; node = c->next_node[node])
        nodes[n++] = node;
    for (int32_t f = c->first_family[root]; f >= 0; f = c->next_family[f]) {
        bases[*n_families] = base_of(c, f);
        families[(*n_families)++] = f;
    }
    return n;
}

static int add_question(parts_collector *c, int32_t root, int64_t weight, size_t row)
{
    size_t n = 1;
    for (int32_t node = root; node >= 0; node = c->next_node[node])
        c->key[n++] = node;
    c->key[0] = (int32_t)n - 1;
    for (int32_t f = c->first_family[root]; f >= 0; f = c->next_family[f])
        c->key[n++] = f;
    const int64_t shape = number_of(c, &c->shapes, c->key, n);
    if (shape < 0)
        return (int)shape;
    n = 0;
    c->key[n++] = (int32_t)shape;
    for (int32_t f = c->first_family[root]; f >= 0; f = c->next_family[f])
        c->key[n++] = base_of(c, f);
    const int64_t question = number_of(c, &c->questions, c->key, n);
    if (question < 0)
        return (int)question;
    if (c->questions.n_keys > c->question_room) {
        int problem = PARTS_OK;
        const size_t before = 8 * c->question_room, room = 2 * c->question_room + 1024;
        int64_t *weights = grown(c, c->weights, before, 8 * room, &problem);
        if (weights == NULL)
            return problem;
        c->weights = weights;
        int64_t *rows = grown(c, c->first_rows, before, 8 * room, &problem);
        if (rows == NULL)
            return problem;
        c->first_rows = rows;
        memset(weights + c->question_room, 0, 8 * room - before);
        c->question_room = room;
    }
    if (c->weights[question] == 0)
        c->first_rows[question] = (int64_t)row;
    c->weights[question] += weight;
    return PARTS_OK;
}

static int compare_runs(const int32_t *a, size_t n_a, const int32_t *b, size_t n_b)
{
    for (size_t k = 0; k < n_a && k < n_b; k++)
        if (a[k] != b[k])
            return a[k] < b[k] ? -1 : 1;
    return n_a == n_b ? 0 : n_a < n_b ? -1 : 1;
}

static int compare_shapes(const parts_collector *c, uint32_t i, uint32_t j)
{
    const key_set *s = &c->shapes;
    const int32_t *a = s->words + s->starts[i], *b = s->words + s->starts[j];
    const int found = compare_runs(a + 1, (size_t)a[0], b + 1, (size_t)b[0]);
    if (found)
        return found;
    return compare_runs(a, s->starts[i + 1] - s->starts[i], b, s->starts[j + 1] - s->starts[j]);
}

static int compare_questions(const parts_collector *c, uint32_t i, uint32_t j)
{
    const key_set *q = &c->questions;
    const int32_t *a = q->words + q->starts[i], *b = q->words + q->starts[j];
    if (a[0] != b[0])
        return c->shape_rank[a[0]] < c->shape_rank[b[0]] ? -1 : 1;
    return compare_runs(a, q->starts[i + 1] - q->starts[i], b, q->starts[j + 1] - q->starts[j]);
}

/* Numbers 0 .. n-1 sorted by merging; NULL with a problem. */
static uint32_t *sorted(parts_collector *c, size_t n,
                        int (*compare)(const parts_collector *, uint32_t, uint32_t), int *problem)
{
    uint32_t *from = grown(c, NULL, 0, 4 * n + 4, problem);
    uint32_t *to = from == NULL ? NULL : grown(c, NULL, 0, 4 * n + 4, problem);
    if (to == NULL) {
        free(from);
        return NULL;
    }
    for (size_t k = 0; k < n; k++)
        from[k] = (uint32_t)k;
    for (size_t width = 1; width < n && !stop_wanted(); width *= 2) {
        for (size_t start = 0; start < n; start += 2 * width) {
            const size_t middle = start + width < n ? start + width : n;
            const size_t end = start + 2 * width < n ? start + 2 * width : n;
            size_t a = start, b = middle, out = start;
            while (a < middle && b < end)
                to[out++] = compare(c, from[b], from[a]) < 0 ? from[b++] : from[a++];
            while (a < middle)
                to[out++] = from[a++];
            while (b < end)
                to[out++] = from[b++];
        }
        uint32_t *other = from;
        from = to;
        to = other;
    }
    c->n_bytes -= 4 * n + 4;
    free(to);
    return from;
}

static int sort_parts(parts_collector *c)
{
    int problem = PARTS_OK;
    const size_t n_shapes = c->shapes.n_keys;
    c->shape_order = sorted(c, n_shapes, compare_shapes, &problem);
    if (c->shape_order == NULL)
        return problem;
    c->shape_rank = grown(c, NULL, 0, 4 * n_shapes + 4, &problem);
    if (c->shape_rank == NULL)
        return problem;
    for (size_t k = 0; k < n_shapes; k++)
        c->shape_rank[c->shape_order[k]] = (uint32_t)k;
    c->question_order = sorted(c, c->questions.n_keys, compare_questions, &problem);
    return problem;
}

int parts_collect(parts_collector *c, const int64_t *weights, size_t n_rows)
{
    uint64_t steps = 0;
    for (size_t row = 0; row < n_rows; row++) {
        const int64_t weight = weights == NULL ? 1 : weights[row];
        if (stop_after(&steps, 8 * c->layout->n_nodes))
            break;
        if (weight == 0 || !read_row(c, row))
            continue;
        find_what_matters(c);
        split(c);
        for (size_t node = 0; node < c->layout->n_nodes; node++) {
            if (c->code[node] >= 0 || !c->matters[node] || c->root[node] != (int32_t)node)
                continue;
            const int problem = add_question(c, (int32_t)node, weight, row);
            if (problem)
                return problem;
        }
    }
    return sort_parts(c);
}

void parts_sizes(const parts_collector *c, size_t sizes[5])
{
    size_t n_nodes = 0;
    for (size_t k = 0; k < c->shapes.n_keys; k++)
        n_nodes += (size_t)c->shapes.words[c->shapes.starts[k]];
    sizes[0] = c->shapes.n_keys;
    sizes[1] = n_nodes;
    sizes[2] = c->shapes.n_words - n_nodes - c->shapes.n_keys;
    sizes[3] = c->questions.n_keys;
    sizes[4] = c->questions.n_words - c->questions.n_keys;
}

void parts_write(const parts_collector *c, int64_t *node_starts, int32_t *nodes,
                 int64_t *family_starts, int32_t *families, int64_t *question_starts,
                 int64_t *base_starts, int32_t *bases, int64_t *weights, int64_t *first_rows)
{
    size_t question = 0;
    node_starts[0] = family_starts[0] = question_starts[0] = base_starts[0] = 0;
    for (size_t k = 0; k < c->shapes.n_keys; k++) {
        const uint32_t shape = c->shape_order[k];
        const int32_t *words = c->shapes.words + c->shapes.starts[shape];
        const size_t length = c->shapes.starts[shape + 1] - c->shapes.starts[shape];
        const size_t n_nodes = (size_t)words[0], n_families = length - 1 - n_nodes;
        memcpy(nodes + node_starts[k], words + 1, 4 * n_nodes);
        memcpy(families + family_starts[k], words + 1 + n_nodes, 4 * n_families);
        node_starts[k + 1] = node_starts[k] + (int64_t)n_nodes;
        family_starts[k + 1] = family_starts[k] + (int64_t)n_families;
        int32_t *to = bases + base_starts[k];
        for (; question < c->questions.n_keys; question++) {
            const uint32_t q = c->question_order[question];
            const int32_t *key = c->questions.words + c->questions.starts[q];
            if ((uint32_t)key[0] != shape)
                break;
            memcpy(to, key + 1, 4 * n_families);
            to += n_families;
            weights[question] = c->weights[q];
            first_rows[question] = c->first_rows[q];
        }
        question_starts[k + 1] = (int64_t)question;
        base_starts[k + 1] = to - bases;
    }
}
