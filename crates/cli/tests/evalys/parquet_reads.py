"""PyArrow reads the Parquet that we write.

Run by scripts/evalys.sh: parquet_reads.py SAMPLES
"""

import json
import sys
from pathlib import Path

import pyarrow.parquet as pq


def check_bounds(file):
    """Bounds and counts in the footer are those of the cells."""
    for group in range(file.metadata.num_row_groups):
        about, cells = file.metadata.row_group(group), file.read_row_group(group)
        for index in range(about.num_columns):
            noted = about.column(index).statistics
            there = [value for value in cells.column(index).to_pylist() if value is not None]
            assert noted.null_count == about.num_rows - len(there)
            if noted.has_min_max:
                assert (noted.min, noted.max) == (min(there), max(there))


def main():
    samples = sorted(Path(sys.argv[1]).glob("*.parquet"))
    rows = 0
    for path in samples:
        expected = json.loads(path.with_suffix(".json").read_text())
        file = pq.ParquetFile(path)
        table = file.read()
        table.validate(full=True)
        cells = [list(row) for row in zip(*(column.to_pylist() for column in table.columns))]
        assert cells == expected, f"{path}: read back differently"
        assert file.metadata.metadata[b"seed"] == path.stem.encode()
        check_bounds(file)
        rows += len(expected)
    assert len(samples) >= 10 and rows > 10_000, "too little was read"
    print(f"parquet: {len(samples)} files, {rows} rows")


main()
