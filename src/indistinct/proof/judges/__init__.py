"""How a release is judged and proved, one module for each form; ``judge_of`` finds the one of a release."""
