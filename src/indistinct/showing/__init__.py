"""How results are put for people: words and numbers, small HTML for notebooks, SVG."""
