"""How good a translation is: sacreBLEU's scores, and the comparison of two systems."""
