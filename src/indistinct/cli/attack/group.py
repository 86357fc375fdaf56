"""``indistinct attack``: what somebody could conclude from a release, shown to its holder first."""

from __future__ import annotations

from indistinct.cli.attack import all_attacks as attack_all
from indistinct.cli.attack import complementary as attack_complementary
from indistinct.cli.attack import dependencies as attack_dependencies
from indistinct.cli.attack import guesses as attack_guesses
from indistinct.cli.attack import homogeneity as attack_homogeneity
from indistinct.cli.attack import link as attack_link
from indistinct.cli.attack import maps as attack_maps
from indistinct.cli.attack import sharpening as attack_sharpening
from indistinct.cli.attack import unsorted as attack_unsorted
from indistinct.cli.command import CommandLine

app = CommandLine(name="attack", help="Try to undo a release, as a recipient could.", no_args_is_help=True)
app.command()(attack_link.link)
app.command()(attack_maps.maps)
app.command()(attack_complementary.complementary)
app.command()(attack_unsorted.unsorted)
app.command()(attack_homogeneity.homogeneity)
app.command()(attack_dependencies.dependencies)
app.command()(attack_guesses.inference)
app.command()(attack_guesses.minimality)
app.command()(attack_guesses.definetti)
app.command("singling-out")(attack_guesses.singling_out)
app.command("all")(attack_all.run_all)
app.command()(attack_sharpening.downcoding)
app.command()(attack_sharpening.refinement)


@app.callback()
def attack() -> None:
    """Try to undo a release, as a recipient could."""
