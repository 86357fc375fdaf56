"""m-invariance: releases of people who come and go."""
