"""The kernel in Python and NumPy: the oracle of the tests, and what runs without a compiler."""

from gml.kernel.reference.chain_field import ChainRows
from gml.kernel.reference.completion import complete_rows
from gml.kernel.reference.conditioning import ConditioningSets
from gml.kernel.reference.counting import CodedData, exact_dot, group_rows, recode
from gml.kernel.reference.csv_reader import CsvReader
from gml.kernel.reference.csv_writer import CsvWriter
from gml.kernel.reference.elimination import Elimination
from gml.kernel.reference.exact_gram import centred_products, write_limbs
from gml.kernel.reference.expectation import count_covariances, expected_counts
from gml.kernel.reference.families import family_ceiling, family_value, log_regret
from gml.kernel.reference.float_sums import float_sums
from gml.kernel.reference.gibbs import GibbsSampler, count_states, sum_states
from gml.kernel.reference.gram import (
    centre_gram,
    distance_product,
    fourier_features,
    gaussian_factor,
    gaussian_gram,
    median_square,
    permuted_distance_products,
    permuted_products,
    squared_distances,
)
from gml.kernel.reference.held_tables import held_families, held_statistics, turned_tables
from gml.kernel.reference.missing_parts import missing_parts
from gml.kernel.reference.mixture_rows import (
    latent_class_rows,
    latent_class_tables,
    mixture_rows,
)
from gml.kernel.reference.order_search import OrderSearch, improve_order, losses_to_go
from gml.kernel.reference.orders import OrderChain, log_sum_sets, sum_orders
from gml.kernel.reference.pair_sums import pair_sums
from gml.kernel.reference.penalty_paths import penalty_path
from gml.kernel.reference.permutation import information_loss_draws, permutation_draws
from gml.kernel.reference.precision_step import precision_step
from gml.kernel.reference.regressions import (
    cholesky_pivots,
    family_pivots,
    partial_slopes,
    residuals_of_sums,
    residuals_within,
    sums_within,
)
from gml.kernel.reference.row_probability import row_log_probabilities
from gml.kernel.reference.sampling import (
    GaussianSampler,
    TableSampler,
    blank_cells,
    normal_quantile,
)
from gml.kernel.reference.statistics import log_bayes_factor, table_statistics_of
from gml.kernel.reference.subsets import best_sinks, grow_sets
from gml.kernel.reference.tail import log_chi2_upper


def obey(flag: bytearray) -> None:
    """Nothing more than gml.stopping.obey, which is where the loops look."""


__all__ = [
    "ChainRows",
    "CodedData",
    "ConditioningSets",
    "CsvReader",
    "CsvWriter",
    "Elimination",
    "GaussianSampler",
    "GibbsSampler",
    "OrderChain",
    "OrderSearch",
    "TableSampler",
    "best_sinks",
    "blank_cells",
    "centre_gram",
    "centred_products",
    "cholesky_pivots",
    "complete_rows",
    "count_covariances",
    "count_states",
    "distance_product",
    "exact_dot",
    "expected_counts",
    "family_ceiling",
    "family_pivots",
    "family_value",
    "float_sums",
    "fourier_features",
    "gaussian_factor",
    "gaussian_gram",
    "group_rows",
    "grow_sets",
    "held_families",
    "held_statistics",
    "improve_order",
    "information_loss_draws",
    "latent_class_rows",
    "latent_class_tables",
    "log_bayes_factor",
    "log_chi2_upper",
    "log_regret",
    "log_sum_sets",
    "losses_to_go",
    "median_square",
    "missing_parts",
    "mixture_rows",
    "normal_quantile",
    "obey",
    "pair_sums",
    "partial_slopes",
    "penalty_path",
    "permutation_draws",
    "permuted_distance_products",
    "permuted_products",
    "precision_step",
    "recode",
    "residuals_of_sums",
    "residuals_within",
    "row_log_probabilities",
    "squared_distances",
    "sum_orders",
    "sum_states",
    "sums_within",
    "table_statistics_of",
    "turned_tables",
    "write_limbs",
]
