/* Which vector instructions the kernels may use. */
#ifndef GML_CPU_H
#define GML_CPU_H

enum { CPU_PORTABLE = 0, CPU_AVX2 = 1, CPU_AVX512 = 2 };

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define GML_X86 1
#else
#define GML_X86 0
#endif

/* The best level that this machine offers. */
int cpu_best(void);

/* The level in use: the best one, unless cpu_limit lowered it. */
int cpu_level(void);

/* Use at most the given level (tests compare the variants); returns the level then in use. */
int cpu_limit(int level);

#endif
