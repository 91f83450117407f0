# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, freethreading_compatible=False
"""Binding of the C kernels: checks nothing that its callers in gml have checked already.

`gml.kernel.reference` has the same functions in Python; the tests compare the two.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

import numpy as np

from gml.kernel.layout import (
    CODES8,
    CODES16,
    CODES32,
    DENSE_CELLS,
    NUMBERS,
    OVERFLOW,
    SKIP,
    CsvColumn,
    CsvProblem,
    CsvResult,
    FamilyWorth,
    FamilyWorths,
    GroupResiduals,
    PairSums,
    RowGroups,
    TableStatistics,
)
from gml.stopping import Stopped

cdef extern from "cpu.h":
    int cpu_level() nogil
    int cpu_limit(int level) nogil

cdef extern from "Python.h":
    int PyErr_CheckSignals()

cdef extern from "stop.h":
    enum:
        STOP_NONE
        STOP_FLAG
    void stop_obey(const unsigned char *)
    void stop_ask_signals(int (*)() noexcept nogil)
    int stop_wanted() nogil
    int stop_taken()


INSTRUCTIONS = ("portable", "avx2", "avx512")


def instructions():
    """Name of the vector instructions in use."""
    return INSTRUCTIONS[cpu_level()]


def limit_instructions(str name):
    """Use at most the named instructions; returns the name of those then in use."""
    return INSTRUCTIONS[cpu_limit(INSTRUCTIONS.index(name))]


# ---------------------------------------------------------------------- stopping

cdef int _signal_stops() noexcept with gil:
    """Let a handler run; what it raises stays set until check_stopped hands it on."""
    return PyErr_CheckSignals() != 0


stop_ask_signals(_signal_stops)


def obey(const unsigned char[::1] flag):
    """Make the kernels of this thread stop when the flag is set, which has to outlive them."""
    stop_obey(&flag[0])


cdef int check_stopped() except -1:
    """Raise what made a kernel return early: nothing that it returned counts then."""
    cdef int why = stop_taken()
    if why == STOP_FLAG:
        raise Stopped
    return 0 if why == STOP_NONE else -1


include "_recoding.pxi"
include "_csv_reader.pxi"
include "_table_statistics.pxi"
include "_counting.pxi"
include "_families.pxi"
include "_held_tables.pxi"
include "_exact_rows.pxi"
include "_conditioning.pxi"
include "_elimination.pxi"
include "_orders.pxi"
include "_subsets.pxi"
include "_order_search.pxi"
include "_penalty_path.pxi"
include "_precision_step.pxi"
include "_sampling.pxi"
include "_gibbs.pxi"
include "_row_probability.pxi"
include "_missing_parts.pxi"
include "_pair_sums.pxi"
include "_mixture_rows.pxi"
include "_chain_field.pxi"
include "_regressions.pxi"
include "_gram.pxi"
include "_exact_gram.pxi"
include "_float_sums.pxi"
