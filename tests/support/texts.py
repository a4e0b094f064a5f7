"""Corpora for tokenizers, and texts that are hard to keep: many scripts, control characters, long lines."""

from keras_transformer.text.corpus import Pair

NOUNS = [("étudiant", "student"), ("médecin", "doctor"), ("boulanger", "baker"), ("voisin", "neighbour")]
VERBS = [("Je suis", "I am"), ("Tu es", "You are"), ("Il est", "He is"), ("Jean n'est pas", "John is not")]
CORPUS = [Pair(f"{f} {n}.", f"{e} a {m}.") for f, e in VERBS for n, m in NOUNS]
MIXED = [
    *CORPUS,
    Pair("l'été à Noël, 20 m²", "emoji 👩‍👩‍👧 <s> </s> <pad> <0x41>"),
    Pair("日本語", "العربية"),
]
SCRIPTS = [
    Pair("Je suis étudiant à l'école.", "I am a student at the school."),
    Pair("Où habitez-vous ? 20 m²", "<s> </s> <unk> <pad> <0x0A> <0x41> where do you live?"),
    Pair("日本語 한국어 العربية", "👩‍👩‍👧 👍🏽 emoji \0 nul ▁ ▁▁"),
] * 3

HOSTILE = [
    "e\u0301",
    "a\u0323\u0302\u0301",
    "q\u0307\u0323",
    "\u0301",
    "👩‍👩‍👧‍👦👍🏽🏳️‍🌈🇫🇷",
    "\u200fשלום\u200e \u202eabc\u202c \u2067x\u2069",
    "a\0b\0",
    "ab " * 3334,
    "x" * 10_000,
    "".join(map(chr, range(0x300))),
    "<s> </s> <pad> <unk> <0x0A> ▁ ▁▁",
    "ＡＢＣ ①½ﬁ m² …",
    "\u1112\u1161\u11ab 한",
    "\uffff\ufffe\ufffd\U0010ffff\ue000",
    " \u3000\n",
    "می‌خواهم",
]

HOSTILE_BY_KIND = {
    "empty": ["", " ", "\n", "\u3000\u2028"],
    "combining marks": ["e\u0301", "a\u0323\u0302\u0301", "\u0301", "q\u0307\u0323", "x" + "\u0301" * 200],
    "NFC and NFD": [
        "Tiếng Việt",
        "Tie\u0302\u0301ng Vie\u0323\u0302t",
        "\u1112\u1161\u11ab",
        "한",
        "\u0958",
        "\u212b",
    ],
    "emoji": ["👩‍👩‍👧‍👦", "👍🏽👍🏿", "🏳️‍🌈", "🇫🇷🇬🇧", "1️⃣", "\u200d", "\ufe0f"],
    "right to left": ["\u200fשלום\u200e", "\u202eabc\u202c", "\u2067العربية\u2069", "می‌خواهم"],
    "NUL": ["\0", "a\0b", "\0a", "a\0", "\0" * 50],
    "long lines": [
        "x" * 10_000,
        "ab " * 3334,
        " " * 10_000,
        "é" * 10_000,
        "👍🏽" * 5000,
        "Je suis étudiant. " * 600,
    ],
    "white space": [f"a{chr(code)}b{chr(code)}" for code in range(0x3001) if chr(code).isspace()],
    "control characters": [f"a{chr(code)}b" for code in [*range(32), *range(0x7F, 0xA0)]]
    + list(map(chr, range(32))),
    "invisible": [
        f"a{character}b" for character in "\u00ad\u200b\u200c\u2060\ufeff\u180e\u034f\u061c\U000e0041"
    ],
    "its own signs": ["▁", "▁▁", "a▁b", "a ▁ b", "▁a ", "⁇", " ⁇ ", "▅"],
    "literal pieces": [
        "<s>",
        "</s>",
        "<s> a </s>",
        "<unk>",
        "<pad>",
        "<0x0A>",
        "a<0x41>b",
        "<0xC3><0xA9>",
        "\\n",
    ],
    "full width": ["ＡＢＣ", "１２３", "ｶﾞ", "ガ", "①½ﬁ…™²"],
    "not characters": ["\uffff", "\ufffe", "\ufffd", "\U0010ffff", "\ue000", "\ufdd0", "\u0378"],
}
