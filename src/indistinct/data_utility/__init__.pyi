from indistinct.data_utility.decode import decode_original as decode_original
from indistinct.data_utility.decoded_pair import DecodedPair as DecodedPair
from indistinct.data_utility.utility_report import Utility as Utility
from indistinct.data_utility.utility_report import compare_decoded as compare_decoded
from indistinct.data_utility.utility_report import utility as utility
