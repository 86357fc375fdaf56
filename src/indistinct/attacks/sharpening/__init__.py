"""Labels that can be sharpened, since only some tables could be behind a release."""
