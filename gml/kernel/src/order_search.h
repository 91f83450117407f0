/* The best order of variables by A*, where there are too many sets of them to look at each. */
#ifndef GML_ORDER_SEARCH_H
#define GML_ORDER_SEARCH_H

#include <stdint.h>

/* More than any sum of losses. */
#define SEARCH_NO_BOUND UINT64_MAX
/* The loss of a variable none of whose sets fits: more than that of any set. */
#define SEARCH_FAR (UINT64_C(1) << 57)

enum { SEARCH_MORE, SEARCH_DONE, SEARCH_FULL, SEARCH_NO_MEMORY };

/* Variable x has the sets of parents masks[starts[x]..starts[x+1]-1] with their units, the best first. The
   loss of a set is by how much its units fall short of the first. */
typedef struct {
    const uint64_t *masks;
    const int64_t *units;
    const int64_t *starts;
    int m;
} parent_lists;

/* to_go[R] = the least sum of losses of m variables of which R are left to be put into an order behind the
   others; SEARCH_NO_BOUND where there is none. Slices of 2^low sets are done at a time. Returns 0 when
   memory ran out. */
int losses_to_go(const parent_lists *lists, int low, uint64_t *to_go);

/* Move variables of an order, one at a time, to where the sum of losses is least, until none gains
   anything. Returns the sum. */
uint64_t improve_order(const parent_lists *lists, int32_t *order);

/* A set of variables that come first in an order; f is their losses and what the others lose at least. */
typedef struct {
    uint64_t set, f;
    uint32_t before; /* the state that it was reached from */
    uint32_t place;  /* in the heap, 1 added; 0 once it was expanded */
} search_state;

#define SEARCH_BLOCK 4096

/* The heap never has more members than there are states, and so grows with them. */
typedef struct {
    search_state states[SEARCH_BLOCK];
    uint32_t heap[SEARCH_BLOCK];
} search_block;

typedef struct {
    parent_lists lists;
    int n_groups;          /* of neighbouring variables */
    const int32_t *sizes;  /* of the groups */
    const uint64_t *to_go; /* of each group, one behind the other */
    uint64_t bound;        /* orders of this sum of losses or more are useless */
    uint64_t most;         /* the most states that there is room for */

    search_block **blocks;
    uint32_t *slots; /* a state, 1 added; 0 where it is free */
    uint64_t n_slots;
    uint64_t n_states, n_open;
    uint64_t n_expanded;
    uint64_t reached; /* no order has a smaller sum of losses, unless it is below `bound` */
    uint32_t last;    /* the state from which the best order was found */
    int found;
} order_search;

/* Start from the empty set; the members of `search` before `blocks` are given. Room for a state is 34 bytes
   and 8 for SEARCH_BLOCK of them; one block is the least. Returns 0 when memory ran out. */
int search_begin(order_search *search);

/* Expand at most so many states. DONE: no order has a sum of losses below `bound`, which is that of the
   order found, if there is one. FULL: there is no room for another state. */
int search_run(order_search *search, uint64_t expansions);

/* The states on the way to the order found, the last first; returns how many. */
int search_path(const order_search *search, uint64_t *sets);

void search_end(order_search *search);

#endif
