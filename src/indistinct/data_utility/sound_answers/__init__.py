"""Sound answers: intervals that hold for every table that a release could stem from."""

from indistinct.data_utility.sound_answers.bounds_query import BoundsQuery, CellCondition
from indistinct.data_utility.sound_answers.sound_bounds import BoundedAnswer, SoundBounds, bounds

__all__ = ["BoundedAnswer", "BoundsQuery", "CellCondition", "SoundBounds", "bounds"]
