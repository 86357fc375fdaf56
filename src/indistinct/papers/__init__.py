"""The figures, tables and examples of the papers, computed anew from what the package ships, beside what is printed."""

from indistinct.papers.figure import Differs, Figure, PaperStatement, PaperTable, Reproduction
from indistinct.papers.index import FIGURES, paper

__all__ = ["FIGURES", "Differs", "Figure", "PaperStatement", "PaperTable", "Reproduction", "paper"]
