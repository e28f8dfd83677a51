import pytest

from barograph.sources.mongodump.crc import crc64
from tests.sources.archives import plain_crc


def test_the_check_value_of_the_catalogue() -> None:
    # CRC-64/XZ in the catalogue of parametrised CRC algorithms: the same polynomial and ones.
    assert crc64(b"123456789") == 0x995DC9BBDF1939FA


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 100])
def test_strides_give_what_single_bits_give(size: int) -> None:
    data = bytes(3 * place % 256 for place in range(size))
    assert crc64(data) == plain_crc(data)


def test_a_crc_goes_on_where_it_stopped() -> None:
    data = bytes(range(200))
    assert crc64(data[77:], crc64(data[:77])) == crc64(data)
