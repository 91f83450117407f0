#include "null_moments.h"

/* E[2 (O ln(O/m) - O + m)] - 1 of a Poisson count O with mean m, within 0.02: -1 where m is 0, 0.16
   where it is 1.5, 1/6m where it is large. */
static inline double poisson_excess(double m)
{
    return ((m / 6 + 0.253) * m - 0.17) / (((m - 0.722) * m + 1.152) * m + 0.17);
}

/* G is the deviance of the cells less those of the margins, plus that of their sum. */
double poisson_g_excess(const stratum_margins *margins)
{
    const double n = (double)margins->n;
    double excess = poisson_excess(n);
    for (size_t b = 0; b < margins->columns; b++)
        if (margins->column_totals[b] != 0)
            excess -= poisson_excess((double)margins->column_totals[b]);
    for (size_t a = 0; a < margins->rows; a++) {
        if (margins->row_totals[a] == 0)
            continue;
        const double share = (double)margins->row_totals[a] / n;
        excess -= poisson_excess((double)margins->row_totals[a]);
        for (size_t b = 0; b < margins->columns; b++)
            if (margins->column_totals[b] != 0)
                excess += poisson_excess(share * (double)margins->column_totals[b]);
    }
    return excess;
}

/* The third moments of tables of three to five rows, by the margins: 2+1; 3+1, 2+2, 2+1+1; 4+1, 3+2,
   3+1+1, 2+2+1, 2+1+1+1. Where every level has one row, X2 has one value. */
static const double of_three = 27.0 / 32;
static const double of_four[3][3] = {
    {1024.0 / 243, 0, 0},
    {0, 128.0 / 27, 16.0 / 27},
    {0, 16.0 / 27, 74.0 / 27},
};
static const double of_five[5][5] = {
    {10125.0 / 1024, 125.0 / 2304, 125.0 / 36, 375.0 / 128, -375.0 / 256},
    {125.0 / 2304, 6125.0 / 1296, 125.0 / 81, 125.0 / 96, 125.0 / 288},
    {125.0 / 36, 125.0 / 81, 500.0 / 81, 0, 25.0 / 9},
    {375.0 / 128, 125.0 / 96, 0, 125.0 / 16, 75.0 / 32},
    {-375.0 / 256, 125.0 / 288, 25.0 / 9, 75.0 / 32, 75.0 / 16},
};

/* The place of a margin of four or five rows in these tables. */
static size_t margin_of_few(int64_t n, int64_t levels, int64_t largest)
{
    if (n == 4)
        return levels == 3 ? 2 : largest == 2;
    return levels == 4 ? 4 : levels == 3 ? 2 + (size_t)(largest == 2) : (size_t)(largest == 3);
}

static int64_t largest_of(const int64_t *totals, size_t levels)
{
    int64_t largest = 0;
    for (size_t i = 0; i < levels; i++)
        if (totals[i] > largest)
            largest = totals[i];
    return largest;
}

static double third_moment_of_few(const stratum_margins *margins)
{
    const int64_t n = margins->n, r = margins->seen_rows, c = margins->seen_columns;
    if (r == n || c == n)
        return 0;
    if (n == 3)
        return of_three;
    const size_t a = margin_of_few(n, r, largest_of(margins->row_totals, margins->rows));
    const size_t b = margin_of_few(n, c, largest_of(margins->column_totals, margins->columns));
    return n == 4 ? of_four[a][b] : of_five[a][b];
}

/* With t = levels - 1: t^3, t^2, t w, t, w = n sum(1/R) - levels^2, q = n^2 sum(1/R^2) - levels^3.
   w and q are 0 where all levels have equally many rows. */
typedef struct {
    double t3, t2, tw, t, w, q;
} margin_terms;

static margin_terms terms_of(const int64_t *totals, size_t levels, int64_t seen, double n)
{
    const double r = (double)seen, t = r - 1;
    double s1 = 0, s2 = 0;
    for (size_t i = 0; i < levels; i++)
        if (totals[i] != 0) {
            const double share = n / (double)totals[i];
            s1 += share;
            s2 += share * share;
        }
    const double w = s1 - r * r;
    return (margin_terms){t * t * t, t * t, t * w, t, w, s2 - r * r * r};
}

/* The form below where there are two levels, so that q = w (w + 6). */
static double third_moment_of_two_by_two(double n, double w, double v)
{
    const double m = n - 1, k = n - 2, few = 8 * (n - 4) * k;
    const double m2 = m * m;
    const double none = few * k * k * k * ((n - 5) * n + 2);
    const double one = -few * k * m * ((3 * n - 10) * n + 4);
    const double square = few * m2 * (2 * n - 1);
    const double both = 2 * m * (((((11 * n - 51) * n - 24) * n + 380) * n - 480) * n + 128);
    const double more = -2 * m2 * (((11 * n - 19) * n - 44) * n + 16);
    const double squares = m2 * (n + 1) * ((n + 15) * n - 4);
    const double product = w * v;
    const double sum = none + one * (w + v) + square * (w * w + v * v) +
                       product * (both + more * (w + v) + squares * product);
    return sum / (m2 * m * k * (n - 3) * (n - 4) * (n - 5));
}

/* Kazi-Aoual, Hitier, Sabatier & Lebreton (1995, Comput. Stat. Data Anal. 20:643) give the first
   three moments of the trace of a product of two matrices whose rows are permuted; X2 is n times
   that of the projections on the levels of rows and of columns. What is left of their formula for
   projections is a bilinear form of the terms above. */
double x2_third_moment(const stratum_margins *margins)
{
    const double n = (double)margins->n, m = n - 1;
    if (margins->n <= 5)
        return margins->n < 3 ? 0 : third_moment_of_few(margins);
    const margin_terms a =
        terms_of(margins->row_totals, margins->rows, margins->seen_rows, n);
    const margin_terms b =
        terms_of(margins->column_totals, margins->columns, margins->seen_columns, n);
    if (margins->seen_rows == 2 && margins->seen_columns == 2)
        return third_moment_of_two_by_two(n, a.w, b.w);
    const double m2 = m * m, m3 = m2 * m, m4 = m2 * m2;
    const double t3_t3 = 4 * ((((n + 4) * n - 37) * n + 60) * n - 16);
    const double t3_t2 = -4 * m * ((((n + 9) * n - 64) * n + 104) * n - 32);
    const double t3_tw = -12 * m * ((n + 9) * n - 4);
    const double t3_t = 4 * m2 * (((5 * n - 27) * n + 44) * n - 16);
    const double t3_w = -4 * m2 * (((n + 16) * n - 3) * n - 4);
    const double t3_q = 4 * m2 * ((n + 9) * n - 4);
    const double t2_t2 = 4 * m2 * ((((n + 16) * n - 104) * n + 176) * n - 64);
    const double t2_tw = 12 * m2 * ((n + 14) * n - 8);
    const double t2_t = -4 * m3 * (((7 * n - 40) * n + 72) * n - 32);
    const double t2_w = 4 * m2 * ((((n + 22) * n - 29) * n + 2) * n + 8);
    const double t2_q = -4 * m3 * ((n + 14) * n - 8);
    const double tw_tw = 9 * m * ((((n - 3) * n - 3) * n - 7) * n + 4);
    const double tw_t = -12 * m3 * (5 * n - 4);
    const double tw_w = 3 * m2 * (((11 * n - 12) * n + 5) * n + 4);
    const double tw_q = -3 * m4 * (n + 4);
    const double t_t = 4 * m4 * (((2 * n - 13) * n + 28) * n - 16);
    const double t_w = -4 * m3 * (((7 * n - 10) * n + 3) * n + 4);
    const double t_q = 4 * m4 * (5 * n - 4);
    const double w_w = m2 * ((((22 * n + 145) * n + 82) * n - 13) * n - 4);
    const double w_q = -m2 * (((25 * n + 52) * n - 1) * n - 4);
    const double q_q = m2 * (n + 1) * ((n + 15) * n - 4);
    const double sum =
        a.t3 * (t3_t3 * b.t3 + t3_t2 * b.t2 + t3_tw * b.tw + t3_t * b.t + t3_w * b.w + t3_q * b.q) +
        a.t2 * (t3_t2 * b.t3 + t2_t2 * b.t2 + t2_tw * b.tw + t2_t * b.t + t2_w * b.w + t2_q * b.q) +
        a.tw * (t3_tw * b.t3 + t2_tw * b.t2 + tw_tw * b.tw + tw_t * b.t + tw_w * b.w + tw_q * b.q) +
        a.t * (t3_t * b.t3 + t2_t * b.t2 + tw_t * b.tw + t_t * b.t + t_w * b.w + t_q * b.q) +
        a.w * (t3_w * b.t3 + t2_w * b.t2 + tw_w * b.tw + t_w * b.t + w_w * b.w + w_q * b.q) +
        a.q * (t3_q * b.t3 + t2_q * b.t2 + tw_q * b.tw + t_q * b.t + w_q * b.w + q_q * b.q);
    return sum / (m3 * (n - 2) * (n - 3) * (n - 4) * (n - 5));
}
