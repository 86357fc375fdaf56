"""What the order of released rows tells."""

from indistinct.attacks.order.unsorted import Unsorted, UnsortedReport, unsorted

__all__ = ["Unsorted", "UnsortedReport", "unsorted"]
