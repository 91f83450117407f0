/* Upper tail of the chi-squared distribution in the log domain. */
#ifndef GML_TAIL_H
#define GML_TAIL_H

/* x ln(x/m) + m - x without cancellation (Loader 2000, "bd0"), for x >= 0 and m > 0. */
double deviance(double x, double m);

/* ln Gamma(a+1) - ((a + 1/2) ln a - a + ln sqrt(2 pi)), a > 0. */
double stirling_error(double a);

/* ln P(X >= statistic) for X chi-squared with df degrees of freedom; 0 when df = 0. */
double log_chi2_upper(double statistic, double df);

#endif
