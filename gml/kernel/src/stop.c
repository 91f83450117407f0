#include "stop.h"

#include <stddef.h>
#include <time.h>

/* Looking for signals takes the interpreter's lock. */
#define LOOK_NANOSECONDS 20000000

static _Thread_local const volatile unsigned char *flag;
static _Thread_local int signalled;
static _Thread_local int64_t looked;
static int (*look_for_signals)(void);

void stop_obey(const unsigned char *new_flag)
{
    flag = new_flag;
}

void stop_ask_signals(int (*look)(void))
{
    look_for_signals = look;
}

static int64_t nanoseconds(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int stop_wanted(void)
{
    if (flag != NULL)
        return *flag;
    if (signalled || look_for_signals == NULL)
        return signalled;
    const int64_t now = nanoseconds(), since = now - looked;
    /* The clock may be set back. */
    if (since >= 0 && since < LOOK_NANOSECONDS)
        return 0;
    looked = now;
    signalled = look_for_signals();
    return signalled;
}

int stop_taken(void)
{
    if (flag != NULL)
        return *flag ? STOP_FLAG : STOP_NONE;
    const int taken = signalled;
    signalled = 0;
    return taken ? STOP_SIGNAL : STOP_NONE;
}
