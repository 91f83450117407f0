"""`--engine stream` against memory, on a Parquet file that fits: CPU time and peak memory.

python benchmarks/stream.py --rows 2000000 --max-memory 512M

The table is that of benchmarks/passes.py, with labels, in a temporary Parquet file. Each command
runs in a process of its own, as a user would run it, with both engines one after the other; times
are CPU seconds (user and system) of the whole command, reading included. What they write must be
the same bytes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMANDS = {
    "chowliu": ["chowliu"],
    "pc": ["pc", "--test", "g", "--max-cond", "2"],
    "hc": ["hc", "--score", "bic", "--max-parents", "3"],
    "count": ["indtest", "--all-pairs", "--test", "g", "-f", "csv"],
}


def write_table(path: Path, rows: int, columns: int) -> None:
    """Write the table in row groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from passes import pieces

    writer = None
    for piece in pieces(rows, columns):
        arrays = [
            pa.DictionaryArray.from_arrays(pa.array(cells), list(variable.levels or ()))
            for variable, cells in zip(piece.variables, piece.columns, strict=True)
        ]
        table = pa.table([a.dictionary_decode() for a in arrays], names=list(piece.names))
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def run(words: list[str]) -> tuple[float, float, float, bytes]:
    """CPU seconds, wall seconds and peak MiB of a command, and what it writes."""
    started = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "gml.cli", *words, "-q"], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        written = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, words
    wall = time.perf_counter() - started
    return used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024, written


def main() -> None:
    """Compare the engines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--columns", type=int, default=40)
    parser.add_argument("--max-memory", default="512M")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--commands", default=",".join(COMMANDS))
    parser.add_argument("--write", metavar="FILE", help="only write the table")
    asked = parser.parse_args()
    if asked.write:
        write_table(Path(asked.write), asked.rows, asked.columns)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        # Elsewhere: the peak of a process counts from that of the process that starts it.
        size = ["--rows", str(asked.rows), "--columns", str(asked.columns)]
        subprocess.run([sys.executable, __file__, "--write", str(path), *size], check=True)
        print(f"{path.stat().st_size / 2**20:.0f} MiB of Parquet, {asked.rows} rows")
        print("command, CPU s in memory, on a stream, ratio, peak MiB in memory, on a stream")
        for name in asked.commands.split(","):
            command, *options = COMMANDS[name]
            words = [command, str(path), *options, "--threads", asked.threads]
            memory = run([*words, "--engine", "memory"])
            stream = run([*words, "--engine", "stream", "--max-memory", asked.max_memory])
            assert memory[3] == stream[3], name
            ratio = stream[0] / memory[0]
            print(
                f"{name}, {memory[0]:.2f}, {stream[0]:.2f}, {ratio:.2f}, {memory[2]:.0f}, "
                f"{stream[2]:.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
