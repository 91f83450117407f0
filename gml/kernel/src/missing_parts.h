/* What incomplete rows ask of the tables of a network: parts of missing nodes, with what is around. */
#ifndef GML_MISSING_PARTS_H
#define GML_MISSING_PARTS_H

#include <stddef.h>
#include <stdint.h>

/* Family f is node f and its parents; its table is a run of cells, the last member fastest. */
typedef struct {
    size_t n_nodes;
    const int32_t *sizes;
    const int64_t *member_starts; /* of the members of family f, the child last, and their strides */
    const int32_t *members;
    const int64_t *strides;
    const int64_t *table_starts;
    const int32_t *order; /* parents before children */
} family_layout;

/* The questions: those of shape p are question_starts[p] .. question_starts[p+1]-1, and each has one
   first cell per family of the shape. */
typedef struct {
    size_t n_shapes;
    const int64_t *node_starts;
    const int32_t *nodes;
    const int64_t *family_starts;
    const int32_t *families;
    const int64_t *question_starts;
    const int64_t *base_starts;
    const int32_t *bases;
    const int64_t *weights;
} missing_questions;

typedef struct parts_collector parts_collector;

enum { PARTS_OK, PARTS_TOO_MANY = -1, PARTS_NO_MEMORY = -2 };

/* NULL without memory. A column that is not there has no codes. */
parts_collector *parts_new(const family_layout *layout, const void *const *codes, const int *widths,
                           int keep_barren, size_t most_bytes);
void parts_free(parts_collector *collector);

/* Look at rows 0 .. n_rows-1 and sort what they ask; weights may be NULL. */
int parts_collect(parts_collector *collector, const int64_t *weights, size_t n_rows);

/* Split one row into its parts; its codes, -1 where it says nothing. */
const int32_t *parts_split_row(parts_collector *collector, size_t row);

/* After parts_split_row: the nodes of the part whose smallest node this is, its families and the first
   cell of each. Returns how many nodes there are: 0 if there is no such part. */
size_t parts_of_root(const parts_collector *collector, int32_t root, int32_t *nodes, int32_t *families,
                     int32_t *bases, size_t *n_families);

/* How long the arrays of parts_write are: shapes, nodes, families, questions, bases. */
void parts_sizes(const parts_collector *collector, size_t sizes[5]);

void parts_write(const parts_collector *collector, int64_t *node_starts, int32_t *nodes,
                 int64_t *family_starts, int32_t *families, int64_t *question_starts,
                 int64_t *base_starts, int32_t *bases, int64_t *weights, int64_t *first_rows);

#endif
