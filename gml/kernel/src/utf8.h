/* Valid UTF-8. */
#ifndef GML_UTF8_H
#define GML_UTF8_H

#include <stddef.h>

/* Whether Python's strict UTF-8 decoder accepts the bytes. */
int is_utf8(const unsigned char *text, size_t length);

#endif
