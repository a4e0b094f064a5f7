"""Distillation: a student learns from the translations of its teachers, beside the original corpus.

`folder` has the files, `texts` writes what the teachers translate, and `selection` keeps the translations
that are worth training on. The translation itself is that of `keras_transformer.bulk`.
"""

ORIGINAL, TEACHER, MONOLINGUAL, BACK = PARTS = ("original", "teacher", "monolingual", "back")
