"""What is wrong with a file is told with its name, where it is, and what to do about it."""

import gzip
from itertools import islice
from pathlib import Path

import pytest

from keras_transformer.text.corpus import CorpusError, read_pairs, read_parallel
from tests.support.corpora import STUDENT_TMX, pairs_of, parallel, tmx, written


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
