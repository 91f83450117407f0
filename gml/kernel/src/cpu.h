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

#define LANE_INLINE __attribute__((always_inline)) static inline

/* Defines a function that does what the inline function name_lanes does, by the instructions in use. */
#if GML_X86
#define BY_LEVEL(kind, name, parameters, arguments)                                               \
    kind name parameters;                                                                         \
    __attribute__((target("avx512f"))) static kind name##_avx512 parameters                       \
    {                                                                                             \
        return name##_lanes arguments;                                                            \
    }                                                                                             \
    __attribute__((target("avx2"))) static kind name##_avx2 parameters                            \
    {                                                                                             \
        return name##_lanes arguments;                                                            \
    }                                                                                             \
    kind name parameters                                                                          \
    {                                                                                             \
        const int level = cpu_level();                                                            \
        if (level >= CPU_AVX512)                                                                  \
            return name##_avx512 arguments;                                                       \
        return level >= CPU_AVX2 ? name##_avx2 arguments : name##_lanes arguments;                \
    }
#else
#define BY_LEVEL(kind, name, parameters, arguments)                                               \
    kind name parameters                                                                          \
    {                                                                                             \
        return name##_lanes arguments;                                                            \
    }
#endif

#endif
