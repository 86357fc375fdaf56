from indistinct.release.release import Release as Release
from indistinct.release.release import recode_rows as recode_rows
