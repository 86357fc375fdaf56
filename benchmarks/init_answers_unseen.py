"""What ``init`` should answer about tables that came last, from packages that had never been opened for it.

Read as ``init_answers`` is. Each answer was written when the columns had been looked at, and before ``init`` was run on
them; none was changed then. What failed in that first run is told in the chapter of the page.
"""

from __future__ import annotations

UNSEEN: dict[str, str] = {
    "defendants": """
        id | identifier | | numbers the people
        name | identifier | | a name
        first | identifier | | a name
        last | identifier | | a name
        compas_screening_date | quasi | dates | a court knows
        sex | quasi | kinds | seen
        dob | quasi | dates | known
        age | quasi | numbers | known
        age_cat | quasi | ranges/kinds | known
        race | quasi | kinds | seen
        juv_fel_count | sensitive | | offences
        decile_score | sensitive | | a mark
        juv_misd_count | sensitive | | offences
        juv_other_count | sensitive | | offences
        priors_count | sensitive | | offences
        days_b_screening_arrest | quasi/sensitive/other | numbers | a date, from another
        c_jail_in | quasi | dates | others know when
        c_jail_out | quasi | dates | others know when
        c_case_number | identifier | | numbers the cases
        c_offense_date | quasi/sensitive | dates | others know when
        c_arrest_date | quasi/sensitive | dates | others know when
        c_days_from_compas | quasi/other | numbers | a date, from another
        c_charge_degree | sensitive | | an offence
        c_charge_desc | sensitive | | an offence
        is_recid | sensitive | | an offence
        r_case_number | identifier | | numbers the cases
        r_charge_degree | sensitive | | an offence
        r_days_from_arrest | quasi/sensitive/other | numbers | a date, from another
        r_offense_date | quasi/sensitive | dates | others know when
        r_charge_desc | sensitive | | an offence
        r_jail_in | quasi | dates | others know when
        r_jail_out | quasi | dates | others know when
        violent_recid | other | | always missing
        is_violent_recid | sensitive | | an offence
        vr_case_number | identifier | | numbers the cases
        vr_charge_degree | sensitive | | an offence
        vr_offense_date | quasi/sensitive | dates | others know when
        vr_charge_desc | sensitive | | an offence
        type_of_assessment | other | | a constant
        decile_score.1 | sensitive | | a mark
        score_text | sensitive | | a mark
        screening_date | quasi | dates | a court knows
        v_type_of_assessment | other | | a constant
        v_decile_score | sensitive | | a mark
        v_score_text | sensitive | | a mark
        v_screening_date | quasi | dates | a court knows
        in_custody | quasi | dates | others know when
        out_custody | quasi | dates | others know when
        priors_count.1 | sensitive | | offences
        start | other/quasi | numbers | days of a study
        end | other/quasi | numbers | days of a study
        event | sensitive/other/quasi | kinds | an offence, by a name that says nothing
        two_year_recid | sensitive | | an offence
    """,
    "employees": """
        rownames | identifier | | numbers the rows
        Age | quasi | numbers | known
        Attrition | quasi/sensitive | kinds | who left is known at work
        BusinessTravel | quasi | kinds | known at work
        DailyRate | sensitive | | money
        Department | quasi | kinds | known at work
        DistanceFromHome | quasi | numbers | a place
        Education | quasi | kinds | known
        EducationField | quasi | kinds | known
        EnvironmentSatisfaction | sensitive | | an opinion of the employer
        Gender | quasi | kinds | seen
        HourlyRate | sensitive | | money
        JobInvolvement | sensitive | | an opinion
        JobLevel | quasi | kinds/numbers | known at work
        JobRole | quasi | kinds | known at work
        JobSatisfaction | sensitive | | an opinion of the employer
        MaritalStatus | quasi | kinds | known
        MonthlyIncome | sensitive | | money
        MonthlyRate | sensitive | | money
        NumCompaniesWorked | quasi | numbers/kinds | in a curriculum
        OverTime | quasi | kinds | known at work
        PercentSalaryHike | sensitive | | money
        PerformanceRating | sensitive | | a mark
        RelationshipSatisfaction | sensitive | | an opinion
        StockOptionLevel | sensitive/quasi | kinds | money
        TotalWorkingYears | quasi | numbers | in a curriculum
        TrainingTimesLastYear | quasi | numbers/kinds | known at work
        WorkLifeBalance | sensitive | | an opinion
        YearsAtCompany | quasi | numbers | in a curriculum
        YearsInCurrentRole | quasi | numbers | in a curriculum
        YearsSinceLastPromotion | quasi | numbers | in a curriculum
        YearsWithCurrManager | quasi | numbers | known at work
    """,
    "HIV tests, Malawi": """
        villnum | quasi | kinds/numbers | a place
        got | sensitive/quasi/other | kinds | who came for the result
        distvct | quasi/other | numbers | a place
        tinc | other/sensitive | | drawn at random
        any | other/quasi | kinds | drawn at random
        age | quasi | numbers | known
        hiv2004 | sensitive | | health
    """,
    "tax returns": """
        person | simulant_id/ssn | | several years
        tax_year | quasi | numbers | when
        mailing_address_street_number | identifier | | a mailbox
        household_id | identifier | | who belongs together
        copy_age | quasi | numbers | known
        joint_filer | other | | a constant
        copy_ssn | identifier | | numbers people
        copy_date_of_birth | quasi | dates | known
        mailing_address_state | other | | a constant
        first_name | identifier | | a name
        relationship_to_reference_person | quasi | kinds | known
        mailing_address_street_name | identifier | | a mailbox
        mailing_address_city | other | | a constant
        mailing_address_po_box | identifier | | a mailbox
        mailing_address_zipcode | other | | a constant
        middle_initial | identifier | | part of a name
        simulant_id | identifier | | numbers people
        mailing_address_unit_number | identifier | | a door
        date_of_birth | quasi | dates | known
        housing_type | quasi | kinds | known
        age | quasi | numbers | known
        last_name | identifier | | a name
        ssn | identifier | | numbers people
        spouse_tax_year | quasi | numbers | when
        spouse_mailing_address_street_number | identifier | | a mailbox
        spouse_household_id | identifier | | who belongs together
        spouse_copy_age | quasi | numbers | known
        spouse_joint_filer | quasi/other | kinds | whether there is a spouse
        spouse_copy_ssn | identifier | | numbers people
        spouse_copy_date_of_birth | quasi | dates | known
        spouse_mailing_address_state | quasi/other | kinds | whether there is a spouse
        spouse_first_name | identifier | | a name
        spouse_relationship_to_reference_person | quasi | kinds | known
        spouse_mailing_address_street_name | identifier | | a mailbox
        spouse_mailing_address_city | quasi/other | kinds | whether there is a spouse
        spouse_mailing_address_po_box | identifier | | a mailbox
        spouse_mailing_address_zipcode | quasi/other | kinds/codes | whether there is a spouse
        spouse_middle_initial | identifier | | part of a name
        spouse_simulant_id | identifier | | numbers people
        spouse_mailing_address_unit_number | identifier | | a door
        spouse_date_of_birth | quasi | dates | known
        spouse_housing_type | quasi/other | kinds | whether there is a spouse
        spouse_age | quasi | numbers | known
        spouse_last_name | identifier | | a name
        spouse_ssn | identifier | | numbers people
        guardian_id | identifier | | numbers people
        dependent_1_simulant_id | identifier | | numbers people
        dependent_2_simulant_id | identifier | | numbers people
        dependent_3_simulant_id | identifier | | numbers people
        dependent_4_simulant_id | identifier | | numbers people
        dependent_1_first_name | identifier | | a name
        dependent_2_first_name | identifier | | a name
        dependent_3_first_name | identifier | | a name
        dependent_4_first_name | identifier | | a name
        dependent_1_last_name | identifier | | a name
        dependent_2_last_name | identifier | | a name
        dependent_3_last_name | identifier | | a name
        dependent_4_last_name | identifier | | a name
        dependent_1_ssn | identifier | | numbers people
        dependent_2_ssn | identifier | | numbers people
        dependent_3_ssn | identifier | | numbers people
        dependent_4_ssn | identifier | | numbers people
        dependent_1_copy_ssn | identifier | | numbers people
        dependent_2_copy_ssn | identifier | | numbers people
        dependent_3_copy_ssn | identifier | | numbers people
        dependent_4_copy_ssn | identifier | | numbers people
    """,
    "addicts, HELP": """
        rownames | identifier | | numbers the rows
        age | quasi | numbers | known
        anysubstatus | sensitive/quasi | kinds | health, by an abbreviation
        anysub | sensitive/quasi | kinds | health, by an abbreviation
        cesd | sensitive/other/quasi | numbers | a scale of depression
        d1 | sensitive/quasi | numbers/kinds | health, by the number of a question
        daysanysub | sensitive/quasi | numbers | health
        dayslink | other/quasi | numbers | days of a study
        drugrisk | sensitive | | health
        e2b | sensitive/quasi | numbers/kinds | health, by the number of a question
        female | quasi | kinds | seen
        sex | quasi | kinds | seen
        g1b | sensitive/quasi | kinds | health, by the number of a question
        homeless | quasi/sensitive | kinds | seen
        i1 | sensitive/quasi | numbers | health, by the number of a question
        i2 | sensitive/quasi | numbers | health, by the number of a question
        id | identifier | | numbers the people
        indtot | sensitive/other/quasi | numbers | a scale of drinking
        linkstatus | other/quasi/sensitive | kinds | what a study did
        link | other/quasi/sensitive | kinds | what a study did
        mcs | sensitive/other | | a scale of health
        pcs | sensitive/other | | a scale of health
        pss_fr | sensitive/other/quasi | numbers | a scale of support
        racegrp | quasi | kinds | seen
        satreat | sensitive | | health
        sexrisk | sensitive | | health
        substance | sensitive | | health
        treat | sensitive/other | | what a study did
        avg_drinks | sensitive | | health
        max_drinks | sensitive | | health
        hospitalizations | sensitive | | health
    """,
    "Canadians on abortion": """
        rownames | identifier | | numbers the rows
        id | identifier | | numbers the people
        province | quasi | kinds | a place
        population | quasi | numbers | tells the province
        weight | other/quasi | numbers | a sampling weight
        gender | quasi | kinds | seen
        abortion | sensitive | | belief
        importance | sensitive/quasi | kinds | of religion, by a name that says nothing
        education | quasi | kinds | known
        urban | quasi | kinds | a place
    """,
    "German credit": """
        risk | sensitive/quasi | kinds | money
        sex | quasi | kinds | seen
        job | quasi | kinds | known
        housing | quasi | kinds | known
        saving_accounts | sensitive | | money
        checking_account | sensitive | | money
        credit_amount | sensitive | | money
        duration | other/quasi/sensitive | numbers | of a loan
        purpose | sensitive/quasi | kinds | of a loan
        age | quasi | numbers | known
    """,
    "HIV trial": """
        Unnamed: 0 | identifier | | numbers the rows
        pidnum | identifier | | numbers the people
        age | quasi | numbers | known
        wtkg | quasi | numbers | seen
        hemo | sensitive/quasi | kinds | health, by an abbreviation
        homo | sensitive | | whom one loves
        drugs | sensitive | | health
        karnof | sensitive | | health
        oprior | sensitive/other/quasi | kinds | health, by an abbreviation
        z30 | sensitive/other/quasi | kinds | health, by an abbreviation
        zprior | other | | a constant
        preanti | other/sensitive/quasi | numbers | days of a treatment
        race | quasi | kinds | seen
        gender | quasi | kinds | seen
        str2 | sensitive/other/quasi | kinds | health, by an abbreviation
        strat | other/quasi | kinds | serves to count
        symptom | sensitive | | health
        treat | sensitive/other | | what a study did
        offtrt | sensitive/other/quasi | kinds | what a study did
        cd40 | other/sensitive/quasi | numbers | a laboratory figure
        cd420 | other/sensitive/quasi | numbers | a laboratory figure
        cd496 | other/sensitive/quasi | numbers | a laboratory figure
        r | other/quasi | kinds | whether a figure is missing
        cd80 | other/sensitive/quasi | numbers | a laboratory figure
        cd820 | other/sensitive/quasi | numbers | a laboratory figure
        cens | sensitive/other/quasi | kinds | what happened
        days | other/quasi | numbers | days of a study
        arms | other/sensitive/quasi | kinds | what a study did
    """,
    "murders, London": """
        rownames | identifier | | numbers the rows
        forename | identifier | | a name
        age | quasi | numbers | in the papers
        date | quasi | dates | in the papers
        year | quasi | numbers/kinds | in the papers
        borough | quasi | kinds | in the papers
    """,
    "pupils, STAR": """
        rownames | identifier | | numbers the pupils
        gender | quasi | kinds | seen
        ethnicity | quasi | kinds | seen
        birth | quasi | dates/codes/ranges | known
        stark | quasi/other | kinds | known at school
        star1 | quasi/other | kinds | known at school
        star2 | quasi/other | kinds | known at school
        star3 | quasi/other | kinds | known at school
        readk | sensitive | | a mark
        read1 | sensitive | | a mark
        read2 | sensitive | | a mark
        read3 | sensitive | | a mark
        mathk | sensitive | | a mark
        math1 | sensitive | | a mark
        math2 | sensitive | | a mark
        math3 | sensitive | | a mark
        lunchk | sensitive/quasi | kinds | poverty, seen at school
        lunch1 | sensitive/quasi | kinds | poverty, seen at school
        lunch2 | sensitive/quasi | kinds | poverty, seen at school
        lunch3 | sensitive/quasi | kinds | poverty, seen at school
        schoolk | quasi | kinds | a place
        school1 | quasi | kinds | a place
        school2 | quasi | kinds | a place
        school3 | quasi | kinds | a place
        degreek | quasi | kinds | of the teacher
        degree1 | quasi | kinds | of the teacher
        degree2 | quasi | kinds | of the teacher
        degree3 | quasi | kinds | of the teacher
        ladderk | quasi/other/sensitive | kinds | of the teacher
        ladder1 | quasi/other/sensitive | kinds | of the teacher
        ladder2 | quasi/other/sensitive | kinds | of the teacher
        ladder3 | quasi/other/sensitive | kinds | of the teacher
        experiencek | quasi | numbers | of the teacher
        experience1 | quasi | numbers | of the teacher
        experience2 | quasi | numbers | of the teacher
        experience3 | quasi | numbers | of the teacher
        tethnicityk | quasi | kinds | of the teacher
        tethnicity1 | quasi | kinds | of the teacher
        tethnicity2 | quasi | kinds | of the teacher
        tethnicity3 | quasi | kinds | of the teacher
        systemk | quasi | kinds/numbers | a place
        system1 | quasi | kinds/numbers | a place
        system2 | quasi | kinds/numbers | a place
        system3 | quasi | kinds/numbers | a place
        schoolidk | quasi | kinds/numbers | a place
        schoolid1 | quasi | kinds/numbers | a place
        schoolid2 | quasi | kinds/numbers | a place
        schoolid3 | quasi | kinds/numbers | a place
    """,
    "light chains": """
        rownames | identifier | | numbers the rows
        age | quasi | numbers | known
        sex | quasi | kinds | seen
        sample.yr | quasi | numbers/kinds | when
        kappa | other/sensitive | | a laboratory figure
        lambda | other/sensitive | | a laboratory figure
        flc.grp | other/sensitive/quasi | kinds | a laboratory figure
        creatinine | sensitive/other | | a laboratory figure
        mgus | sensitive/quasi | kinds | health, by an abbreviation
        futime | other/quasi | numbers | days of a study
        death | sensitive | | health
        chapter | sensitive | | of what they died
    """,
    "telephone customers": """
        rownames | identifier | | numbers the rows
        churn | sensitive/other/quasi | kinds | who left
        female | quasi | kinds | seen
        senior_citizen | quasi | kinds | known
        partner | quasi | kinds | known
        dependents | quasi | kinds | known
        tenure | quasi | numbers | months with the company
        phone_service | quasi/other | kinds | what the household has
        multiple_lines | quasi/other | kinds | what the household has
        internet_service | quasi/other | kinds | what the household has
        online_security | quasi/other/sensitive | kinds | what the household has
        online_backup | quasi/other/sensitive | kinds | what the household has
        device_protection | quasi/other/sensitive | kinds | what the household has
        tech_support | quasi/other/sensitive | kinds | what the household has
        streaming_tv | quasi/other/sensitive | kinds | what the household has
        streaming_movies | quasi/other/sensitive | kinds | what the household has
        contract | quasi/other | kinds | what the household has
        paperless_billing | quasi/other/sensitive | kinds | how one pays
        payment_method | quasi/other/sensitive | kinds | how one pays
        monthly_charges | sensitive | | money
        total_charges | sensitive | | money
    """,
    "affairs": """
        rate_marriage | sensitive | | a private opinion
        age | quasi | numbers | known
        yrs_married | quasi | numbers | known
        children | quasi | numbers/kinds | known
        religious | sensitive | | belief
        educ | quasi | numbers | known
        occupation | quasi | kinds | known
        occupation_husb | quasi | kinds | known
        affairs | sensitive | | whom one loves
    """,
    "fatty livers": """
        rownames | identifier | | numbers the rows
        id | identifier | | numbers the people
        age | quasi | numbers | known
        male | quasi | kinds | seen
        weight | quasi | numbers | seen
        height | quasi | numbers | seen
        bmi | quasi | numbers | seen
        case.id | identifier | | who belongs together
        futime | other/quasi | numbers | days of a study
        status | sensitive | | death, by a name that says little
    """,
}
"""Tables that came after all rules; what failed on them was mended then."""


LAST: dict[str, str] = {
    "sore throats": """
        rownames | identifier | | a name, or numbers something
        preOp_gender | quasi | kinds | seen
        preOp_asa | sensitive/quasi | kinds/numbers | health grade
        preOp_calcBMI | quasi/other | numbers | seen
        preOp_age | quasi | numbers | known
        preOp_mallampati | sensitive/quasi | kinds/numbers | health
        preOp_smoking | sensitive | | health
        preOp_pain | sensitive | | health
        treat | sensitive/other | | what a study did
        intraOp_surgerySize | sensitive/quasi | kinds/numbers | health
        extubation_cough | sensitive | | health
        pacu30min_cough | sensitive | | health
        pacu30min_throatPain | sensitive | | health
        pacu30min_swallowPain | sensitive | | health
        pacu90min_cough | sensitive | | health
        pacu90min_throatPain | sensitive | | health
        postOp4hour_cough | sensitive | | health
        postOp4hour_throatPain | sensitive | | health
        pod1am_cough | sensitive | | health
        pod1am_throatPain | sensitive | | health
    """,
    "arrests, Toronto": """
        rownames | identifier | | a name, or numbers something
        released | sensitive/quasi | kinds | offence
        colour | quasi | kinds | seen
        year | quasi | numbers/kinds | when
        age | quasi | numbers | known
        sex | quasi | kinds | known
        employed | quasi | kinds | known
        citizen | quasi | kinds | known
        checks | sensitive/quasi | numbers/kinds | police records
    """,
    "population survey": """
        person | simulant_id | | some were asked again
        unit_number | identifier | | a door
        household_id | identifier | | health
        copy_age | quasi | numbers | known
        zipcode | other | | constant
        survey_date | quasi/other | dates | when
        copy_date_of_birth | quasi | dates | known
        guardian_1 | identifier | | numbers people
        first_name | identifier | | a name, or numbers something
        state | other | | a constant
        middle_initial | identifier | | a name, or numbers something
        guardian_2 | identifier | | numbers people
        street_name | identifier | | a name, or numbers something
        race_ethnicity | quasi | kinds | known
        simulant_id | identifier | | a name, or numbers something
        city | other | | a constant
        date_of_birth | quasi | dates | known
        housing_type | quasi | kinds | known
        sex | quasi | kinds | known
        street_number | identifier | | a name, or numbers something
        age | quasi | numbers | known
        last_name | identifier | | a name, or numbers something
    """,
    "visits to doctors": """
        rownames | identifier | | a name, or numbers something
        visits | sensitive/quasi | numbers/kinds | visits to doctors
        gender | quasi | kinds | known
        age | quasi | numbers | known
        income | sensitive | | money
        illness | sensitive | | health
        reduced | sensitive/quasi | numbers/kinds | days ill, name says nothing
        health | sensitive | | health
        private | quasi/sensitive | kinds | insurance
        freepoor | quasi/sensitive | kinds | insurance
        freerepat | quasi/sensitive | kinds | insurance
        nchronic | sensitive | | health
        lchronic | sensitive | | health
    """,
    "wages, Mid-Atlantic": """
        rownames | identifier | | a name, or numbers something
        year | quasi | numbers/kinds | known
        age | quasi | numbers | known
        maritl | quasi | kinds | known
        race | quasi | kinds | known
        education | quasi | kinds/ranges | known
        region | other | | a constant
        jobclass | quasi | kinds | known
        health | sensitive | | health
        health_ins | sensitive/quasi | kinds | known
        logwage | sensitive | | money
        wage | sensitive | | money
    """,
    "births": """
        rownames | identifier | | a name, or numbers something
        id | identifier | | a name, or numbers something
        plurality | other | | a constant
        outcome | other | | a constant
        date | quasi | dates | birth
        gestation | sensitive/quasi | numbers | health
        sex | other | | a constant
        wt | quasi/sensitive | numbers | weight at birth
        parity | quasi/sensitive | numbers/kinds | known
        race | quasi | kinds | known
        age | quasi | numbers | known
        ed | quasi | kinds | known
        ht | quasi | numbers | seen
        wt.1 | quasi | numbers | seen
        drace | quasi | kinds | of the father
        dage | quasi | numbers | of the father
        ded | quasi | kinds | of the father
        dht | quasi | numbers | of the father
        dwt | quasi | numbers | of the father
        marital | quasi | kinds | known
        inc | sensitive | | money
        smoke | sensitive | | health
        time | sensitive | | smoking
        number | sensitive | | smoking
    """,
    "intensive care": """
        rownames | identifier | | a name, or numbers something
        ID | identifier | | a name, or numbers something
        Survive | sensitive | | health
        Age | quasi | numbers | known
        AgeGroup | quasi | kinds/numbers | known
        Sex | quasi | kinds | known
        Infection | sensitive | | health
        SysBP | sensitive | | health
        Pulse | sensitive/other/quasi | numbers | health
        Emergency | sensitive/quasi | kinds | health
    """,
}
"""Tables on which nothing was mended: what is right there is an estimate for the rules as they are."""
