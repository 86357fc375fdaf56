from indistinct.release.recode import recode_rows as recode_rows
from indistinct.release.release import Release as Release
