"""Tables of numbers from CSV files."""

import pytest

import pre_convex as pre
from pre_convex.data.tables import read_table


@pytest.mark.parametrize("cell", ["1_000", "1_0.5", "1e1_0", "_1", "1__0", "0x10", "1,000"])
def test_python_literals_are_not_numbers_of_a_csv_file(tmp_path, cell):
    path = tmp_path / "x.csv"
    path.write_text(f'a,b\n1,2\n3,"{cell}"\n')
    with pytest.raises(pre.DataError, match="line 3, column 'b'"):
        read_table(path)


def test_a_header_of_python_literals_is_a_header(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("1_000,2_000\n1,2\n")
    assert read_table(path).columns == ("1_000", "2_000")
