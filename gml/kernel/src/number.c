#include "number.h"

#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static const double POWERS_OF_TEN[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static int is_digit(unsigned char c) { return c >= '0' && c <= '9'; }

/* Python's own conversion is correctly rounded and does not follow the locale. */
static double convert_slowly(const unsigned char *text, size_t length, unsigned char decimal)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    double value = NAN;
    char small[128];
    char *copy = length < sizeof small ? small : PyMem_Malloc(length + 1);
    if (copy != NULL) {
        memcpy(copy, text, length);
        copy[length] = 0;
        for (size_t i = 0; i < length; i++)
            if ((unsigned char)copy[i] == decimal)
                copy[i] = '.';
        value = PyOS_string_to_double(copy, NULL, NULL);
        if (copy != small)
            PyMem_Free(copy);
    }
    if (PyErr_Occurred()) {
        PyErr_Clear();
        value = NAN;
    }
    PyGILState_Release(gil);
    return value;
}

int number_parse(const unsigned char *text, size_t length, unsigned char decimal, double *value)
{
    const unsigned char *p = text, *end = text + length;
    while (p < end && *p == ' ')
        p++;
    while (end > p && end[-1] == ' ')
        end--;
    const unsigned char *start = p;
    int negative = 0, digits = 0, significant = 0;
    uint64_t mantissa = 0;
    int64_t exponent = 0;
    if (p < end && (*p == '+' || *p == '-'))
        negative = *p++ == '-';
    for (; p < end && is_digit(*p); p++, digits++) {
        if (significant < 19) {
            mantissa = mantissa * 10 + (*p - '0');
            significant += mantissa != 0;
        } else {
            significant++;
        }
    }
    if (p < end && *p == decimal) {
        p++;
        for (; p < end && is_digit(*p); p++, digits++) {
            if (significant < 19) {
                mantissa = mantissa * 10 + (*p - '0');
                significant += mantissa != 0;
                exponent--;
            } else {
                significant++;
            }
        }
    }
    if (digits == 0)
        return 0;
    if (p < end && (*p == 'e' || *p == 'E')) {
        int below = 0;
        int64_t written = 0;
        p++;
        if (p < end && (*p == '+' || *p == '-'))
            below = *p++ == '-';
        if (p == end || !is_digit(*p))
            return 0;
        for (; p < end && is_digit(*p); p++)
            if (written < 1000000)
                written = written * 10 + (*p - '0');
        exponent += below ? -written : written;
    }
    if (p != end)
        return 0;
    double result;
    if (significant <= 19 && mantissa < (UINT64_C(1) << 53) && exponent >= -22 && exponent <= 22) {
        result = (double)mantissa;
        result = exponent < 0 ? result / POWERS_OF_TEN[-exponent] : result * POWERS_OF_TEN[exponent];
        if (negative)
            result = -result;
    } else {
        result = convert_slowly(start, (size_t)(end - start), decimal);
    }
    if (!isfinite(result))
        return 0;
    *value = result;
    return 1;
}

int number_is_padded(const unsigned char *text, size_t length)
{
    const unsigned char *p = text, *end = text + length;
    while (p < end && *p == ' ')
        p++;
    if (p < end && (*p == '+' || *p == '-'))
        p++;
    return end - p > 1 && p[0] == '0' && is_digit(p[1]);
}
