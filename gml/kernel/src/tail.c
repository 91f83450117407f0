/* ln Q(a, x), a = df/2, x = statistic/2.

   Q = 1 - P below x = a + 1 with the power series of P, above it Legendre's continued fraction of
   Q (DLMF 8.7.1 and 8.9.2). Both share the factor x^a e^-x / Gamma(a+1), the Poisson density of
   Loader (2000, "Fast and accurate computation of binomial probabilities"), whose exponent is
   computed without cancellation, so that log10 p keeps its digits for any df and statistic. Terms
   needed near x = a grow like sqrt(a). */
#include "tail.h"

#include <math.h>

#define HALF_LOG_2PI 0.918938533204672741780329736405617639861

double deviance(double x, double m)
{
    if (x == 0)
        return m;
    double d = x - m;
    if (fabs(d) < 0.1 * (x + m)) {
        /* atanh series in v = (x-m)/(x+m) */
        double v = d / (x + m), sum = d * v, term = 2 * x * v;
        v *= v;
        for (int j = 1; j < 1000; j++) {
            term *= v;
            double next = sum + term / (2 * j + 1);
            if (next == sum)
                break;
            sum = next;
        }
        return sum;
    }
    return x * log(x / m) + m - x;
}

double stirling_error(double a)
{
    if (a < 15)
        return lgamma(a + 1) - (a + 0.5) * log(a) + a - HALF_LOG_2PI;
    double s = 1 / (a * a);
    return (1.0 / 12 -
            (1.0 / 360 -
             (1.0 / 1260 - (1.0 / 1680 - (1.0 / 1188 - 691.0 / 360360 * s) * s) * s) * s) *
                s) /
           a;
}

/* ln of x^a e^-x / Gamma(a+1) */
static double log_factor(double a, double x)
{
    return -stirling_error(a) - deviance(a, x) - HALF_LOG_2PI - 0.5 * log(a);
}

double log_chi2_upper(double statistic, double df)
{
    double a = df / 2, x = statistic / 2;
    if (!(df > 0) || !(x > 0))
        return 0.0;
    if (isinf(x))
        return -INFINITY;
    if (x < a + 1) {
        double sum = 1, term = 1;
        for (double k = a + 1; term > sum * 1e-17; k++) {
            term *= x / k;
            sum += term;
        }
        double log_p = log_factor(a, x) + log(sum);
        return log_p > -0.693 ? log(-expm1(log_p)) : log1p(-exp(log_p));
    }
    /* modified Lentz evaluation of Q Gamma(a) e^x x^-a */
    const double tiny = 1e-300;
    double b = x + 1 - a, c = 1 / tiny, d = 1 / b, fraction = d;
    for (double k = 1;; k++) {
        double numerator = -k * (k - a);
        b += 2;
        d = numerator * d + b;
        if (fabs(d) < tiny)
            d = tiny;
        c = b + numerator / c;
        if (fabs(c) < tiny)
            c = tiny;
        d = 1 / d;
        double ratio = d * c;
        fraction *= ratio;
        if (fabs(ratio - 1) < 1e-15)
            break;
        if (k > 1e8)
            break;
    }
    return log_factor(a, x) + log(a * fraction);
}
