#include "cpu.h"

static int level_in_use = -1;

int cpu_best(void)
{
#if GML_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vpopcntdq"))
        return CPU_AVX512;
    if (__builtin_cpu_supports("avx2"))
        return CPU_AVX2;
#endif
    return CPU_PORTABLE;
}

int cpu_level(void)
{
    if (level_in_use < 0)
        level_in_use = cpu_best();
    return level_in_use;
}

int cpu_limit(int level)
{
    int best = cpu_best();
    level_in_use = level < best ? level : best;
    return level_in_use;
}
