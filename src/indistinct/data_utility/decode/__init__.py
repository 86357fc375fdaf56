"""Released labels as numbers and weights: what every analysis of a release begins with."""

from indistinct.data_utility.decode.category_columns import CategoryColumn
from indistinct.data_utility.decode.decoded import (
    CoveredColumn,
    Decoded,
    DecodedColumn,
    How,
    covered_columns,
    decode,
    decode_original,
    decode_with_domains,
)
from indistinct.data_utility.decode.label_covers import LabelCover
from indistinct.data_utility.decode.number_columns import NumberColumn

__all__ = [
    "CategoryColumn",
    "CoveredColumn",
    "Decoded",
    "DecodedColumn",
    "How",
    "LabelCover",
    "NumberColumn",
    "covered_columns",
    "decode",
    "decode_original",
    "decode_with_domains",
]
