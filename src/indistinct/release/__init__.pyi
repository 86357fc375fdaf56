from indistinct.release.release import Release as Release
