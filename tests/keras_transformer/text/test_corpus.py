"""Files become pairs of sentences, whatever their format."""

import gzip
import json
import subprocess
import sys
import tracemalloc
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.text.corpus import CorpusError, Pair, read_pairs, read_parallel
from tests.support.corpora import STUDENT, STUDENT_TMX, pairs_of, parallel, tmx, written

STUDENT_FILES = {
    "a.tsv": "Je suis étudiant.\tI am a student.\nMerci.\tThanks.\n",
    "a.jsonl": '{"fr": "Je suis étudiant.", "en": "I am a student."}\n\n'
    '{"source": "Merci.", "target": "Thanks."}\n',
    "a.tmx": STUDENT_TMX,
}


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


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (gzip.compress(b"\xff" * 50), "gzip data inside of gzip"),
        (b"PK\3\4\xff\xfe\n", "a zip archive"),
        (b"\x00\xfe\n", "binary data, with a NUL byte"),
    ],
    ids=["gzip", "zip", "binary"],
)
def test_a_file_that_is_no_text_is_called_what_it_is(tmp_path, content, kind):
    path = tmp_path / "a.tsv.gz"
    path.write_bytes(gzip.compress(content))
    with pytest.raises(CorpusError, match=f"a.tsv.gz is no text: line 1 is {kind}") as refused:
        list(read_pairs([path], "fr", "en"))
    assert "iconv" not in str(refused.value)


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
