"""What ``init`` should answer about tables that were fetched after all others, to try its rules once more.

Read as ``init_answers`` is. Each answer was written when the columns had been looked at, and before ``init`` was run on
them; none was changed then. What failed in that first run is told in the chapter of the page.
"""

from __future__ import annotations

FRESH: dict[str, str] = {
    "borrowers, Spain": """
        rownames | identifier | | numbers the rows
        Status | sensitive | | whether somebody pays, by a name that says little
        Seniority | quasi | numbers | known at work
        Home | quasi | kinds | seen
        Time | sensitive/other/quasi | numbers/kinds | months of a loan
        Age | quasi | numbers | known
        Marital | quasi | kinds | known
        Records | sensitive | | whether somebody failed to pay
        Job | quasi | kinds | known
        Expenses | sensitive | | money
        Income | sensitive | | money
        Assets | sensitive | | money
        Debt | sensitive | | money
        Amount | sensitive | | money
        Price | sensitive/other | | money
    """,
    "credit cards, Taiwan": """
        ID | identifier | | numbers the people
        LIMIT_BAL | sensitive | | money
        SEX | quasi | kinds | seen
        AGE | quasi | numbers | known
        PAY_0 | sensitive | | money that is overdue
        PAY_2 | sensitive | | money that is overdue
        PAY_3 | sensitive | | money that is overdue
        PAY_4 | sensitive | | money that is overdue
        PAY_5 | sensitive | | money that is overdue
        PAY_6 | sensitive | | money that is overdue
        BILL_AMT1 | sensitive | | money
        BILL_AMT2 | sensitive | | money
        BILL_AMT3 | sensitive | | money
        BILL_AMT4 | sensitive | | money
        BILL_AMT5 | sensitive | | money
        BILL_AMT6 | sensitive | | money
        PAY_AMT1 | sensitive | | money
        PAY_AMT2 | sensitive | | money
        PAY_AMT3 | sensitive | | money
        PAY_AMT4 | sensitive | | money
        PAY_AMT5 | sensitive | | money
        PAY_AMT6 | sensitive | | money
        default-payment-next-month | sensitive | | money
        EDUCATION_0 | quasi/other | kinds | known, of few people
        EDUCATION_1 | quasi | kinds | known
        EDUCATION_2 | quasi | kinds | known
        EDUCATION_3 | quasi | kinds | known
        EDUCATION_4 | quasi | kinds | known
        EDUCATION_5 | quasi | kinds | known
        EDUCATION_6 | quasi | kinds | known
        MARRIAGE_0 | quasi | kinds | known
        MARRIAGE_1 | quasi | kinds | known
        MARRIAGE_2 | quasi | kinds | known
        MARRIAGE_3 | quasi | kinds | known
    """,
    "programmers": """
        rownames | identifier | | numbers the rows
        Country | quasi | kinds | known
        Salary | sensitive | | money
        YearsCodedJob | quasi | numbers | known at work
        OpenSource | quasi/other | kinds | to be seen
        Hobby | quasi/other | kinds | friends know
        CompanySizeNumber | quasi | numbers/kinds | known
        Remote | quasi | kinds | known at work
        CareerSatisfaction | sensitive | | an opinion
        Data_scientist | quasi | kinds | known at work
        Database_administrator | quasi | kinds | known at work
        Desktop_applications_developer | quasi | kinds | known at work
        Developer_with_stats_math_background | quasi | kinds | known at work
        DevOps | quasi | kinds | known at work
        Embedded_developer | quasi | kinds | known at work
        Graphic_designer | quasi | kinds | known at work
        Graphics_programming | quasi | kinds | known at work
        Machine_learning_specialist | quasi | kinds | known at work
        Mobile_developer | quasi | kinds | known at work
        Quality_assurance_engineer | quasi | kinds | known at work
        Systems_administrator | quasi | kinds | known at work
        Web_developer | quasi | kinds | known at work
    """,
    "pancreatitis trial": """
        rownames | identifier | | numbers the rows
        id | identifier | | numbers the people
        site | quasi | kinds | where somebody was treated
        age | quasi | numbers | known
        risk | sensitive | | health
        gender | quasi | kinds | seen
        outcome | sensitive | | health
        sod | sensitive | | health
        pep | sensitive | | health
        recpanc | sensitive | | health
        psphinc | sensitive | | a treatment
        precut | sensitive | | a treatment
        difcan | sensitive | | a treatment
        pneudil | sensitive | | a treatment
        amp | sensitive | | a treatment
        paninj | sensitive | | a treatment
        acinar | sensitive | | health
        brush | sensitive | | a treatment
        asa81 | sensitive | | a drug
        asa325 | sensitive | | a drug
        asa | sensitive | | a drug
        prophystent | sensitive | | a treatment
        therastent | sensitive | | a treatment
        pdstent | sensitive | | a treatment
        sodsom | sensitive | | a treatment
        bsphinc | sensitive | | a treatment
        bstent | sensitive | | a treatment
        chole | sensitive | | health
        pbmal | sensitive | | health
        train | other/sensitive/quasi | kinds | whether a trainee took part
        status | quasi/sensitive | kinds | whether somebody stayed in hospital
        type | sensitive | | health
        rx | sensitive | | a drug
        bleed | sensitive | | health
    """,
    "monoclonal proteins": """
        rownames | identifier | | numbers the rows
        id | identifier | | numbers the people
        age | quasi | numbers | known
        sex | quasi | kinds | seen
        dxyr | quasi | numbers/dates | others know when
        hgb | sensitive | | health
        creat | sensitive | | health
        mspike | sensitive/other | | a laboratory's figure
        ptime | other/sensitive/quasi | numbers | months of a study
        pstat | sensitive | | health
        futime | other/sensitive/quasi | numbers | months of a study
        death | sensitive | | health
    """,
    "smokers who quit": """
        rownames | identifier | | numbers the rows
        id | identifier | | numbers the people
        ttr | sensitive/other/quasi | numbers | days until somebody smoked again
        relapse | sensitive | | health
        grp | sensitive | | a treatment
        age | quasi | numbers | known
        gender | quasi | kinds | seen
        race | quasi | kinds | seen
        employment | quasi | kinds | known
        yearsSmoking | sensitive | | smoking
        levelSmoking | sensitive | | smoking
        ageGroup2 | quasi | ranges/kinds | known
        ageGroup4 | quasi | ranges/kinds | known
        priorAttempts | sensitive/other | | smoking
        longestNoSmoke | sensitive | | smoking
    """,
}
"""Tables that were fetched last of all."""
