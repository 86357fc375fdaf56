"""Words in the names of columns that say what a column is to a person, in seven languages and common abbreviations.

A star stands for any letters: ``educ*`` is every word that begins so. English, German, French, Spanish, Italian,
Portuguese and Dutch; the abbreviations are those of statistical offices, such as ``agep`` and ``pincp``.
"""

from __future__ import annotations

import re

PERSONAL_NAMES = (
    "name surname forename firstname lastname fullname middlename maiden maidenname nickname vorname nachname "
    "familienname geburtsname nom prenom patronyme nombre nombres apellido apellidos cognome nominativo sobrenome "
    "apelido naam voornaam achternaam roepnaam fname lname mname initial initials firstnm lastnm surnam"
)
PARTS_OF_NAMES = "first last middle given maiden family"
"""They say a part of a name where the values are many words, and nothing else is said: FIRST, LAST."""
RELATIVES = (
    "spouse* partner husband* wife child children kid son daughter father mother parent guardian sibling brother "
    "sister dependent dependant heir relative* ehemann ehefrau ehepartner vater mutter mari femme epouse pere mere"
)
"""Whose name is that of a person, too."""
REACHED = "kin contact contacts"
"""Whom to call, if it is no number of days or calls."""
CONTACTS = (
    "email emails mail courriel correo phone telephone telefon* telefono telefoon telefone tel mobile handy cell "
    "cellphone movil celular fax telefax address addresses addr adresse anschrift direccion indirizzo endereco adres "
    "street strasse rue calle rua straat hausnummer housenumber unit apartment pobox url website homepage web ip "
    "ipaddress username login handle twitter facebook instagram"
)
DOCUMENTS = (
    "ssn nss socialsecurity sozialversicherung* nino cpf dni nif bsn svnr ahv steuernummer steuerid itin taxid "
    "passport passeport pasaporte passaporto reisepass paspoort license licence fuhrerschein drivers account iban "
    "konto* compte cuenta conto conta card creditcard kreditkarte plate kennzeichen matricula vin mrn uuid guid imei "
    "serial beneficiary policynumber versichertennummer"
)
NOTES = "note notes comment comments remark remarks narrative description freetext memo bemerkung commentaire nota"
COORDINATES = "latitude longitude lat lon long lng coord coords coordinate coordinates gps geo geom point"

BIRTH = (
    "birth* *birth born *born dob bday geburt* gebdat naissance naiss nacimiento nascita nascimento geboorte* "
    "gebdatum birthyr yob"
)
AGES = (
    "age ages agep agea agec ager aged agey agegrp agegroup agecat ageclass alter altersgruppe edad eta idade "
    "leeftijd older younger elderly *age_years mage fage momage ageyrs ageyears agecl"
)
SEX = "sex sexe sexo sesso gender geschlecht genre genero geslacht female male fem femme homme woman gndr"
RACE = (
    "race races racef raceth racecat racegrp rac ethnic* ethn* ethnie etnia etnico hispanic* hispan hisp latino black "
    "white asian nonwhite nwhite afam minority hautfarbe raca ras* ancestry tribe caste"
)
PLACES = (
    "zip zipcode zcta postal postcode postleitzahl plz cp codepostal codigopostal cap city cities town ort ville "
    "ciudad citta cidade stad wohnort commune comune municipio gemeinde municipality village villag* villnum state "
    "states stateabb stabbr statefip region regions county counties canton kanton bundesland province provincia "
    "provincie departement district* bezirk precinct borough ward neighborhood neighbourhood block tract puma msa "
    "smsa cbsa metro* urban* rural urbanrural fips country countries land pays pais paese nation* nationality "
    "staatsangehorigkeit nationalite nacionalidad nazionalita citizen* native immigr* foreign migrat* residence "
    "residency wohn* location area zone quartier division south north east west northeast midwest density suburb "
    "birthplace geburtsort pob pobp herkunft origin"
)
HOUSEHOLD = (
    "marital* marriage* married marr marry marstat mar msp spouse spous* civil* familienstand zivilstand etatcivil "
    "estadocivil statocivile burgerlijke divorced widow* single kids kid children child childs enfants hijos figli "
    "filhos kinderen kinder household hh hhsize famsize family haushalt* menage hogar famiglia relationship relp "
    "relate* partner siblings sibs dependents parity housing house home dwelling tenure rent owner owned own wohnung "
    "vivienda abitazione sibsp parch noc npf size"
)
WORK = (
    "educ* edu schooling school* schl grade degree diploma qualification* bildung* ausbildung schulbildung etudes "
    "educacion istruzione escolaridade opleiding studies college university student occupation* occ* occup* job jobs "
    "profession* beruf* metier emploi oficio trabajo lavoro trabalho beroep work works workclass worker wrkstat "
    "employ* employer industry indp naics sector branche branch company firm union selfemp military veteran* dvet "
    "rank title titel position parttime fulltime hours specialty speciality cow esr pclass class language lang "
    "sprache langue idioma lingua citizen"
)
TIMES = (
    "date day dates datum fecha data year years jahr annee ano anno jaar month monat mois mes mese maand time "
    "timestamp admission admitted admit discharge* quarter week visit arrival departure yr dt"
)
THINGS = (
    "height ht hgt htcm htin weight wt wgt wtkg wtlb bmi length gewicht grosse taille poids altura peso altezza "
    "eye eyes hair blood vehicle car make model modelyr "
    "fahrzeug site center centre hospital clinic* klinik hopital ospedale provider physician doctor facility insurance "
    "payer payor insur* religion_visible driver passenger seat airbag* restraint seatbelt helmet"
)
QUASI = {
    "birth": BIRTH,
    "age": AGES,
    "sex": SEX,
    "origin": RACE,
    "place": PLACES,
    "household": HOUSEHOLD,
    "work": WORK,
    "time": TIMES,
    "sight": THINGS,
}
"""What others may know, by topic."""

HEALTH = (
    "*diagnos* diag dx icd* illness* disease* *disease *krank* maladie enfermedad malattia doenca ziekte problem "
    "symptom* medication* medic medicine drug* medikament* treatment* treat trt therapy therapie terapia "
    "procedure* surgery surg operation hiv aids cancer tumor tumour stroke diabetes diabet* hypert* asthma angina "
    "cholest* chol disab* behinder* handicap health hlth gesundheit sante salud salute saude gezondheid dead died "
    "dies death* deceased alive mortality severity injury injur* inj lesion verletzung outcome outcomes result "
    "results *result lab serum plasma glu readmit* readmitted mental psych* depress* anxiety suicid* smok* cigs "
    "alcohol* alc drink* marijuana cocaine abuse pregnan* abort* complication* metasta* relapse recur* stage histol* "
    "remission surviv* vital* lesions fracture* pain inpatient outpatient emergency vaccin* immun* allerg* "
    "bp systolic diastolic glucose insulin creat* hemoglobin dphy deye dear drem dout ddrs disease "
    "albumin bili bilirubin* phos alkphos phosphatase sgot sgpt ggt platelet* thrombocyt* leukocyt* leucocyt* wbc rbc "
    "hgb haemoglobin hematocrit hct inr protime prothrombin* crp sodium potassium urea bun triglycer* trigl hdl ldl "
    "lipid* tsh psa ferritin hba hgba apgar karno* ecog ascites edema oedema hepat* lymph* biopsy carcino* leuk* "
    "melanom* infarct* arrhythm* cardiac renal dialysis transplant* comorb* menopaus* sepsis pneumon* hospitaliz* "
    "sbp dbp hbp* tb *itis bronch* ulcer* *ulcer chronic* *chronic *fever polio cough *cough *ache *pain infect* heart "
    "*heart bowel* kidney* liver lung* stomach nervous* smk* *smk tobacco birthcontrol contracept* exercise wtloss "
    "seizure* stillb* rx bleed* *stent preg preg* tob cig cigs cigar* drks tx diab anest* "
    "chemo* hormon* meno node nodes epilep* dement* alzheim* parkinson* arthr* osteo* anemi* anaemi* thyroid gout copd "
    "raucher* rauchen nichtraucher fumeur* fumad* fumat* *treat *trt substance* addict* heroin opioid* cannabis "
    "cens censor* arm arms placebo hemo haemo hemophil* haemophil* "
    "cesd phq gad bdi bai mmse moca madrs hamd hads pss auditc dast hrqol qol eqd mcs pcs"
)
LABORATORY = re.compile(r"(?<![a-z])(cd[348]|b12|a1c|il6|ca125|ca199)(?![a-z])", re.IGNORECASE)
"""What laboratories count is known by a name with digits, which words do not have."""
MONEY = (
    "salary salaries income incomes inc incom* *income *inc faminc* hhinc* pincp pincp* wage wages *wage wag* wagp "
    "earn* *earn earnings gehalt lohn *lohn *einkommen verdienst salaire revenu* salario sueldo ingreso* stipendio "
    "reddito renda salaris inkomen loon charges charge cost costs expense* expend* *expenses spend* kosten debt* "
    "schulden wealth asset* networth worth balance bal credit loan* default* mortgage tax* poverty povpip benefit* "
    "welfare unemploy* coverage price bill* pay payment* paid amount revenue capital rente pension decile *decile "
    "capgain caploss account accounts debit delinq* overdue collections installment* instalment* bankrupt* lien liens "
    "inquiries interest"
)
BELIEFS = (
    "religion* relig* faith church* pray* bornagain konfession confession religi* party partyid partei parti partido "
    "partito vote* voted voter* election wahl* politic* ideo* pid lr lrscale leftright trust* opinion attitude* *happy "
    "happiness orientation involvement engagement motivation morale commitment loyalty burnout stress* "
    "sexual* affair* naffairs partners npartner* homo homosex* heterosex* bisex* gay lesbian lgbt* satisf* zufried*"
)
OFFENCES = (
    "arrest* offen* convict* crime* criminal* prison* felon* sentence* recid* charge_type citation* force search* "
    "violation* conviction verurteil* delit delito reato parole paro priors prio "
    "juv juvenile* fel felony felonies misd* misdemean*"
)
RATINGS = "rate rates rated rating ratings"
"""Such a word beside few small numbers says that they are marks which somebody gave."""
SCORES = (
    "score scores testscore* iq gpa exam* mark marks rating ratings grade_point performance evaluation eval sat act "
    "conduct behaviour behavior risk *risk math* maths reading read literacy numeracy spelling"
)
SENSITIVE = {
    "health": HEALTH,
    "money": MONEY,
    "beliefs": BELIEFS,
    "offences": OFFENCES,
    "scores": SCORES,
}
"""What nobody should learn about a person, by topic."""

ILLNESSES = (
    "*disease *diseases disorder* syndrom* symptom* *krankheit* maladie* enfermedad* malattia doenca diabet* asthma "
    "cancer* carcino* neoplasm* tumor* tumour* *itis influenza pneumon* stroke infarct* circulat* respirat* cardio* "
    "hypertens* depress* schizo* anxiety epilep* dement* alzheim* parkinson* hiv aids tubercul* hepat* malaria covid* "
    "sepsis infect* fracture* injur* poison* overdos* alcohol* cocaine heroin opioid* cannabis smok* *smoker raucher*"
)
"""Words of values that tell of somebody's health, whatever the column is called."""
ABSENCE = (
    "no none never false negative absent n nein nie kein keine non jamais aucun aucune nunca ninguno ninguna nao mai "
    "nessuno nessuna nee nooit geen"
)
"""First words of values that say that somebody does not have what a column asks for."""
WANTED = (
    "surviv* alive recover* cured remission vaccin* immun* insur* cover* approv* consent* exercise health hlth "
    "outcome* result* response* respond*"
)
"""Words of columns of which nobody would have the absence known, either."""
WEIGHTS = (
    "wgt wght weightings pwgtp wgtp fnlwgt finalweight perweight dweight pspwght pweight anweight pspweight expansion "
    "wtfinl wt psu strat stratum strata replicate gewichtung ponderation hochrechnung"
)
"""Columns that serve to count, and say nothing of a person."""
BODY_WEIGHTS = "wt wgt wght"
"""Those of them that may be what a body weighs."""
YIELDING = "name id date time year day class test rank status type number code data land model size"
"""Words that say little beside another: a country's name is a country, a disease's id a disease."""
KINDS = (
    "code codes cd kind type types typ class category categories cat group grp status stat level lvl flag indicator "
    "ind source disposition region state county race* occ* indus* sex gender mode reason method"
)
"""Words of a column whose numbers are codes of kinds, and no amounts."""
PERIODS = "hourly daily weekly monthly yearly annual hour month stunden tages monats"
"""A rate of such a time is what somebody earns or pays."""
OUTCOMES = "status stat event fustat pstat censor* cens"
"""What came of somebody, where it stands beside how long that took."""
FOLLOWED = "time futime fu stime survtime ptime followup* follow* tte days weeks months years"
"""How long somebody was looked after."""
AMOUNTS = (
    "age* alter edad idade leeftijd year* yr* jahr* annee* ano anos anno jaar hours hrs hour weeks week wks days day "
    "months month minutes min count counts num number nb n no kids children childs siblings sibs size height weight "
    "bmi length distance dist income* wage* salary visits visit tenure exper* experience duration time score rank "
    "tage *tage dauer *dauer anzahl* duree* jours dias dia giorni durata dagen duur aantal nombre numero "
    "grade educ eduyrs schooling rooms bedrooms stay los decile percent pct rate amount total sum"
)
"""Words of a column whose numbers are amounts: of years, of children, of money."""
