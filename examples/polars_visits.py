"""A steward's visits with Polars: a script (python examples/polars_visits.py) and a notebook (marimo edit)."""

import marimo

app = marimo.App()


@app.cell
def _():
    import tempfile
    from pathlib import Path

    import marimo as mo
    import polars as pl
    from made_up import visits, voters

    import indistinct as ix

    return Path, ix, mo, pl, tempfile, visits, voters


@app.cell
def _(mo):
    mo.md("""
    # Visits to a hospital, for a study

    You keep a table of visits and a university asks for it. Leaving out names is not enough: birth year, sex and ZIP
    code stand on lists that name people. How many of your people does such a list find?
    """)
    return


@app.cell
def _(ix, pl, visits, voters):
    people = visits()
    table, public_list = pl.DataFrame(people), pl.DataFrame(voters(people))
    alone = ix.risk(table, ["born", "sex", "zip"]).uniques
    print(f"{alone} of {len(people)} people stand alone by birth year, sex and ZIP code")
    return alone, public_list, table


@app.cell
def _(mo):
    mo.md("""
    ## The policy
    Names never leave. What others may know is generalized, along hierarchies, until everybody shares it with four
    others. No illness may be that of more than half of such a group. At most 5 % of the rows are left out.
    """)
    return


@app.cell
def _(ix):
    policy = ix.Policy(
        columns={
            "name": ix.identifier(),
            "born": ix.quasi(ix.intervals(5, 10, 20, 40), weight=2),
            "sex": ix.quasi(ix.suppress()),
            "zip": ix.quasi(ix.prefix(5, keep=[4, 3])),
            "illness": ix.sensitive(),
            "days": ix.other(),
        },
        privacy=[ix.KAnonymity(5), ix.AlphaK(alpha=0.7, k=5)],
        max_suppression=0.05,
        about={"data": "Made-up visits", "purpose": "A study of illnesses by age", "recipient": "a university"},
    )
    return (policy,)


@app.cell
def _(Path, ix, policy, table, tempfile):
    place = Path(tempfile.mkdtemp())
    release = ix.anonymize(table, policy)
    folder = release.write(place / "release", verifier=True, metadata=True)
    print(release)
    return folder, place, release


@app.cell
def _(mo):
    mo.md("""
    ## Proof and attack
    `verify` counts the released cells anew, and with your table proves that each is true. Then attack what you made:
    the list that found people before must find nobody now.
    """)
    return


@app.cell
def _(folder, ix, policy, public_list, table):
    verdict = ix.verify(folder, policy, original=table)
    linked = ix.attacks.link(folder, public_list, policy)
    print(f"verified and true: {verdict.passed}; people found by the public list: {linked.one_to_one}")
    return linked, verdict


@app.cell
def _(place, release, table):
    report = release.report(place / "report.html", original=table)
    print(f"the page for whoever decides: {report.name}; the levels: {dict(release.node)}")
    return (report,)


@app.cell
def _(mo):
    mo.md("""
    ## What analysts can still do
    What was not generalized is exact, up to the few rows that were left out: how long people with an illness stay. What
    was generalized is coarser, and true: illnesses by age group.
    """)
    return


@app.cell
def _(pl, release, table):
    released = release.table
    stays = pl.col("days").mean()
    both = (
        released.group_by("illness").agg(stays).join(table.group_by("illness").agg(stays.alias("true")), on="illness")
    )
    error = both.select((pl.col("days") - pl.col("true")).abs().max()).item()
    by_age = released.group_by("born", "illness").len()
    print(f"mean stays differ by at most {error:.2f} days; {len(by_age)} counts of illnesses by age")
    return by_age, error


if __name__ == "__main__":
    app.run()
