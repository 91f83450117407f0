#include "gaussian.h"

#include <math.h>

#include "random.h"
#include "stop.h"

/* Coefficients of the rational functions, the highest power first. */
static const double CENTRE_ABOVE[8] = {
    2.5090809287301226727e+3, 3.3430575583588128105e+4, 6.7265770927008700853e+4,
    4.5921953931549871457e+4, 1.3731693765509461125e+4, 1.9715909503065514427e+3,
    1.3314166789178437745e+2, 3.3871328727963666080e+0};
static const double CENTRE_BELOW[8] = {
    5.2264952788528545610e+3, 2.8729085735721942674e+4, 3.9307895800092710610e+4,
    2.1213794301586595867e+4, 5.3941960214247511077e+3, 6.8718700749205790830e+2,
    4.2313330701600911252e+1, 1.0};
static const double SIDE_ABOVE[8] = {
    7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
    1.27045825245236838258e+0, 3.64784832476320460504e+0, 5.76949722146069140550e+0,
    4.63033784615654529590e+0, 1.42343711074968357734e+0};
static const double SIDE_BELOW[8] = {
    1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
    1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940e+0,
    2.05319162663775882187e+0, 1.0};
static const double FAR_ABOVE[8] = {
    2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
    2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580e+0,
    5.46378491116411436990e+0, 6.65790464350110377720e+0};
static const double FAR_BELOW[8] = {
    2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
    7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
    5.99832206555887937690e-1, 1.0};

static inline double polynomial(const double coefficients[8], double x)
{
    double value = coefficients[0];
    for (int k = 1; k < 8; k++)
        value = value * x + coefficients[k];
    return value;
}

/* The quantile at p <= 1/2: nothing is lost near 0. */
static double lower_quantile(double p)
{
    double q = p - 0.5;
    if (q >= -0.425) {
        double r = 0.180625 - q * q;
        return q * polynomial(CENTRE_ABOVE, r) / polynomial(CENTRE_BELOW, r);
    }
    double r = sqrt(-log(p));
    if (r <= 5)
        return -polynomial(SIDE_ABOVE, r - 1.6) / polynomial(SIDE_BELOW, r - 1.6);
    return -polynomial(FAR_ABOVE, r - 5) / polynomial(FAR_BELOW, r - 5);
}

double normal_quantile(double p)
{
    return p <= 0.5 ? lower_quantile(p) : -lower_quantile(1 - p);
}

/* The last bit is the sign, and the others the tail: both tails are equally fine. */
static inline double normal(const uint64_t key[2], uint64_t counter)
{
    uint64_t bits = random_bits(key, counter);
    double z = lower_quantile(((double)(bits >> 1) + 0.5) * 0x1p-64);
    return bits & 1 ? -z : z;
}

void sample_numbers(const gaussian_step *steps, size_t n_steps, double *const *columns,
                    uint64_t first_row, size_t n_rows)
{
    for (size_t k = 0; k < n_steps && !stop_wanted(); k++) {
        const gaussian_step *step = &steps[k];
        double *target = columns[step->target];
        for (size_t i = 0; i < n_rows; i++)
            target[i] = step->intercept;
        for (size_t p = 0; p < step->n_parents; p++) {
            const double *parent = columns[step->parents[p]];
            double coefficient = step->coefficients[p];
            for (size_t i = 0; i < n_rows; i++)
                target[i] += coefficient * parent[i];
        }
        if (step->sd == 0)
            continue;
        for (size_t i = 0; i < n_rows; i++)
            target[i] += step->sd * normal(step->key, first_row + i);
    }
}

void blank_numbers(double *column, const uint64_t key[2], uint64_t threshold, uint64_t first_row,
                   size_t n_rows)
{
    for (size_t i = 0; i < n_rows; i++)
        if (random_bits(key, first_row + i) >> 1 < threshold)
            column[i] = NAN;
}
