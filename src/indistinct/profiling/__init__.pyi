"""The names of the room."""

from indistinct.profiling.column_names import NAMESAKES as NAMESAKES
from indistinct.profiling.column_names import SHORTEST_PART as SHORTEST_PART
from indistinct.profiling.column_names import names_people as names_people
from indistinct.profiling.column_names import number_people as number_people
from indistinct.profiling.column_names import word_list as word_list
from indistinct.profiling.column_names import words_of as words_of
from indistinct.profiling.column_roles import ColumnProfile as ColumnProfile
from indistinct.profiling.column_roles import said_by as said_by
from indistinct.profiling.column_shapes import shape_of as shape_of
from indistinct.profiling.column_statistics import MOST_DISTINCT as MOST_DISTINCT
from indistinct.profiling.column_statistics import ColumnStatistics as ColumnStatistics
from indistinct.profiling.column_statistics import statistics_of as statistics_of
from indistinct.profiling.combinations import Combination as Combination
from indistinct.profiling.combinations import DistinctRows as DistinctRows
from indistinct.profiling.combinations import minimal_combinations as minimal_combinations
from indistinct.profiling.entities import Entity as Entity
from indistinct.profiling.entities import repeated_entity as repeated_entity
from indistinct.profiling.safe_harbor import IDENTIFIERS as IDENTIFIERS
from indistinct.profiling.safe_harbor import SafeHarbor as SafeHarbor
from indistinct.profiling.safe_harbor import identifiers_like as identifiers_like
from indistinct.profiling.table_profile import Profile as Profile
from indistinct.profiling.table_profile import SaidRoles as SaidRoles
from indistinct.profiling.table_profile import comments as comments
from indistinct.profiling.table_profile import profile as profile
