/* Whether the work at hand is still wanted. Kernels that may run long ask now and then and return early
   if it is not, with whatever they have: the binding raises instead of handing that out. */
#ifndef GML_STOP_H
#define GML_STOP_H

#include <stdint.h>

enum { STOP_NONE, STOP_FLAG, STOP_SIGNAL };

/* Steps of a nanosecond or so after which a loop asks. */
#define STOP_STEPS 65536

/* Threads of a pool share a flag: this one's stops when it is not 0. NULL: signals stop it instead. */
void stop_obey(const unsigned char *flag);

/* What looks for signals in a thread without a flag; it returns whether one is to stop the work. */
void stop_ask_signals(int (*look)(void));

int stop_wanted(void);

/* Why this thread was stopped, if it was; the next work of a thread without a flag begins afresh. */
int stop_taken(void);

/* Whether to stop, asked only when `steps` has grown by enough. */
static inline int stop_after(uint64_t *steps, uint64_t more)
{
    *steps += more;
    if (*steps < STOP_STEPS)
        return 0;
    *steps = 0;
    return stop_wanted();
}

/* The same in a loop over k, whose steps take about a nanosecond each. */
static inline int stop_at_step(uint64_t k)
{
    return k % STOP_STEPS == STOP_STEPS - 1 && stop_wanted();
}

#endif
