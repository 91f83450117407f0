/* C(n, K) = sum over k of n^(falling k) (K-1)^(rising k) / (n^k k!)  (Mononen & Myllymaki 2008,
   "Computing the multinomial stochastic complexity in sub-linear time", eq. 10): the terms are positive,
   rise to a peak near sqrt(nK) and fall away, so that few of them count. */
#include "regret.h"

#include <math.h>

#define LARGE 0x1p600
#define NEGLIGIBLE 0x1p-60

double log_regret(double n, double levels)
{
    double sum = 1, term = 1, scale = 0;
    for (double k = 0; k < n; k++) {
        double ratio = (n - k) / n * ((levels - 1 + k) / (k + 1));
        term *= ratio;
        sum += term;
        if (sum > LARGE) {
            sum /= LARGE;
            term /= LARGE;
            scale += log(LARGE);
        }
        if (ratio < 1 && term < sum * NEGLIGIBLE * (1 - ratio))
            break;
    }
    return scale + log(sum);
}
