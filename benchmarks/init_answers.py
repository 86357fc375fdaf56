"""What ``init`` should answer about each column of each table of its benchmark, and why, in a few words.

A line is ``column | role | hierarchy | why``; the hierarchy is that of a quasi column. Where two answers can be
defended both stand there, the better one first: ``quasi/sensitive``. The strict score counts the first alone.
Hierarchies: numbers (intervals of any kind), kinds (suppressed, or grouped by a known classification), codes (their
beginnings), dates, ranges (neighbours are joined). ``person`` names the column that says whose rows these are.

Roles follow four questions. Does it name or number a person, a row, or lead to a door or a mailbox? Identifier. May
a neighbour, an employer or a register know it, or was it to be seen? Quasi. Would it harm somebody if it were known:
health, money, belief, offences, marks? Sensitive. Else other: weights, constants, laboratory and computed figures.
"""

from __future__ import annotations

from dataclasses import dataclass

ROLES = ("identifier", "quasi", "sensitive", "other")
KINDS = ("numbers", "kinds", "codes", "dates", "ranges")


@dataclass(frozen=True)
class Answer:
    """What a column is: the roles and the kinds of hierarchy that can be defended, the best first, and why."""

    roles: tuple[str, ...]
    kinds: tuple[str, ...]
    why: str


def answers(text: str) -> dict[str, Answer]:
    """Read the answers of one table.

    >>> answers("age | quasi | numbers | known")["age"]
    Answer(roles=('quasi',), kinds=('numbers',), why='known')
    """
    found = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, roles, kinds, why = (part.strip() for part in line.split("|"))
        one = Answer(tuple(roles.split("/")), tuple(filter(None, kinds.split("/"))), why)
        assert set(one.roles) <= set(ROLES), line
        assert set(one.kinds) <= set(KINDS), line
        assert why, line
        assert bool(one.kinds) == ("quasi" in one.roles), line
        found[name] = one
    return found


TUNED: dict[str, str] = {
    "adult": """
        Unnamed: 0 | identifier | | numbers the rows
        age | quasi | numbers | known
        workclass | quasi | kinds | seen at work
        education | quasi | kinds/ranges | known
        education-num | quasi | numbers/kinds | known
        marital-status | quasi | kinds | known
        occupation | quasi | kinds | known
        relationship | quasi | kinds | known
        race | quasi | kinds | seen
        gender | quasi | kinds | seen
        capital-gain | sensitive | | money
        capital-loss | sensitive | | money
        hours-per-week | quasi | numbers | known at work
        native-country | quasi | kinds | known
        income | sensitive | | money
    """,
    "military": """
        rownames | identifier | | numbers the rows
        grade | quasi | kinds | worn
        branch | quasi | kinds | worn
        gender | quasi | kinds | seen
        race | quasi | kinds | seen
        hisp | quasi | kinds | known
        rank | quasi | kinds/numbers | worn
    """,
    "crashes, NASS": """
        rownames | identifier | | numbers the rows
        dvcat | quasi/sensitive | ranges/kinds | in the papers
        weight | other/quasi | numbers | a sampling weight
        dead | sensitive | | health
        airbag | quasi/other | kinds | in the papers
        seatbelt | quasi/other | kinds | in the papers
        frontal | quasi/other | kinds | in the papers
        sex | quasi | kinds | seen
        ageOFocc | quasi | numbers | known
        yearacc | quasi | numbers/kinds | in the papers
        yearVeh | quasi | numbers | seen
        abcat | quasi/other | kinds | in the papers
        occRole | quasi | kinds | seen
        deploy | quasi/other | kinds | in the papers
        injSeverity | sensitive | | health
        caseid | identifier | | numbers the occupants
    """,
    "police stops": """
        rownames | identifier | | numbers the rows
        idNum | identifier | | numbers the stops
        date | quasi | dates | seen
        problem | sensitive/quasi | kinds | why stopped
        MDC | other/quasi | kinds | how it was entered
        citationIssued | sensitive | | an offence
        personSearch | sensitive/quasi | kinds | an offence
        vehicleSearch | sensitive/quasi | kinds | an offence
        preRace | quasi | kinds | seen
        race | quasi | kinds | seen
        gender | quasi | kinds | seen
        lat | identifier | | a house
        long | identifier | | a house
        policePrecinct | quasi | kinds | a place
        neighborhood | quasi | kinds | a place
    """,
    "covid tests": """
        person | subject_id | | some were tested again
        rownames | identifier | | numbers the rows
        subject_id | identifier | | numbers the people
        fake_first_name | identifier | | a name
        fake_last_name | identifier | | a name
        gender | quasi | kinds | seen
        pan_day | quasi | numbers | a date
        test_id | other/quasi | kinds | which test
        clinic_name | quasi | kinds | where one goes
        result | sensitive | | health
        demo_group | quasi | kinds | known
        age | quasi | numbers | known
        drive_thru_ind | quasi/other | kinds | seen
        ct_result | sensitive/other | | a laboratory figure
        orderset | other/quasi | kinds | how it was ordered
        payor_group | quasi/sensitive | kinds | the insurer knows
        patient_class | quasi | kinds | where one goes
        col_rec_tat | other | | minutes of a laboratory
        rec_ver_tat | other | | minutes of a laboratory
    """,
    "young women, panel": """
        person | idcode | | asked every year
        rownames | identifier | | numbers the rows
        idcode | identifier | | numbers the people
        year | quasi | numbers | when asked
        birth_yr | quasi | numbers | known
        age | quasi | numbers | known
        race | quasi | kinds | seen
        msp | quasi | kinds | known
        nev_mar | quasi | kinds | known
        grade | quasi | numbers | schooling
        collgrad | quasi | kinds | schooling
        not_smsa | quasi | kinds | a place
        c_city | quasi | kinds | a place
        south | quasi | kinds | a place
        ind_code | quasi | kinds/numbers | known at work
        occ_code | quasi | kinds/numbers | known at work
        union | quasi/sensitive | kinds | known at work
        wks_ue | sensitive/quasi | numbers | unemployment
        ttl_exp | quasi/other | numbers | known at work
        tenure | quasi | numbers | known at work
        hours | quasi | numbers | known at work
        wks_work | quasi/other | numbers | known at work
        ln_wage | sensitive | | money
    """,
    "voters of 2016": """
        rownames | identifier | | numbers the rows
        uid | identifier | | numbers the people
        state | quasi | kinds | a place
        votetrump | sensitive | | belief
        age | quasi | numbers | known
        female | quasi | kinds | seen
        collegeed | quasi | kinds | schooling
        racef | quasi | kinds | seen
        famincr | sensitive | | money
        ideo | sensitive | | belief
        pid7na | sensitive | | belief
        bornagain | sensitive | | belief
        religimp | sensitive | | belief
        churchatd | sensitive/quasi | kinds | belief
        prayerfreq | sensitive | | belief
        angryracism | sensitive | | belief
        whiteadv | sensitive | | belief
        fearraces | sensitive | | belief
        racerare | sensitive | | belief
        lrelig | other/sensitive | | computed
        lcograc | other/sensitive | | computed
        lemprac | other/sensitive | | computed
    """,
    "census of 2012": """
        rownames | identifier | | numbers the rows
        income | sensitive | | money
        employment | quasi | kinds | known
        hrs_work | quasi | numbers | known at work
        race | quasi | kinds | seen
        age | quasi | numbers | known
        gender | quasi | kinds | seen
        citizen | quasi | kinds | known
        time_to_work | quasi | numbers | seen
        lang | quasi | kinds | heard
        married | quasi | kinds | known
        edu | quasi | kinds | known
        disability | sensitive | | health
        birth_qrtr | quasi | kinds | known
    """,
    "pseudo census": """
        person | simulant_id | | three censuses
        unit_number | identifier | | a door
        household_id | identifier | | who lives together
        copy_age | quasi | numbers | known
        zipcode | other/quasi | codes/kinds | one value
        copy_date_of_birth | quasi | dates | known
        guardian_1 | identifier | | a person
        first_name | identifier | | a name
        relationship_to_reference_person | quasi | kinds | known
        state | other/quasi | kinds | one value
        middle_initial | identifier | | a part of a name
        year | quasi | numbers/kinds | when counted
        guardian_2 | identifier | | a person
        street_name | identifier | | a door
        race_ethnicity | quasi | kinds | seen
        simulant_id | identifier | | numbers the people
        city | other/quasi | kinds | one value
        date_of_birth | quasi | dates | known
        housing_type | quasi | kinds | seen
        sex | quasi | kinds | seen
        street_number | identifier | | a door
        age | quasi | numbers | known
        last_name | identifier | | a name
    """,
    "febrl": """
        person | soc_sec_id | | some stand there twice
        rec_id | identifier | | numbers the rows
        given_name | identifier | | a name
        surname | identifier | | a name
        street_number | identifier | | a door
        address_1 | identifier | | a door
        address_2 | identifier | | a door
        suburb | quasi | kinds | a place
        postcode | quasi | codes | a place
        state | quasi | kinds | a place
        date_of_birth | quasi | dates/numbers/codes | known
        soc_sec_id | identifier | | a number of an office
    """,
    "crash records": """
        caseid | identifier | | numbers the occupants
        state | quasi | kinds | a place
        age | quasi | numbers | known
        airbag | quasi/other | kinds | in the papers
        injury | sensitive | | health
        restraint | quasi/other | kinds | in the papers
        sex | quasi | kinds | seen
        inimpact | quasi/other | kinds | in the papers
        modelyr | quasi | numbers | seen
        year | quasi | numbers | in the papers
        seat_position | quasi | kinds/numbers | in the papers
    """,
    "community survey": """
        PUMA | quasi | codes/kinds | a place
        AGEP | quasi | numbers | known
        SEX | quasi | kinds | seen
        MSP | quasi | kinds | known
        HISP | quasi | kinds | known
        RAC1P | quasi | kinds | seen
        NOC | quasi | kinds/numbers | children
        NPF | quasi | kinds/numbers | family
        HOUSING_TYPE | quasi | kinds | seen
        OWN_RENT | quasi | kinds | known
        DENSITY | quasi | numbers | tells the place
        INDP | quasi | numbers/codes/kinds | known at work
        INDP_CAT | quasi | kinds | known at work
        EDU | quasi | kinds/numbers | known
        PINCP | sensitive | | money
        PINCP_DECILE | sensitive | | money
        POVPIP | sensitive | | money
        DVET | quasi/sensitive | kinds | known
        DREM | sensitive | | health
        DPHY | sensitive | | health
        DEYE | sensitive | | health
        DEAR | sensitive | | health
        PWGTP | other | | a weight
        WGTP | other | | a weight
    """,
    "encounters": """
        person | patient_nbr | | some come again
        encounter_id | identifier | | numbers the stays
        patient_nbr | identifier | | numbers the people
        race | quasi | kinds | seen
        gender | quasi | kinds | seen
        age | quasi | ranges | known
        weight | quasi | ranges | seen
        admission_type_id | quasi/other | kinds | seen
        discharge_disposition_id | quasi/other | kinds | known
        admission_source_id | quasi/other | kinds | seen
        time_in_hospital | quasi | numbers | known
        payer_code | quasi/other | kinds | the insurer knows
        medical_specialty | quasi/other | kinds | where one goes
        num_lab_procedures | sensitive/other | | care
        num_procedures | sensitive/other | | care
        num_medications | sensitive/other | | care
        number_outpatient | sensitive/quasi | numbers/kinds | care
        number_emergency | sensitive/quasi | numbers/kinds | care
        number_inpatient | sensitive/quasi | numbers/kinds | care
        diag_1 | sensitive | | health
        diag_2 | sensitive | | health
        diag_3 | sensitive | | health
        number_diagnoses | sensitive | | health
        max_glu_serum | sensitive/other | | a laboratory figure
        A1Cresult | sensitive/other | | a laboratory figure
        metformin | sensitive | | a drug
        repaglinide | sensitive | | a drug
        glimepiride | sensitive | | a drug
        glipizide | sensitive | | a drug
        pioglitazone | sensitive | | a drug
        insulin | sensitive | | a drug
        change | sensitive/other/quasi | kinds | care
        diabetesMed | sensitive | | a drug
        readmitted | sensitive | | care
    """,
    "synthetic patients": """
        Id | identifier | | numbers the people
        BIRTHDATE | quasi | dates | known
        DEATHDATE | quasi | dates | in the papers
        SSN | identifier | | a number of an office
        DRIVERS | identifier | | a document
        PASSPORT | identifier | | a document
        PREFIX | quasi | kinds | heard
        FIRST | identifier | | a name
        LAST | identifier | | a name
        MAIDEN | identifier | | a name
        MARITAL | quasi | kinds | known
        RACE | quasi | kinds | seen
        ETHNICITY | quasi | kinds | seen
        GENDER | quasi | kinds | seen
        BIRTHPLACE | quasi | kinds | known
        ADDRESS | identifier | | a door
        CITY | quasi | kinds | a place
        STATE | other/quasi | kinds | one value
        COUNTY | quasi | kinds | a place
        ZIP | quasi | codes | a place
        LAT | identifier | | a house
        LON | identifier | | a house
        HEALTHCARE_EXPENSES | sensitive | | money
        HEALTHCARE_COVERAGE | sensitive | | money
        INCOME | sensitive | | money
    """,
    "time use": """
        tucaseid | identifier | | numbers the people
        tulineno | other | | one value
        region | quasi | kinds | a place
        state | quasi | kinds | a place
        sex | quasi | kinds | seen
        age | quasi | numbers | known
        edu | quasi | kinds | known
        race | quasi | kinds | seen
        hispanic | quasi | kinds | known
        marital_status | quasi | kinds | known
        famincome | sensitive | | money
        occ_code | quasi | kinds/numbers | known at work
        usual_hours | quasi | numbers | known at work
        survey_period | quasi/other | ranges/kinds | when asked
        finalweight | other | | a weight
        minutes_sleeping | quasi/other/sensitive | numbers | a diary
        minutes_working | quasi/other | numbers | a diary
    """,
    "discharges": """
        Health Service Area | quasi | kinds | a place
        Hospital County | quasi | kinds | a place
        Facility Id | quasi | codes/kinds | where one goes
        Facility Name | quasi | kinds | where one goes
        Age Group | quasi | ranges | known
        Zip Code - 3 digits | quasi | codes | a place
        Gender | quasi | kinds | seen
        Race | quasi | kinds | seen
        Ethnicity | quasi | kinds | seen
        Length of Stay | quasi | ranges/numbers | known
        Type of Admission | quasi | kinds | seen
        Patient Disposition | quasi/sensitive | kinds | known
        Discharge Year | other/quasi | kinds/numbers | one value
        CCS Diagnosis Description | sensitive | | health
        APR Severity of Illness | sensitive | | health
        Payment Typology 1 | quasi/sensitive | kinds | the insurer knows
        Emergency Department Indicator | quasi/sensitive | kinds | seen
        Total Charges | sensitive | | money
        Total Costs | sensitive | | money
    """,
    "customers": """
        Kundennummer | identifier | | numbers the people
        Vorname | identifier | | a name
        Nachname | identifier | | a name
        Geburtsdatum | quasi | dates | known
        Geschlecht | quasi | kinds | seen
        PLZ | quasi | codes | a place
        Wohnort | quasi | kinds | a place
        Bundesland | quasi | kinds | a place
        Familienstand | quasi | kinds | known
        Kinderzahl | quasi | kinds/numbers | known
        Beruf | quasi | kinds | known
        Staatsangehörigkeit | quasi | kinds | known
        Jahreseinkommen | sensitive | | money
        Vorerkrankung | sensitive | | health
        Alter | quasi | numbers | known
        Telefon | identifier | | a line
        Mailadresse | identifier | | a mailbox
        Konfession | sensitive | | belief
    """,
}
"""Tables that the rules were tried on while they were written."""

HELD_OUT: dict[str, str] = {
    "smoking": """
        rownames | identifier | | numbers the rows
        gender | quasi | kinds | seen
        age | quasi | numbers | known
        marital_status | quasi | kinds | known
        highest_qualification | quasi | kinds | known
        nationality | quasi | kinds | known
        ethnicity | quasi | kinds | seen
        gross_income | sensitive | | money
        region | quasi | kinds | a place
        smoke | sensitive/quasi | kinds | health
        amt_weekends | sensitive/quasi | numbers | health
        amt_weekdays | sensitive/quasi | numbers | health
        type | sensitive/quasi | kinds | health
    """,
    "wages since 1974": """
        rownames | identifier | | numbers the rows
        year | quasi | numbers | when asked
        realrinc | sensitive | | money
        age | quasi | numbers | known
        occ10 | quasi | numbers/kinds/codes | known at work
        occrecode | quasi | kinds | known at work
        prestg10 | quasi/other | numbers | computed from the job
        childs | quasi | numbers/kinds | known
        wrkstat | quasi | kinds | known
        gender | quasi | kinds | seen
        educcat | quasi | kinds | known
        maritalcat | quasi | kinds | known
    """,
    "German pupils": """
        rownames | identifier | | numbers the rows
        school | quasi | kinds | known
        birthyear | quasi | numbers | known
        gender | quasi | kinds | seen
        kids | quasi | numbers/kinds | known
        parity | quasi | numbers/kinds | known
        income | sensitive | | money
        size | quasi | numbers/kinds | household
        state | quasi | kinds | a place
        marital | quasi | kinds | known
        meducation | quasi | numbers | known
        memployment | quasi | kinds | known
        year | quasi | numbers | when asked
    """,
    "colon cancer": """
        person | id | | two events each
        rownames | identifier | | numbers the rows
        id | identifier | | numbers the people
        study | other | | one value
        rx | sensitive/quasi | kinds | treatment
        sex | quasi | kinds | seen
        age | quasi | numbers | known
        obstruct | sensitive/quasi | kinds | health
        perfor | sensitive/quasi | kinds | health
        adhere | sensitive/quasi | kinds | health
        nodes | sensitive/quasi | numbers | health
        status | sensitive/quasi | kinds | died
        differ | sensitive/quasi | kinds | health
        extent | sensitive/quasi | kinds | health
        surg | sensitive | | health
        node4 | sensitive/quasi | kinds | health
        time | quasi/sensitive | numbers | until an event
        etype | quasi/other/sensitive | kinds | which event
    """,
    "suicides": """
        rownames | identifier | | numbers the rows
        Person_ID | identifier | | numbers the people
        Hospitalised | quasi/sensitive | kinds | known
        Died | quasi/sensitive | kinds | known
        Urban | quasi | kinds | a place
        Year | quasi | numbers/kinds | in the papers
        Month | quasi | numbers/kinds | in the papers
        Sex | quasi | kinds | seen
        Age | quasi | numbers | known
        Education | quasi | kinds | known
        Occupation | quasi | kinds | known
        method | sensitive/quasi | kinds | health
    """,
    "use of force": """
        rownames | identifier | | numbers the rows
        response_datetime | quasi | dates | seen
        problem | sensitive/quasi | kinds | an offence
        is_911_call | quasi/other | kinds | known
        primary_offense | sensitive | | an offence
        subject_injury | sensitive | | health
        force_type | sensitive/quasi | kinds | an offence
        force_type_action | sensitive/quasi | kinds | an offence
        race | quasi | kinds | seen
        sex | quasi | kinds | seen
        age | quasi | numbers | known
        type_resistance | sensitive/quasi | kinds | an offence
        precinct | quasi | kinds | a place
        neighborhood | quasi | kinds | a place
    """,
    "titanic": """
        pclass | quasi | kinds | seen
        survived | sensitive | | died
        name | identifier | | a name
        sex | quasi | kinds | seen
        age | quasi | numbers | known
        sibsp | quasi | numbers/kinds | known
        parch | quasi | numbers/kinds | known
        ticket | identifier/quasi | kinds/codes | a number
        fare | quasi/other/sensitive | numbers | a price
        cabin | quasi/identifier | kinds/codes | a door on board
        embarked | quasi | kinds | seen
        boat | quasi | kinds | seen
        body | identifier/quasi/sensitive | numbers/kinds | numbers the dead
        home.dest | quasi | kinds | a place
    """,
    "runners": """
        rownames | identifier | | numbers the rows
        date | quasi | dates | seen
        race | quasi | kinds | which run
        bib_num | identifier | | worn by one
        first_name | identifier | | a name
        last_initial | identifier | | a part of a name
        sex | quasi | kinds | seen
        age | quasi | numbers | known
        city | quasi | kinds | a place
        state | quasi | kinds | a place
        run_time_minutes | quasi/other | numbers | published
    """,
    "happiness": """
        rownames | identifier | | numbers the rows
        year | quasi | numbers/kinds | when asked
        workstat | quasi | kinds | known
        prestige | quasi/other | numbers | computed from the job
        divorce | quasi | kinds | known
        widowed | quasi | kinds | known
        educ | quasi | numbers | known
        reg16 | quasi | kinds | a place
        babies | quasi | numbers/kinds | known
        preteen | quasi | numbers/kinds | known
        teens | quasi | numbers/kinds | known
        income | sensitive | | money
        region | quasi | kinds | a place
        attend | sensitive/quasi | kinds | belief
        happy | sensitive | | belief
        owngun | sensitive/quasi | kinds | harm
        tvhours | quasi/other/sensitive | numbers | a habit
        vhappy | sensitive | | belief
        mothfath16 | quasi | kinds | known
        black | quasi | kinds | seen
        gwbush04 | sensitive | | belief
        female | quasi | kinds | seen
        blackfemale | quasi | kinds | seen
        gwbush00 | sensitive | | belief
        occattend | sensitive/quasi | kinds | belief
        regattend | sensitive/quasi | kinds | belief
        y94 | quasi/other | kinds | when asked
        y96 | quasi/other | kinds | when asked
        y98 | quasi/other | kinds | when asked
        y00 | quasi/other | kinds | when asked
        y02 | quasi/other | kinds | when asked
        y04 | quasi/other | kinds | when asked
        y06 | quasi/other | kinds | when asked
        unem10 | sensitive/quasi | kinds | money
    """,
    "raters of films": """
        user_id | identifier | | numbers the people
        age | quasi | numbers | known
        gender | quasi | kinds | seen
        occupation | quasi | kinds | known
        zip_code | quasi | codes | a place
    """,
    "credit cards": """
        rownames | identifier | | numbers the rows
        card | sensitive/quasi | kinds | money
        reports | sensitive/quasi | numbers/kinds | money
        age | quasi | numbers | known
        income | sensitive | | money
        share | sensitive/other | | money
        expenditure | sensitive | | money
        owner | quasi | kinds | known
        selfemp | quasi | kinds | known
        dependents | quasi | numbers/kinds | known
        months | quasi/other | numbers | at this address
        majorcards | sensitive/quasi | kinds | money
        active | sensitive/quasi | numbers | money
    """,
    "health insurance": """
        rownames | identifier | | numbers the rows
        health | sensitive | | health
        age | quasi | numbers | known
        limit | sensitive/quasi | kinds | health
        gender | quasi | kinds | seen
        insurance | quasi/sensitive | kinds | the insurer knows
        married | quasi | kinds | known
        selfemp | quasi | kinds | known
        family | quasi | numbers/kinds | known
        region | quasi | kinds | a place
        ethnicity | quasi | kinds | seen
        education | quasi | kinds | known
    """,
    "liver patients": """
        person | id | | seen again and again
        rownames | identifier | | numbers the rows
        id | identifier | | numbers the people
        futime | quasi/sensitive/other | numbers | until an event
        status | sensitive/quasi | kinds | died
        trt | sensitive | | treatment
        age | quasi | numbers | known
        sex | quasi | kinds | seen
        day | quasi | numbers | a date
        ascites | sensitive/quasi | kinds | health
        hepato | sensitive/quasi | kinds | health
        spiders | sensitive/quasi | kinds | health
        edema | sensitive/quasi | kinds | health
        bili | sensitive/other | | a laboratory figure
        chol | sensitive/other | | a laboratory figure
        albumin | sensitive/other | | a laboratory figure
        alk.phos | sensitive/other/quasi | numbers | a laboratory figure
        ast | sensitive/other | | a laboratory figure
        platelet | sensitive/other/quasi | numbers | a laboratory figure
        protime | sensitive/other | | a laboratory figure
        stage | sensitive | | health
    """,
    "wage statements": """
        person | simulant_id | | one a year
        tax_year | quasi | numbers | when paid
        mailing_address_street_number | identifier | | a door
        household_id | identifier | | who lives together
        copy_age | quasi | numbers | known
        employer_city | other/quasi | kinds | one value
        copy_ssn | identifier | | a number of an office
        employer_name | quasi | kinds | where one works
        copy_date_of_birth | quasi | dates | known
        employer_street_name | quasi/identifier | kinds | where one works
        employer_zipcode | other/quasi | codes/kinds | one value
        wages | sensitive | | money
        mailing_address_state | other/quasi | kinds | one value
        first_name | identifier | | a name
        mailing_address_street_name | identifier | | a door
        mailing_address_city | other/quasi | kinds | one value
        mailing_address_po_box | identifier | | a mailbox
        mailing_address_zipcode | other/quasi | codes/kinds | one value
        tax_form | quasi/other/sensitive | kinds | the employer knows
        middle_initial | identifier | | a part of a name
        employer_id | quasi/identifier | kinds/numbers | where one works
        employer_street_number | quasi/identifier | kinds | where one works
        simulant_id | identifier | | numbers the people
        ssn | identifier | | a number of an office
        date_of_birth | quasi | dates | known
        mailing_address_unit_number | identifier | | a door
        employer_state | other/quasi | kinds | one value
        age | quasi | numbers | known
        last_name | identifier | | a name
        employer_unit_number | quasi/identifier | kinds | where one works
    """,
}
"""Tables whose answers were written before a rule was run on them; their columns had been looked at before, and three
rules were changed after the first run."""

TRIED: dict[str, str] = {
    "senators": """
        Name | identifier | | a name
        Political Affiliation at Appointment | sensitive/quasi | kinds | belief, though published
        Province / Territory | quasi | kinds | a place
        Appointed on the advice of | quasi | kinds | published
        Term (yyyy.mm.dd) | identifier/quasi | codes/kinds | published, and nearly all differ
        start_date | quasi | dates | published
        end_date | quasi | dates | published
        reason | quasi/sensitive | kinds | published
        diff_days | quasi | numbers | computed from the dates
        observed | quasi/other | kinds | computed from the dates
    """,
    "smokers, NHEFS": """
        seqn | identifier | | numbers the people
        qsmk | sensitive/quasi | kinds | health
        death | sensitive | | died
        yrdth | quasi/sensitive | numbers/kinds | a date
        modth | quasi/sensitive | numbers/kinds | a date
        dadth | quasi/sensitive | numbers/kinds | a date
        sbp | sensitive/other | | a laboratory figure
        dbp | sensitive/other | | a laboratory figure
        sex | quasi | kinds | seen
        age | quasi | numbers | known
        race | quasi | kinds | seen
        income | sensitive | | money
        marital | quasi | kinds | known
        school | quasi | numbers | known
        education | quasi | kinds/numbers | known
        ht | quasi/other | numbers | seen
        wt71 | quasi/sensitive/other | numbers | seen
        wt82 | quasi/sensitive/other | numbers | seen
        wt82_71 | quasi/sensitive/other | numbers | computed
        birthplace | quasi | kinds | known
        smokeintensity | sensitive/quasi | numbers | health
        smkintensity82_71 | sensitive/quasi | numbers | health
        smokeyrs | sensitive/quasi | numbers | health
        asthma | sensitive/quasi | kinds | health
        bronch | sensitive/quasi | kinds | health
        tb | sensitive/quasi | kinds | health
        hf | sensitive/quasi | kinds | health
        hbp | sensitive/quasi | kinds | health
        pepticulcer | sensitive/quasi | kinds | health
        colitis | sensitive/quasi | kinds | health
        hepatitis | sensitive/quasi | kinds | health
        chroniccough | sensitive/quasi | kinds | health
        hayfever | sensitive/quasi | kinds | health
        diabetes | sensitive/quasi | kinds | health
        polio | sensitive/quasi | kinds | health
        tumor | sensitive/quasi | kinds | health
        nervousbreak | sensitive/quasi | kinds | health
        alcoholpy | sensitive/quasi | kinds/numbers | health
        alcoholfreq | sensitive/quasi | kinds/numbers | health
        alcoholtype | sensitive/quasi | kinds/numbers | health
        alcoholhowmuch | sensitive/quasi | kinds/numbers | health
        pica | sensitive/quasi | kinds | health
        headache | sensitive/quasi | kinds | health
        otherpain | sensitive/quasi | kinds | health
        weakheart | sensitive/quasi | kinds | health
        allergies | sensitive/quasi | kinds | health
        nerves | sensitive/quasi | kinds | health
        lackpep | sensitive/quasi | kinds | health
        hbpmed | sensitive/quasi | kinds | health
        boweltrouble | sensitive/quasi | kinds | health
        wtloss | sensitive/quasi | kinds | health
        infection | sensitive/quasi | kinds | health
        active | sensitive/quasi/other | kinds | a habit
        exercise | sensitive/quasi/other | kinds | a habit
        birthcontrol | sensitive | | health
        pregnancies | sensitive/quasi | numbers | health
        cholesterol | sensitive | | a laboratory figure
        hightax82 | quasi/other/sensitive | kinds | tells the state
        price71 | quasi/other/sensitive | numbers | tells the state
        price82 | quasi/other/sensitive | numbers | tells the state
        tax71 | quasi/other/sensitive | numbers | tells the state
        tax82 | quasi/other/sensitive | numbers | tells the state
        price71_82 | quasi/other/sensitive | numbers | tells the state
        tax71_82 | quasi/other/sensitive | numbers | tells the state
        id | identifier | | numbers the people
        censored | other/quasi/sensitive | kinds | computed
        older | quasi/other | kinds | computed from the age
    """,
    "drug expenses, MEPS": """
        ssiratio | sensitive/other | | money
        age | quasi | numbers | known
        educyr | quasi | numbers | known
        drugexp | sensitive | | money and health
        private | quasi/sensitive | kinds | the insurer knows
        female | quasi | kinds | seen
        hisp | quasi | kinds | seen
        marry | quasi | kinds | known
        vegood | sensitive/quasi | kinds | health
        good | sensitive/quasi | kinds | health
        fair | sensitive/quasi | kinds | health
        poor | sensitive/quasi | kinds | health
        poverty | sensitive | | money
        lowincome | sensitive | | money
        midincome | sensitive | | money
        msa | quasi | kinds | a place
        firmsz | quasi/other | numbers | known at work
        multlc | quasi/other | kinds | known at work
        income | sensitive | | money
        priolist | sensitive/quasi | kinds | health
        totchr | sensitive/quasi | numbers/kinds | health
        black | quasi | kinds | seen
        hi_empunion | quasi/sensitive | kinds | the employer knows
        ldrugexp | sensitive/other | | money and health
        age2 | quasi | numbers | the age, squared
        linc | sensitive/other | | money
        vgh | sensitive/quasi | kinds | health
        fph | sensitive/quasi | kinds | health
        blhisp | quasi | kinds | seen
    """,
    "mothers and infants": """
        person | simulant_id | | seen again every year
        unit_number | identifier | | a door
        household_id | identifier | | who lives together
        zipcode | other/quasi | codes/kinds | one value
        copy_date_of_birth | quasi | dates | known
        guardian_1 | identifier | | numbers a parent
        first_name | identifier | | a name
        relationship_to_reference_person | quasi | kinds | known
        state | other/quasi | kinds | one value
        middle_initial | identifier | | a part of a name
        year | quasi | numbers | when enrolled
        guardian_2 | identifier | | numbers a parent
        street_name | identifier | | a door
        race_ethnicity | quasi | kinds | seen
        simulant_id | identifier | | numbers the people
        city | other/quasi | kinds | one value
        date_of_birth | quasi | dates | known
        housing_type | other/quasi | kinds | one value
        sex | quasi | kinds | seen
        street_number | identifier | | a door
        last_name | identifier | | a name
    """,
    "voters of 1996": """
        popul | quasi | numbers | a place
        TVnews | quasi/other/sensitive | numbers/kinds | a habit
        selfLR | sensitive | | belief
        ClinLR | sensitive/other | | belief
        DoleLR | sensitive/other | | belief
        PID | sensitive | | belief
        age | quasi | numbers | known
        educ | quasi | kinds/numbers | known
        income | sensitive | | money
        vote | sensitive | | belief
    """,
}
"""Tables that were tried as a new user would; answers were written before that, words and rules were added then."""

SEEN: dict[str, str] = {
    "social security": """
        person | ssn
        copy_ssn | identifier | | another's number
        event_date | quasi | dates | a date
        copy_date_of_birth | quasi | dates | another's birth, or a wrong one
        simulant_id | identifier | | numbers the people
        ssn | identifier | | numbers the people
        first_name | identifier | | a name
        date_of_birth | quasi | dates | known
        sex | quasi | kinds | seen
        last_name | identifier | | a name
        event_type | quasi/other | kinds | a birth or a death, which others know
        middle_name | identifier | | a name
    """,
    "Britons of the ESS": """
        rownames | identifier | | numbers the rows
        name | other | | of the survey, one value
        essround | other | | of the survey, one value
        edition | other | | of the survey, one value
        idno | identifier | | numbers the people
        cntry | other | | one value
        region | quasi | kinds | a place
        brncntr | other | | one value
        stintrvw | quasi | dates | a date
        endintrvw | quasi | dates | a date
        imbgeco | sensitive | | an opinion
        imueclt | sensitive | | an opinion
        imwbcnt | sensitive | | an opinion
        immigsent | sensitive/other | | computed from opinions
        agea | quasi | numbers | known
        female | quasi | kinds | seen
        eduyrs | quasi | numbers/kinds | known
        uempla | quasi/sensitive | kinds | unemployed, which others know
        hinctnta | sensitive | | money
        lrscale | sensitive | | belief
    """,
    "borrowers": """
        rownames | identifier | | numbers the rows
        emp_title | quasi | kinds | seen at work
        emp_length | quasi | numbers/kinds | known
        state | quasi | kinds | a place
        homeownership | quasi | kinds | known
        annual_income | sensitive | | money
        verified_income | sensitive/other | | how it was asked
        debt_to_income | sensitive | | money
        annual_income_joint | sensitive | | money
        verification_income_joint | sensitive/other | | how it was asked
        debt_to_income_joint | sensitive | | money
        delinq_2y | sensitive | | money
        months_since_last_delinq | sensitive/quasi | numbers | money, of a time
        earliest_credit_line | sensitive/quasi | numbers | money, of a year
        inquiries_last_12m | sensitive | | money
        total_credit_lines | sensitive | | money
        open_credit_lines | sensitive | | money
        total_credit_limit | sensitive | | money
        total_credit_utilized | sensitive | | money
        num_collections_last_12m | sensitive | | money
        num_historical_failed_to_pay | sensitive | | money
        months_since_90d_late | sensitive/quasi | numbers | money, of a time
        current_accounts_delinq | sensitive | | money
        total_collection_amount_ever | sensitive | | money
        current_installment_accounts | sensitive | | money
        accounts_opened_24m | sensitive | | money
        months_since_last_credit_inquiry | sensitive | | money
        num_satisfactory_accounts | sensitive | | money
        num_accounts_120d_past_due | sensitive/other | | money, one value
        num_accounts_30d_past_due | sensitive | | money
        num_active_debit_accounts | sensitive | | money
        total_debit_limit | sensitive | | money
        num_total_cc_accounts | sensitive | | money
        num_open_cc_accounts | sensitive | | money
        num_cc_carrying_balance | sensitive | | money
        num_mort_accounts | sensitive | | money
        account_never_delinq_percent | sensitive/other | | money
        tax_liens | sensitive | | money
        public_record_bankrupt | sensitive/quasi | kinds | money, in a public register
        loan_purpose | sensitive | | money
        application_type | other/quasi | kinds | of the loan
        loan_amount | sensitive | | money
        term | other/quasi | kinds | of the loan
        interest_rate | sensitive/other | | money
        installment | sensitive/other | | money
        grade | sensitive/other/quasi | kinds | of the loan
        sub_grade | sensitive/other/quasi | kinds | of the loan
        issue_month | quasi | kinds/dates | a date
        loan_status | sensitive | | money
        initial_listing_status | other/quasi | kinds | of the loan
        disbursement_method | other/quasi | kinds | of the loan
        balance | sensitive | | money
        paid_total | sensitive | | money
        paid_principal | sensitive | | money
        paid_interest | sensitive | | money
        paid_late_fees | sensitive | | money
    """,
    "voters of Chile": """
        rownames | identifier | | numbers the rows
        region | quasi | kinds | a place
        population | quasi/other | numbers | how large the place is
        sex | quasi | kinds | known
        age | quasi | numbers | known
        education | quasi | kinds | known
        income | sensitive | | money
        statusquo | sensitive/other | | a scale of opinions, which only the survey knows
        vote | sensitive | | belief
    """,
    "breast cancer, Rotterdam": """
        rownames | identifier | | numbers the rows
        pid | identifier | | numbers the people
        year | quasi | numbers | of the surgery
        age | quasi | numbers | known
        meno | sensitive/quasi/other | kinds | illness, which age mostly tells
        size | sensitive/quasi/other | ranges/kinds | of the tumour
        grade | sensitive/quasi/other | kinds | of the tumour
        nodes | sensitive/quasi/other | numbers | of the tumour
        pgr | sensitive/quasi/other | numbers | measured
        er | sensitive/quasi/other | numbers | measured
        hormon | sensitive/quasi/other | kinds | a treatment
        chemo | sensitive/quasi/other | kinds | a treatment
        rtime | quasi/sensitive | numbers | when it came back
        recur | sensitive | | illness
        dtime | quasi/sensitive | numbers | when somebody died
        death | sensitive | | illness
    """,
    "placements": """
        student_id | identifier | | numbers the people
        gender | quasi | kinds | known
        second_perc | other/sensitive | | marks
        high_perc | other/sensitive | | marks
        high_spec | quasi | kinds | what somebody learned
        degree_perc | sensitive/other/quasi | numbers | marks
        degree_type | quasi | kinds | what somebody learned
        work_experience | quasi | kinds | known
        experience_years | quasi | numbers | known
        employability_perc | sensitive/other/quasi | numbers | marks
        mba_spec | quasi | kinds | what somebody learned
        mba_perc | other/sensitive | | marks
        salary | sensitive | | money
        placed | quasi/sensitive | kinds | known
        start_date | quasi | dates | a date
        end_date | quasi | dates | a date
        duration | quasi/other | numbers | of the work
    """,
    "pupils, YRBSS": """
        rownames | identifier | | numbers the rows
        age | quasi | numbers | known
        gender | quasi | kinds | known
        grade | quasi | numbers/kinds | known
        hispanic | quasi | kinds | known
        race | quasi | kinds | known
        height | quasi | numbers | seen
        weight | quasi | numbers | seen
        helmet_12m | quasi/other/sensitive | kinds | seen, or an answer
        text_while_driving_30d | quasi/other/sensitive | ranges/kinds | an answer
        physically_active_7d | quasi/other/sensitive | kinds/numbers | an answer
        hours_tv_per_school_day | quasi/other/sensitive | ranges/kinds | an answer
        strength_training_7d | quasi/other/sensitive | kinds/numbers | an answer
        school_night_hours_sleep | quasi/other/sensitive | ranges/kinds | an answer
    """,
    "runners of ten miles": """
        rownames | identifier | | numbers the rows
        state | quasi | kinds | a place
        time | quasi | numbers | published
        net | quasi | numbers | published, and next to the time
        age | quasi | numbers | known
        sex | quasi | kinds | known
    """,
    "mortgages, HMDA": """
        rownames | identifier | | numbers the rows
        deny | sensitive/quasi | kinds | what became of it
        pirat | sensitive/other | | money
        hirat | sensitive/other | | money
        lvrat | sensitive/other | | money
        chist | sensitive/quasi | kinds/numbers | money
        mhist | sensitive/quasi | kinds/numbers | money
        phist | sensitive/quasi | kinds | money
        unemp | other/quasi | numbers | of the industry
        selfemp | quasi | kinds | known
        insurance | sensitive/quasi/other | kinds | money
        condomin | quasi | kinds | seen
        afam | quasi | kinds | known
        single | quasi | kinds | known
        hschool | quasi | kinds | known
    """,
}
"""Tables that a newcomer's whole path was tried on; answers were written when the first guesses had been seen."""
