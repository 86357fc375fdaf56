"""Linking a release with another table of people."""

from indistinct.attacks.linking.link import Link, link
from indistinct.attacks.linking.link_report import LinkedGroup, LinkReport
from indistinct.attacks.linking.maps import MapReport, Maps, maps

__all__ = ["Link", "LinkReport", "LinkedGroup", "MapReport", "Maps", "link", "maps"]
