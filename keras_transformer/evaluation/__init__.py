"""Evaluation of translations: sacreBLEU's scores, and the comparison of two systems."""
