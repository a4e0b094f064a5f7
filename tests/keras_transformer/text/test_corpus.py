"""Files become pairs of sentences, whatever their format; what is wrong with a file is told where it is."""

import gzip
import json
import subprocess
import sys
import tracemalloc
from itertools import islice
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.text.corpus import CorpusError, Pair, read_pairs, read_parallel

STUDENT = [Pair("Je suis étudiant.", "I am a student."), Pair("Merci.", "Thanks.")]


def written(path, content):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def parallel(folder, source, target):
    files = written(folder / "train.fr", source), written(folder / "train.en", target)
    return list(read_parallel([files[0]], [files[1]]))


def pairs_of(path, source_lang="fr", target_lang="en"):
    return list(read_pairs([path], source_lang, target_lang))


def tmx(*units, head=""):
    """Units as ((language, segment XML), ...)."""
    variants = [
        "".join(f'<tuv xml:lang="{lang}"><seg>{seg}</seg></tuv>' for lang, seg in unit) for unit in units
    ]
    body = "".join(f"<tu>{variant}</tu>" for variant in variants)
    return f'<?xml version="1.0"?>{head}<tmx version="1.4"><header/><body>{body}</body></tmx>'


STUDENT_TMX = tmx(*[(("fr", pair.source), ("en", pair.target)) for pair in STUDENT])
STUDENT_FILES = {
    "a.tsv": "Je suis étudiant.\tI am a student.\nMerci.\tThanks.\n",
    "a.jsonl": '{"fr": "Je suis étudiant.", "en": "I am a student."}\n\n'
    '{"source": "Merci.", "target": "Thanks."}\n',
    "a.tmx": STUDENT_TMX,
}


# What is read


@pytest.mark.parametrize("name", STUDENT_FILES)
def test_every_format_gives_the_same_pairs_plain_and_gzipped(tmp_path, name):
    content = STUDENT_FILES[name].encode()
    assert pairs_of(written(tmp_path / name, content)) == STUDENT
    assert pairs_of(written(tmp_path / f"{name}.gz", gzip.compress(content))) == STUDENT
    assert (
        pairs_of(written(tmp_path / f"zipped-{name}", gzip.compress(content))) == STUDENT
    )  # seen by its bytes


def test_many_files_of_mixed_formats_follow_each_other(tmp_path):
    paths = [written(tmp_path / name, content) for name, content in STUDENT_FILES.items()]
    assert list(read_pairs(paths, "fr", "en")) == STUDENT * 3


def test_parallel_files_are_joined_line_by_line(tmp_path):
    first, second = written(tmp_path / "1.fr", "un\ndeux\n"), written(tmp_path / "2.fr", "trois")
    targets = written(tmp_path / "1.en", "one\ntwo\n"), written(tmp_path / "2.en.gz", gzip.compress(b"three"))
    assert list(read_parallel([first, second], targets)) == [
        ("un", "one"),
        ("deux", "two"),
        ("trois", "three"),
    ]


def test_a_byte_order_mark_and_windows_line_ends_are_not_text(tmp_path):
    assert parallel(tmp_path, b"\xef\xbb\xbfun\r\ndeux\r\n", "one\ntwo") == [("un", "one"), ("deux", "two")]


@pytest.mark.parametrize(
    "inside", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\r", "\0"]
)
def test_only_line_feeds_end_a_line(tmp_path, inside):
    assert parallel(tmp_path, f"a{inside}b\nc\n", "one\ntwo\n") == [(f"a{inside}b", "one"), ("c", "two")]


def test_empty_lines_of_parallel_files_stay_so_that_the_others_stay_aligned(tmp_path):
    assert parallel(tmp_path, "un\n\ntrois\n", "one\ntwo\n\n") == [("un", "one"), ("", "two"), ("trois", "")]


def test_a_line_of_ten_thousand_characters_is_a_line(tmp_path):
    assert parallel(tmp_path, "é" * 10_000, "one") == [("é" * 10_000, "one")]


def test_json_records_may_be_nested_under_translation(tmp_path):
    record = {"id": 7, "translation": {"fr": "Merci.", "en": "Thanks.", "de": "Danke."}}
    assert pairs_of(written(tmp_path / "a.jsonl", json.dumps(record))) == [("Merci.", "Thanks.")]


def test_tmx_languages_match_in_any_case_and_with_their_regions(tmp_path):
    unit = (("EN-us", "color"), ("frr", "klöör"), ("FR-fr", "couleur"), ("en_GB", "colour"))
    path = written(tmp_path / "a.tmx", tmx(unit))
    assert pairs_of(path) == [("couleur", "color")]  # the first region
    assert pairs_of(path, "fr", "en-gb") == [("couleur", "colour")]
    assert pairs_of(written(tmp_path / "b.tmx", tmx((*unit, ("en", "hue"))))) == [
        ("couleur", "hue")
    ]  # exact first


def test_tmx_text_is_what_a_translator_reads(tmp_path):
    source = (
        '<bpt i="1">&lt;b&gt;</bpt>Cliquez<ept i="1">&lt;/b&gt;</ept> sur <hi type="bold">OK</hi>'
        '<ph x="1">{0}</ph>'
        '<ph type="lb"/>&amp; <it pos="begin">&lt;i&gt;<sub>note</sub>&lt;/i&gt;</it>attendez<ut>x</ut>.'
    )
    path = written(tmp_path / "a.tmx", tmx((("fr", source), ("en", "Click"))))
    assert pairs_of(path) == [("Cliquez sur OK & attendez.", "Click")]


def test_tmx_units_without_one_of_the_languages_are_skipped(tmp_path):
    path = written(tmp_path / "a.tmx", tmx((("fr", "seul"),), (("fr", "un"), ("en", "one"))))
    assert pairs_of(path) == [("un", "one")]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "iso-8859-1", "windows-1252"])
def test_tmx_is_read_in_its_own_encoding(tmp_path, encoding):
    text = STUDENT_TMX.replace('version="1.0"', f'version="1.0" encoding="{encoding.removesuffix("-sig")}"')
    assert pairs_of(written(tmp_path / "a.tmx", text.encode(encoding))) == STUDENT


def test_a_tmx_that_names_the_official_document_type_is_read_without_fetching_it(tmp_path):
    head = '<!DOCTYPE tmx SYSTEM "http://127.0.0.1:9/tmx14.dtd">'
    assert pairs_of(written(tmp_path / "a.tmx", STUDENT_TMX.replace("<tmx", head + "<tmx", 1))) == STUDENT


READ_FROM_STANDARD_INPUT = """
import sys
from pathlib import Path
from keras_transformer.text.corpus import CorpusError, read_pairs, read_parallel
try:
    if len(sys.argv) > 1:
        pairs = list(read_parallel([Path("-")], [Path(sys.argv[1])]))
    else:
        pairs = list(read_pairs([Path("-")], "fr", "en"))
except CorpusError as error:
    pairs = error
sys.stdout.buffer.write(str(pairs).encode())
loaded = {"keras", "tensorflow", "numpy", "sentencepiece"} & set(sys.modules)
sys.exit(f"loaded {loaded}" if loaded else 0)
"""


def standard_input(data, *arguments):
    command = [sys.executable, "-c", READ_FROM_STANDARD_INPUT, *map(str, arguments)]
    return subprocess.run(command, input=data, capture_output=True, check=True).stdout.decode()


def test_standard_input_is_tsv_or_one_of_two_parallel_files(tmp_path):
    assert standard_input(b"Merci.\tThanks.\n") == str([Pair("Merci.", "Thanks.")])
    zipped, english = gzip.compress(b"Merci.\n"), written(tmp_path / "a.en", "Thanks.\n")
    assert standard_input(zipped, english) == str([Pair("Merci.", "Thanks.")])
    assert standard_input(b"") == "standard input is empty: it has 0 lines"
    assert "standard input has 2 lines and " in standard_input(b"un\ndeux\n", english)


@pytest.mark.parametrize("name", ["a.tsv.gz", "a.tmx.gz"])
def test_a_corpus_is_never_held_in_memory(tmp_path, name):
    sentence = "Je suis étudiant. " * 20
    if name == "a.tsv.gz":
        content = f"{sentence}\t{sentence}\n" * 10_000
    else:
        content = tmx(*[(("fr", sentence), ("en", sentence))] * 10_000)
    size = len(content)
    path = written(tmp_path / name, gzip.compress(content.encode(), 1))
    del content
    tracemalloc.start()
    count = sum(1 for _ in read_pairs([path], "fr", "en"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 10_000
    assert size > 7_000_000
    assert peak < 1_000_000


def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path):
    path = written(tmp_path / "a.tsv.gz", gzip.compress(bytes(50_000_000), 1))
    tracemalloc.start()
    with pytest.raises(CorpusError, match="line 1: longer than 1048576 bytes"):
        pairs_of(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


LINE_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\t"))
XML_TEXT = st.text(
    st.characters(min_codepoint=32, exclude_categories=["Cs"], exclude_characters="\ufffe\uffff")
)


@settings(deadline=None)
@given(st.lists(st.tuples(LINE_TEXT, LINE_TEXT), min_size=1))
def test_what_was_written_is_read_back(tmp_path_factory, pairs):
    folder = tmp_path_factory.mktemp("pairs")
    pairs = [
        Pair("première", "first"),
        *(Pair(*pair) for pair in pairs),
    ]  # a leading U+FEFF is a mark, not text
    assert pairs_of(written(folder / "a.tsv", "".join(f"{s}\t{t}\n" for s, t in pairs))) == pairs
    sides = ["".join(line + "\n" for line in side) for side in zip(*pairs, strict=True)]
    assert parallel(folder, *sides) == pairs


@settings(deadline=None)
@given(st.lists(st.tuples(st.text(), st.text()).map(lambda pair: Pair(*pair)), min_size=1))
def test_jsonl_holds_any_text(tmp_path_factory, pairs):
    lines = "".join(json.dumps({"fr": source, "en": target}) + "\n" for source, target in pairs)
    assert pairs_of(written(tmp_path_factory.mktemp("jsonl") / "a.jsonl", lines)) == pairs


@settings(deadline=None)
@given(st.lists(st.tuples(XML_TEXT, XML_TEXT).map(lambda pair: Pair(*pair)), min_size=1))
def test_tmx_holds_any_text_that_xml_can(tmp_path_factory, pairs):
    units = [(("fr", escape(source)), ("en", escape(target))) for source, target in pairs]
    assert pairs_of(written(tmp_path_factory.mktemp("tmx") / "a.tmx", tmx(*units))) == pairs


# What is refused, in which words


def test_line_counts_that_differ_are_told_both(tmp_path):
    with pytest.raises(CorpusError) as error:
        parallel(tmp_path, "un\ndeux\n", "one\ntwo\nthree\nfour\nfive\n")
    assert str(error.value) == (
        f"{tmp_path}/train.fr has 2 lines and {tmp_path}/train.en has 5: {tmp_path}/train.fr ends first, "
        "after line 2. Line n of one must be the translation of line n of the other"
    )
    with pytest.raises(
        CorpusError, match=r"train\.fr has 4 lines and .*train\.en has 1: .*train\.en ends first, after"
    ):
        parallel(tmp_path, "un\ndeux\ntrois\nquatre", "one")


def test_the_pairs_before_a_mistake_are_given(tmp_path):
    path = written(tmp_path / "a.tsv", "un\tone\ndeux\n")
    assert list(islice(read_pairs([path], "fr", "en"), 1)) == [("un", "one")]


BOMB = '<!DOCTYPE tmx [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'
OUTSIDE = '<!DOCTYPE tmx [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
GZIPPED = gzip.compress(b"un\tone\n" * 1000)
REFUSED = {
    # name of the case: (file name, content, the words)
    "latin-1": (
        "a.tsv",
        b"\xef\xbb\xbfun\tone\nr\xe9sum\xe9\tcv\n",
        # 3 bytes of mark, 7 of line 1, r: the twelfth
        "line 2: 0xE9 at byte 2 of the line (12 of the file) is not UTF-8 (invalid continuation byte): "
        "convert the file, for example with iconv -f WINDOWS-1252 -t UTF-8 ",
    ),
    "bad byte after a mark": (
        "a.tsv",
        b"\xef\xbb\xbfa\xff\tb\n",
        "line 1: 0xFF at byte 5 of the line (5 of the file)",
    ),
    "cut in a character": (
        "a.tsv",
        b"un\tone\xc3",
        "0xC3 at byte 7 of the line (7 of the file) is not UTF-8 (unexpected",
    ),
    "surrogate in UTF-8": ("a.tsv", b"a\xed\xa0\x80\tb\n", "0xED at byte 2 of the line"),
    "UTF-16": (
        "a.tsv",
        "un\tone\n".encode("utf-16"),
        "is UTF-16, not UTF-8 (it starts with the bytes FF FE): convert it, for example with iconv -f UTF-16",
    ),
    "no line feed": (
        "a.tsv",
        "un\tone\rdeux\ttwo\r",
        "ends its lines with a carriage return alone (2 of them, no line feed): convert it, for example",
    ),
    "endless line": (
        "a.tsv",
        b"x" * (2 << 20),
        "line 1: longer than 1048576 bytes. A corpus is a text file with a",
    ),
    "empty TSV": ("a.tsv", "", "a.tsv is empty: it has 0 lines"),
    "only a gzip header": ("a.tsv.gz", gzip.compress(b""), "a.tsv.gz is empty: it has 0 lines"),
    "empty TMX": ("a.tmx", "", "a.tmx is empty: it has 0 lines"),
    "gzip cut off": (
        "a.tsv.gz",
        GZIPPED[:-9],
        "is cut off: its gzip data end too early. Copy the file again",
    ),
    "gzip damaged": ("a.tsv.gz", GZIPPED[:20] + b"\xff\xff" + GZIPPED[22:], "has damaged gzip data ("),
    "not gzip": (
        "a.tsv.gz",
        "un\tone\n",
        "is named .gz but is not gzipped: rename it, or compress it with gzip",
    ),
    "one column": (
        "a.tsv",
        "un\tone\ndeux\n",
        "line 2: 1 columns where 2 are expected, source and target with a tab",
    ),
    "four columns": ("a.tsv", "1\tun\t2\tone\n", "line 1: 4 columns where 2 are expected"),
    "no format": ("a.csv", "un,one\n", "a.csv is none of the formats .tsv, .jsonl and .tmx (each also .gz)"),
    "not JSON": (
        "a.jsonl",
        '{"fr": "un", "en": "one"}\n{"fr": \n',
        "line 2: not JSON (Expecting value: line 1 column",
    ),
    "deep JSON": ("a.jsonl", "[" * 100_000, "line 1: not JSON (maximum recursion depth"),
    "array": ("a.jsonl", '["un", "one"]\n', "line 1: list where an object like {'fr': .., ..} is expected"),
    "no key": (
        "a.jsonl",
        '{"fr": "un", "de": "eins"}',
        "line 1: no key 'en' among ['de', 'fr']: the keys must be 'fr' and 'en', or 'source' and 'target'",
    ),
    "no language at all": ("a.jsonl", '{"text": "un"}', "line 1: no key 'source' among ['text']"),
    "number": ("a.jsonl", '{"fr": "un", "en": 1}', "line 1: 'en' is 1 where a string is expected"),
    "null": ("a.jsonl", '{"fr": null, "en": "one"}', "line 1: 'fr' is None where a string is expected"),
    "lone surrogate": (
        "a.jsonl",
        '{"fr": "\\ud83d", "en": "x"}',
        "'fr' has the lone surrogate \\ud83d, which is half",
    ),
    "no such language": (
        "a.tmx",
        tmx((("de", "eins"), ("EN-us", "one")), (("de", "zwei"), ("en", "two"))),
        "has no unit in both 'fr' and 'en'; its languages are: EN-us (1), de (2), en (1)",
    ),
    "no unit": ("a.tmx", tmx(), "has no unit in both 'fr' and 'en'; its languages are: none"),
    "malformed": ("a.tmx", "<tmx>\n <body></tmx>", "a.tmx, line 2, column 10: mismatched tag"),
    "cut off XML": (
        "a.tmx",
        STUDENT_TMX[:-30],
        f"a.tmx, line 1, column {len(STUDENT_TMX) - 30 + 1}: no element found",
    ),
    "HTML": ("a.tmx", "<html></html>", "a.tmx, line 1, column 1: the document is <html>, not <tmx>"),
    "unknown encoding": (
        "a.tmx",
        '<?xml version="1.0" encoding="klingon"?><tmx/>',
        "the declared encoding cannot be read",
    ),
    "entity bomb": (
        "a.tmx",
        tmx((("fr", "&b;"), ("en", "x")), head=BOMB),
        "the entity &a; is declared, and declarations",
    ),
    "outside entity": (
        "a.tmx",
        tmx((("fr", "&a;"), ("en", "x")), head=OUTSIDE),
        "&a; is declared, and declarations of",
    ),
    "HTML entity": (
        "a.tmx",
        tmx((("fr", "a&nbsp;b"), ("en", "x")), head='<!DOCTYPE tmx SYSTEM "tmx14.dtd">'),
        "the entity &nbsp; is not known. Replace it by its text",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_file_is_refused_with_its_name_and_the_reason(tmp_path, case):
    name, content, words = REFUSED[case]
    path = written(tmp_path / name, content)
    with pytest.raises(CorpusError) as error:
        pairs_of(path)
    assert str(error.value).startswith(str(path))
    assert words in str(error.value)


def test_files_that_cannot_be_are_refused_before_anything_is_read(tmp_path):
    here = written(tmp_path / "a.fr", "un\n")
    link = tmp_path / "same.fr"
    link.symlink_to(here)
    dash = Path("-")
    refused = [
        (
            lambda: read_parallel([here, here], [link]),
            "2 source files (",
            "and 1 target files (",
            "same order",
        ),
        (lambda: read_parallel([], []), "no corpus file was given: give at least one"),
        (
            lambda: read_parallel([here], [link]),
            "is given as source and as target: its translation must be another",
        ),
        (lambda: read_parallel([dash], [dash]), 'standard input ("-") is given more than once'),
        (
            lambda: read_parallel([here], [tmp_path / "b.en"]),
            f"{tmp_path}/b.en does not exist (looked in {tmp_path})",
        ),
        (
            lambda: read_pairs([tmp_path], "fr", "en"),
            f"{tmp_path} is a directory: give the files in it instead",
        ),
        (
            lambda: read_pairs([here], "fr", "en"),
            "is none of the formats",
            "given as source and target files",
        ),
    ]
    for read, *words in refused:
        with pytest.raises(CorpusError) as error:
            read()
        assert all(word in str(error.value) for word in words), str(error.value)


def test_a_file_that_fails_while_it_is_read_is_named(tmp_path):
    directory_behind = Path("/proc/self/mem")  # opens, and fails to be read from its start
    if not directory_behind.exists():
        pytest.skip("needs Linux' /proc")
    english = written(tmp_path / "a.en", "one\n")
    with pytest.raises(CorpusError, match="/proc/self/mem cannot be read: Input/output error"):
        list(read_parallel([directory_behind], [english]))
