from indistinct.documents.compiling import dossier as dossier
from indistinct.documents.dossier_facts import Blank as Blank
from indistinct.documents.dossier_facts import Dossier as Dossier
from indistinct.documents.dossier_facts import Fact as Fact
from indistinct.documents.dossier_facts import Paper as Paper
from indistinct.documents.pages import page_style as page_style
from indistinct.documents.pages import refuse_folder as refuse_folder
from indistinct.documents.pages import write_dossier as write_dossier
