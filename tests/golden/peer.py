"""Read and write files of models with another package, for the tests: python peer.py pgmpy|pyagrum

A request is a line of JSON on standard input, ["read", format, path, found] or ["write", format,
source, target], where `found` is to hold the tables as JSON and `source` is BIF. The answer is a
line of JSON: an empty string, or the traceback.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
import warnings
from pathlib import Path


def read_by_pgmpy(format, path):
    """By node: levels, names of parents, their levels, a row of the table per configuration."""
    from pgmpy import readwrite

    reader = {"bif": "BIFReader", "xmlbif": "XMLBIFReader", "net": "NETReader"}[format]
    result = {}
    for cpd in getattr(readwrite, reader)(path).get_model().get_cpds():
        names = cpd.variables[1:]
        result[cpd.variable] = [
            cpd.state_names[cpd.variable],
            names,
            [cpd.state_names[name] for name in names],
            cpd.get_values().T.tolist(),
        ]
    return result


def read_by_pyagrum(format, path):
    """The same; the suffix tells the format."""
    import pyagrum

    net = pyagrum.loadBN(path)

    def labels(name):
        return list(net.variable(name).labels())

    result = {}
    for name in net.names():
        cpt = net.cpt(name)
        parents = [other for other in reversed(cpt.names) if other != name]
        array = cpt.toarray()
        axes = [list(reversed(cpt.names)).index(other) for other in [*parents, name]]
        array = array.transpose(axes).reshape(-1, array.shape[axes[-1]])
        result[name] = [labels(name), parents, list(map(labels, parents)), array.tolist()]
    return result


def write_by_pgmpy(format, source, target):
    """Write a network that is in BIF in another format."""
    from pgmpy import readwrite

    writer = {"bif": "BIFWriter", "xmlbif": "XMLBIFWriter", "net": "NETWriter"}[format]
    getattr(readwrite, writer)(readwrite.BIFReader(source).get_model()).write(target)


def write_by_pyagrum(format, source, target):
    """The same; the suffix tells the format."""
    import pyagrum

    pyagrum.saveBN(pyagrum.loadBN(source), target)


def main(package):
    """Answer requests until there are no more."""
    read, write = {
        "pgmpy": (read_by_pgmpy, write_by_pgmpy),
        "pyagrum": (read_by_pyagrum, write_by_pyagrum),
    }[package]
    # What the packages print must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        what, *names = json.loads(line)
        problem = ""
        try:
            if what == "read":
                Path(names[2]).write_text(json.dumps(read(*names[:2])))
            else:
                write(*names)
        except Exception:
            problem = traceback.format_exc()
        answers.write(json.dumps(problem) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(sys.argv[1])
