"""``indistinct attack``: what somebody could conclude from a release, shown to its holder first."""

from __future__ import annotations

from indistinct.cli import (
    attack_all,
    attack_complementary,
    attack_dependencies,
    attack_guesses,
    attack_homogeneity,
    attack_link,
    attack_maps,
    attack_sharpening,
    attack_unsorted,
)
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
