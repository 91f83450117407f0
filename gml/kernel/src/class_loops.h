/* Loops over the classes of a mixture. */
#ifndef GML_CLASS_LOOPS_H
#define GML_CLASS_LOOPS_H

/* Return function(..., n_classes), an inline one. Where the compiler knows the number of classes, its loops over
   them are a few instructions. */
#define WITH_CLASSES_KNOWN(n_classes, function, ...)                                               \
    switch (n_classes) {                                                                          \
    case 2:                                                                                       \
        return function(__VA_ARGS__, 2);                                                          \
    case 3:                                                                                       \
        return function(__VA_ARGS__, 3);                                                          \
    case 4:                                                                                       \
        return function(__VA_ARGS__, 4);                                                          \
    case 5:                                                                                       \
        return function(__VA_ARGS__, 5);                                                          \
    case 6:                                                                                       \
        return function(__VA_ARGS__, 6);                                                          \
    case 7:                                                                                       \
        return function(__VA_ARGS__, 7);                                                          \
    case 8:                                                                                       \
        return function(__VA_ARGS__, 8);                                                          \
    default:                                                                                      \
        return function(__VA_ARGS__, n_classes);                                                  \
    }

#endif
