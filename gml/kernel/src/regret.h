/* The price of not knowing the parameters of a multinomial: ln of the normaliser of NML. */
#ifndef GML_REGRET_H
#define GML_REGRET_H

/* ln C(n, K) of n rows and K levels; whole numbers, however large. */
double log_regret(double n, double levels);

#endif
