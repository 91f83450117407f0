/* Test statistics of stratified two-way tables. */
#ifndef GML_STATISTICS_H
#define GML_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    double g;             /* 2 sum O ln(O/E) over the strata */
    double x2;            /* sum (O-E)^2/E over cells with E > 0 */
    double v_denominator; /* sum n_s (min(r_s, c_s) - 1) over strata with df > 0 */
    double x2_mean;       /* of X2 under independence, the margins of every stratum given */
    double x2_variance;
    double x2_third; /* central; NaN where G serves: it keeps its level, or is not telling; 0 where
                        X2 is not telling */
    double seen_z;        /* product of the levels seen of Z; 1 unless the caller knows Z */
    int64_t n;
    int64_t df_adjusted;  /* sum (non-empty rows - 1)(non-empty columns - 1) */
    int64_t seen_x, seen_y;
    int64_t seen_strata;
    int64_t cells_xyz, cells_xz, cells_yz; /* non-empty cells of the table and its margins */
} table_statistics;

/* Totals of tables up to this size need no allocation. */
#define FEW_LEVELS 128

/* Sums over the strata added so far. */
typedef struct {
    table_statistics found;
    size_t rows, columns;
    int at_once; /* whether all is summed that may be needed, as the strata come only once */
    double g_excess, poisson_g_excess; /* of the mean of G over df_adjusted under independence */
    int64_t few[FEW_LEVELS];
    int64_t *totals;
    int64_t *margins; /* room for those of every stratum that is not empty, or NULL */
} table_sums;

/* Strata one by one: begin (0 when memory ran out), add each stratum[x][y], end; `at_once` may be set
   in between. */
int statistics_begin(table_sums *sums, size_t rows, size_t columns);
void statistics_add(table_sums *sums, const int64_t *stratum);
void statistics_end(table_sums *sums, table_statistics *out);

/* table[s][x][y] */
int statistics_of_table(const int64_t *table, size_t strata, size_t rows, size_t columns,
                        table_statistics *out);

/* Product, over the conditioning columns, of the numbers of levels seen; the last column varies
   fastest over the strata, of which `seen_strata` are not empty. Returns -1 when memory ran out. */
int64_t seen_configurations(const int64_t *table, size_t strata, int64_t seen_strata, size_t cells,
                            const uint32_t *n_levels, size_t n_columns);

/* ln of the Bayes factor BDeu(x | y, Z) - BDeu(x | Z); alpha = prior count of one cell. Every row
   and column of the table is a level seen somewhere. NaN when memory ran out. */
double log_bayes_factor(const int64_t *table, size_t strata, size_t rows, size_t columns,
                        double alpha);

/* G of one stratum's table with its margins. */
double g_of_stratum(const int64_t *table, size_t rows, size_t columns, const int64_t *row_totals,
                    const int64_t *column_totals, int64_t n);

#endif
