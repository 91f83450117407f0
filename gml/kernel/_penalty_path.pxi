# Paths of penalised regressions: a part of _kernel.pyx.

from gml.kernel.penalty_paths import PenaltyPath

cdef extern from "penalty_path.h":
    enum:
        PATH_NO_MEMORY
        PATH_TOO_LARGE
        PATH_UNWANTED
    ctypedef struct path_problem:
        size_t n_rows, stride
        const uint8_t *masks
        size_t n_groups
        const int64_t *starts
        const int32_t *ranks
        const double *bases
        const int64_t *base_starts
        const double *means
        const double *group_weights
        const int32_t *classes
        size_t n_classes
        const double *weights
        const double *held_out
    ctypedef struct path_rule:
        size_t n_penalties
        double ratio
        int chosen
        double cost, tolerance
        size_t room
        int (*watch)(void *, double) noexcept nogil
        void *watcher
    ctypedef struct path_result:
        double *penalties
        double *losses
        double *held_out
        double *gaps
        int64_t *parameters
        double *norms
        size_t n_done, needed
    int c_penalty_path "penalty_path"(
        const path_problem *, const path_rule *, path_result *) nogil


cdef class _Watcher:
    """Asks whether to go on, and keeps what that raised."""

    cdef object ask
    cdef object raised

    def __cinit__(self, ask):
        self.ask = ask


cdef int _goes_on(void *watcher, double share) noexcept with gil:
    cdef _Watcher watching = <_Watcher>watcher
    try:
        return bool(watching.ask(share))
    except BaseException as problem:
        watching.raised = problem
        return False


def _check_groups(columns):
    """Whether groups, bases and columns go together: the kernel reads them as they say."""
    n_groups, widths = len(columns.ranks), np.diff(columns.starts)
    sizes = (len(columns.starts) - 1, len(columns.base_starts), len(columns.group_weights))
    if sizes != (n_groups,) * 3 or columns.starts[0] != 0 or (widths < 0).any():
        raise ValueError("these are not groups of columns")
    if columns.starts[n_groups] != len(columns.masks) or len(columns.means) != len(columns.masks):
        raise ValueError("the groups have other columns")
    ends = columns.base_starts + widths * columns.ranks
    if (columns.ranks < 0).any() or (columns.base_starts < 0).any() or (ends > len(columns.bases)).any():
        raise ValueError("the groups have other bases")


def penalty_path(columns, response, rule):
    """Fit a logistic regression for one penalty after the other."""
    cdef const uint8_t[:, ::1] masks = columns.masks
    cdef const int64_t[::1] starts = columns.starts
    cdef const int32_t[::1] ranks = columns.ranks
    cdef const double[::1] bases = np.append(columns.bases, 0.0)
    cdef const int64_t[::1] base_starts = columns.base_starts
    cdef const double[::1] means = columns.means
    cdef const double[::1] group_weights = columns.group_weights
    cdef const int32_t[::1] classes = response.classes
    cdef const double[::1] weights = response.weights
    cdef const double[::1] held_out
    cdef path_problem problem
    cdef path_rule how
    cdef path_result result
    cdef size_t n = rule.n_penalties, n_groups = ranks.shape[0]
    if masks.shape[0] == 0 or classes.shape[0] == 0 or n == 0:
        raise ValueError("a path needs columns, rows and penalties")
    if masks.shape[1] < (classes.shape[0] + 7) // 8 or weights.shape[0] != classes.shape[0]:
        raise ValueError("columns and classes have different rows")
    if response.held_out is not None and len(response.held_out) != classes.shape[0]:
        raise ValueError("columns and classes have different rows")
    _check_groups(columns)
    if np.min(response.classes) < 0 or np.max(response.classes) >= response.n_classes:
        raise ValueError("there are fewer classes than that")
    if rule.penalties is not None and len(rule.penalties) != rule.n_penalties:
        raise ValueError("these are not all penalties")
    problem.n_rows = classes.shape[0]
    problem.stride = masks.shape[1]
    problem.masks = &masks[0, 0]
    problem.n_groups = n_groups
    problem.starts = &starts[0]
    problem.ranks = &ranks[0]
    problem.bases = &bases[0]
    problem.base_starts = &base_starts[0]
    problem.means = &means[0]
    problem.group_weights = &group_weights[0]
    problem.classes = &classes[0]
    problem.n_classes = response.n_classes
    problem.weights = &weights[0]
    problem.held_out = NULL
    if response.held_out is not None:
        held_out = response.held_out
        problem.held_out = &held_out[0]
    how.n_penalties = n
    how.ratio = rule.ratio
    how.chosen = rule.penalties is None
    how.cost = rule.cost
    how.tolerance = rule.tolerance
    how.room = rule.room
    cdef _Watcher watcher = _Watcher(rule.watch)
    how.watch = NULL
    if rule.watch is not None:
        how.watch = _goes_on
    how.watcher = <void *>watcher
    found = [np.zeros(n) for _ in range(4)]
    if rule.penalties is not None:
        found[0][:] = rule.penalties
    parameters, norms = np.zeros(n, dtype=np.int64), np.zeros((n, n_groups))
    cdef double[::1] penalties = found[0], losses = found[1], predicted = found[2], gaps = found[3]
    cdef int64_t[::1] parameters_view = parameters
    cdef double[:, ::1] norms_view = norms
    cdef int done
    result.penalties = &penalties[0]
    result.losses = &losses[0]
    result.held_out = &predicted[0]
    result.gaps = &gaps[0]
    result.parameters = &parameters_view[0]
    result.norms = &norms_view[0, 0]
    result.n_done = 0
    result.needed = 0
    with nogil:
        done = c_penalty_path(&problem, &how, &result)
    check_stopped()
    if watcher.raised is not None:
        raise watcher.raised
    if done == PATH_NO_MEMORY:
        raise MemoryError
    cut = slice(0, result.n_done)
    needed = result.needed if done == PATH_TOO_LARGE else 0
    return PenaltyPath(
        *(part[cut] for part in found), parameters[cut], norms[cut], needed, done != PATH_UNWANTED)
