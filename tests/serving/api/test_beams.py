"""Beams, alternatives and prefixes of a served version, by real clients over both protocols."""

import asyncio
import random
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from threading import Semaphore
from typing import Any

import pytest
from grpc import StatusCode

from export.artifact.manifest import Version, open_version
from keras_transformer import Tokenizer, TranslationModel
from keras_transformer.inference.answer import Answer
from keras_transformer.inference.backend import StepResult
from keras_transformer.inference.request import Request
from serving import AsyncClient
from serving.api.search import n_best
from serving.registry.served_version import EngineSettings, ServedVersion, load_model
from serving.v1 import translation_pb2 as wire
from tests.support.counts import counts
from tests.support.serving.calls import ask, refused, refused_for
from tests.support.serving.echo import echo, listening, run, stub, until
from tests.support.serving.http_site import both, told
from tests.support.versions.small_model import PAIRS, small_model

TEXTS = [pair.source for pair in PAIRS[:40]]
TWO = f"{TEXTS[0]}\n{TEXTS[1]}"


@pytest.fixture(scope="module")
def version(exported: Path) -> Version:
    return open_version(exported)


@pytest.fixture(scope="module")
def model() -> TranslationModel:
    return small_model()


@pytest.fixture(params=["float32", "int8"])
def precision(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def served(version: Version) -> ServedVersion:
    return of(version, "float32")


def of(version: Version, precision: str, slots: int = 20) -> ServedVersion:
    loaded = load_model("fr-en", 1, version, EngineSettings(precision=precision, slots=slots))
    loaded.engine.start()
    return loaded


def test_a_beam_and_its_alternatives_are_those_of_the_model(
    served: ServedVersion, model: TranslationModel
) -> None:
    expected = model.hypotheses(TEXTS, beam=4, length_penalty=0.6, alignment=False)

    async def scenario() -> None:
        async with listening(served) as port, AsyncClient(f"127.0.0.1:{port}") as client:
            greedy = await client.translate(TEXTS)
            found = await client.translate(TEXTS, beam=4, alternatives=3, length_penalty=0.6, scores=True)
            for answer, beams in zip(found, expected, strict=True):
                others = [answer, *answer.alternatives]
                assert [each.text for each in others] == [each.text for each in beams]
                for each, beam in zip(others, beams, strict=True):
                    log_probs = [token.log_prob for token in each.tokens]
                    assert log_probs == pytest.approx(beam.log_probs, abs=1e-6)
                    assert each.score == pytest.approx(sum(log_probs) / len(log_probs), abs=1e-6)
            assert sum(one.text != two.text for one, two in zip(greedy, found, strict=True)) > 5
            widened = await client.translate(TEXTS[:3], alternatives=3, length_penalty=0.6)
            assert [each.text for each in widened] == [each.text for each in found[:3]]
            assert [len(each.alternatives) for each in widened] == [len(beams) - 1 for beams in expected[:3]]

    run(scenario)


@counts(80, 2_000)
def test_requests_of_every_kind_at_once_get_what_each_gets_alone(
    version: Version, precision: str, count: int
) -> None:
    """However they share the batch: tokens and log-probabilities to the bit."""
    rng = random.Random(4)

    def options() -> dict[str, Any]:
        beam = rng.choice([0, 0, 1, 2, 4, 5, 8])
        return {
            "beam": beam,
            "alternatives": rng.randrange(beam or 4),
            "length_penalty": rng.choice([0.0, 1.0]),
            "prefix": rng.choice(["", "", "The", "I am"]),
            "no_repeat_ngram": rng.choice([0, 0, 1, 3]),
            "alternatives_at_prefix": rng.choice([False, True]),
            "loop_guard": rng.choice([True, False]),
        }

    requests = [ask(rng.choice(TEXTS), scores=True, **options()) for _ in range(count)]

    async def answers(together: bool) -> list[bytes]:
        async with stub(of(version, precision)) as service:
            if together:
                found = await asyncio.gather(*map(service.Translate, requests))
                return [each.SerializeToString() for each in found]
            return [(await service.Translate(each)).SerializeToString() for each in requests]

    async def scenario() -> None:
        assert await answers(together=True) == await answers(together=False)

    run(scenario)


def test_a_text_of_several_parts_has_the_best_combinations_of_their_answers(served: ServedVersion) -> None:
    async def scenario() -> None:
        async with stub(served) as service:
            first, second = [
                (await service.Translate(ask(text, beam=3, alternatives=2, loop_guard=False))).translation
                for text in TEXTS[:2]
            ]
            both_parts = (
                await service.Translate(ask(TWO, beam=3, alternatives=2, loop_guard=False))
            ).translation
            assert both_parts.text == f"{first.text}\n{second.text}"
            combined = {
                f"{one.text}\n{two.text}"
                for one in (first, *first.alternatives)
                for two in (second, *second.alternatives)
            }
            others = [each.text for each in both_parts.alternatives]
            assert len(others) == 2
            assert {*others} <= combined
            short = await service.Translate(ask(TWO, alternatives=2, max_output_tokens=3, loop_guard=False))
            for each in (short.translation, *short.translation.alternatives):
                assert each.finish_reason == wire.FINISH_REASON_LENGTH
            for most in range(1, 12):  # combinations that differ after the limit are one
                answer = (
                    await service.Translate(ask(TWO, alternatives=7, scores=True, max_output_tokens=most))
                ).translation
                found = [[token.id for token in each.tokens] for each in (answer, *answer.alternatives)]
                assert len(found) == len({*map(tuple, found)})

    run(scenario)


def test_the_best_combinations_come_first() -> None:
    def part(*scores: float) -> Request:
        return Request([1], 9, answers=[Answer([number], score) for number, score in enumerate(scores)])

    # -1.0 -2.0 and -1.0 -1.5 -4.0: the sums are -2.0, -2.5, -3.0, -3.5, -5.0, -6.0
    found = n_best([part(-1.0, -2.0), part(-1.0, -1.5, -4.0)], 5)
    assert [[answer.ids[0] for answer in answers] for answers in found] == [
        [0, 0], [0, 1], [1, 0], [1, 1], [0, 2],
    ]  # fmt: skip
    assert n_best([Request([1], 9)], 3) == [(Answer([], 0.0),)]  # a part without tokens


def test_a_loop_is_cut_and_told_and_no_other_answer_changes(served: ServedVersion) -> None:
    async def scenario() -> None:
        async with both(served) as (service, http):
            reasons = Counter()
            for text in TEXTS:
                raw = (await service.Translate(ask(text, scores=True, loop_guard=False))).translation
                answer = (await service.Translate(ask(text, scores=True))).translation
                reasons[answer.finish_reason] += 1
                if answer.finish_reason == wire.FINISH_REASON_LOOP:
                    assert answer.tokens == raw.tokens[: len(answer.tokens)]
                else:
                    assert answer == raw
                stream = service.StreamTranslate(wire.StreamTranslateRequest(text=text))
                assert "".join([each.text async for each in stream]) == answer.text
                reason = {wire.FINISH_REASON_LOOP: "loop"}.get(answer.finish_reason, "stop")
                for how in ({"json": {"q": text}}, {"data": {"q": text, "loop_guard": "true"}}):
                    _, content = await told(http.post("/translate", **how))
                    assert (content["translatedText"], content["finishReason"]) == (answer.text, reason)
            assert reasons.keys() == {wire.FINISH_REASON_STOP, wire.FINISH_REASON_LOOP}
            assert reasons[wire.FINISH_REASON_LOOP] > 5
            for guard in (False, "false"):
                _, content = await told(http.post("/translate", json={"q": TEXTS, "loop_guard": guard}))
                assert set(content["finishReason"]) == {"stop", "length"}

    run(scenario)


def test_alternatives_that_are_loops_come_last_and_each_has_its_reason(served: ServedVersion) -> None:
    async def scenario() -> None:
        async with stub(served) as service:
            several = 0
            for text in (*TEXTS, TWO):
                answer = (await service.Translate(ask(text, beam=4, alternatives=3))).translation
                reasons = [each.finish_reason for each in (answer, *answer.alternatives)]
                loops = [reason == wire.FINISH_REASON_LOOP for reason in reasons]
                assert loops == sorted(loops)
                several += len(set(loops)) > 1
            assert several

    run(scenario)


def test_a_translation_begins_with_its_prefix(served: ServedVersion) -> None:
    async def scenario() -> None:
        async with stub(served) as service:
            for beam in (1, 4):
                answer = (await service.Translate(ask(TEXTS[0], beam=beam, prefix="The tea is"))).translation
                assert answer.text.startswith("The tea is")
            pieces = [
                each
                async for each in service.StreamTranslate(
                    wire.StreamTranslateRequest(text=TWO, options=wire.Options(beam=4))
                )
            ]
            whole = pieces[-1].translation.text
            assert "".join(each.text for each in pieces) == whole
            assert whole == (await service.Translate(ask(TWO, beam=4))).translation.text

    run(scenario)


def test_alternatives_at_a_prefix_differ_in_the_token_after_it_and_go_on_as_if_it_were_given(
    served: ServedVersion,
) -> None:
    prefix = "The tea"
    begin = served.tokenizer.encode_prefix(prefix)

    async def scenario() -> None:
        async with stub(served) as service:
            options = {"prefix": prefix, "scores": True}
            found = (
                await service.Translate(ask(TEXTS[0], **options, alternatives=7, alternatives_at_prefix=True))
            ).translation
            answers = [found, *found.alternatives]
            following = {answer.tokens[len(begin)].id: answer for answer in answers}
            assert len(following) == 8
            likely = sorted(answer.tokens[len(begin)].log_prob for answer in answers)
            (best,) = [answer for answer in answers if answer.tokens[len(begin)].log_prob == likely[-1]]
            greedy = (await service.Translate(ask(TEXTS[0], **options))).translation
            assert (best.text, list(best.tokens)) == (greedy.text, list(greedy.tokens))
            assert [answer.score for answer in answers] == sorted(
                (answer.score for answer in answers), reverse=True
            )
            continued = 0
            for answer in answers:
                ids = [token.id for token in answer.tokens]
                assert ids[: len(begin)] == begin
                (longer,) = served.tokenizer.decode_target([ids[: len(begin) + 1]])
                if served.tokenizer.encode_prefix(longer) == ids[: len(begin) + 1]:
                    goes_on = (await service.Translate(ask(TEXTS[0], prefix=longer))).translation
                    assert goes_on.text.startswith(answer.text)  # a longer prefix may have more tokens
                    continued += 1
            assert continued > 3

    run(scenario)


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("size", [1, 2])
def test_no_sequence_of_tokens_comes_twice_if_that_is_forbidden(
    served: ServedVersion, beam: int, size: int
) -> None:
    def sequences(answer: wire.Translation) -> list[tuple[int, ...]]:
        ids = [token.id for token in answer.tokens]
        return [tuple(ids[begin : begin + size]) for begin in range(len(ids) - size + 1)]

    async def scenario() -> None:
        async with stub(served) as service:
            repeated = 0
            for text in TEXTS[:10]:
                free, guarded = [
                    (
                        await service.Translate(ask(text, beam=beam, scores=True, no_repeat_ngram=each))
                    ).translation
                    for each in (0, size)
                ]
                repeated += len(sequences(free)) > len({*sequences(free)})
                assert len(sequences(guarded)) == len({*sequences(guarded)})
            assert repeated

    run(scenario)


@pytest.mark.parametrize(
    ("options", "field", "why"),
    [
        ({"beam": 9}, "beam", "options.beam must be at most 8; got 9"),
        ({"alternatives": 8}, "alternatives", "options.alternatives must be at most 7; got 8"),
        ({"beam": 2, "alternatives": 2}, "alternatives", "must be less than options.beam; got 2 and 2"),
        ({"length_penalty": -1}, "length_penalty", "options.length_penalty must be 0 to 10; got -1"),
        ({"length_penalty": float("nan")}, "length_penalty", "must be 0 to 10; got nan"),
        ({"prefix": "I am"}, "prefix", "needs a text of one part; this one has 2"),
    ],
)
def test_what_is_wrong_with_a_search_is_told_with_its_field(
    served: ServedVersion, options: dict[str, Any], field: str, why: str
) -> None:
    async def scenario() -> None:
        async with stub(served) as service:
            assert why in await refused_for(service.Translate(ask(TWO, **options)), f"options.{field}")

    run(scenario)


@pytest.mark.parametrize("field", ["beam", "alternatives", "prefix", "no_repeat_ngram"])
def test_a_version_that_decodes_greedily_refuses_a_beam_with_the_remedy(field: str) -> None:
    async def scenario() -> None:
        async with stub(echo("fr-en", 3)) as service:
            options = {field: "I" if field == "prefix" else 2}
            why = await refused_for(service.Translate(ask("Bonjour.", **options)), f"options.{field}")
            assert "version 3 of fr-en decodes greedily" in why
            assert f"Export it again with --format onnx, or leave out options.{field}." in why
            answer = (await service.Translate(ask("Bonjour.", beam=1))).translation
            assert answer.text == "Bonjour."

    run(scenario)


def test_a_server_with_few_rows_takes_beams_up_to_these(version: Version) -> None:
    async def scenario() -> None:
        async with stub(of(version, "float32", slots=3)) as service:
            assert (await service.Translate(ask(TEXTS[0], beam=3))).translation.text
            why = await refused_for(service.Translate(ask(TEXTS[0], beam=4)), "options.beam")
            assert why == "options.beam must be at most 3; got 4"

    run(scenario)


def test_a_server_with_one_row_takes_prefixes_and_guards(version: Version) -> None:
    async def scenario() -> None:
        async with stub(of(version, "float32", slots=1)) as service:
            answer = await service.Translate(ask(TEXTS[0], prefix="The tea is", no_repeat_ngram=2))
            assert answer.translation.text.startswith("The tea is")
            why = await refused_for(service.Translate(ask(TEXTS[0], beam=2)), "options.beam")
            assert why == "options.beam must be at most 1; got 2"

    run(scenario)


def test_a_prefix_with_what_no_answer_can_contain_is_refused_with_the_remedy(version: Version) -> None:
    tokenizer = version.tokenizer
    pieces = tokenizer.pieces_target(range(tokenizer.target_size))
    named = [f"none {place}" if piece.startswith("<0x") else piece for place, piece in enumerate(pieces)]
    imported = Tokenizer([tokenizer.target_model], vocabularies=[named])
    network = replace(version.manifest.network, forbidden=(tokenizer.encode_prefix("The tea")[0],))
    guarded = replace(version, manifest=replace(version.manifest, network=network))

    async def scenario() -> None:
        unknown = replace(of(version, "float32"), tokenizer=imported)
        for served, prefix in ((unknown, "🙂 The tea"), (of(guarded, "float32"), "The tea")):
            async with stub(served) as service:
                for beam in (1, 4):
                    call = service.Translate(ask(TEXTS[0], beam=beam, prefix=prefix))
                    why = await refused_for(call, "options.prefix")
                    assert why.startswith(f"options.prefix: no answer can begin with {prefix!r}")
                    assert why.endswith("Leave them out.")

    run(scenario)


def test_a_prefix_is_whole_however_short_the_source_is_or_refused(served: ServedVersion) -> None:
    prefix = " ".join(["The tea is"] * 9)
    tokens = len(served.tokenizer.encode_prefix(prefix))
    (request,) = served.requests(["Oui."])
    assert request.max_tokens < tokens < served.longest

    async def scenario() -> None:
        async with stub(served) as service:
            for beam in (1, 4):
                answer = await service.Translate(ask("Oui.", beam=beam, prefix=prefix))
                assert answer.translation.text.startswith(prefix)
                begun = ask("Oui.", beam=beam, prefix=prefix, max_output_tokens=tokens)
                assert (await service.Translate(begun)).translation.text == prefix
                cut = ask("Oui.", beam=beam, prefix=prefix, max_output_tokens=tokens - 1)
                assert await refused_for(service.Translate(cut), "options.prefix") == (
                    f"options.prefix has {tokens} tokens; an answer has at most {tokens - 1}. Shorten it, or "
                    "raise options.max_output_tokens."
                )
            long = ask("Oui.", prefix=" ".join([prefix] * 60))
            assert "Shorten it." in await refused_for(service.Translate(long), "options.prefix")

    run(scenario)


def test_a_beam_whose_deadline_passes_ends_and_leaves_its_rows(
    served: ServedVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, backend = served.engine, served.engine._batch.backend
    step, allowed = backend.step, Semaphore(0)

    def held() -> StepResult:
        assert allowed.acquire(timeout=20)
        return step()

    monkeypatch.setattr(backend, "step", held)

    async def scenario() -> None:
        async with stub(served) as service:
            call = asyncio.ensure_future(service.Translate(ask(TEXTS[0], beam=8), timeout=15))
            await until(lambda: engine.running == 1)
            monkeypatch.setattr(engine, "_clock", lambda: time.monotonic() + 30)  # the deadline passes
            allowed.release()
            await refused(call, StatusCode.DEADLINE_EXCEEDED)
            assert (engine.running, engine._batch.free) == (0, engine.slots)
            monkeypatch.setattr(engine, "_clock", time.monotonic)
            allowed.release(100)
            assert (await service.Translate(ask(TEXTS[0], beam=8))).translation.text

    run(scenario)


def test_http_has_the_same_search_with_alternatives_as_libretranslate_has_them(served: ServedVersion) -> None:
    async def scenario() -> None:
        async with both(served) as (service, http):
            for text in TEXTS[:3]:
                answer = (await service.Translate(ask(text, beam=4, alternatives=2))).translation
                others = [each.text for each in answer.alternatives]
                status, content = await told(
                    http.post("/translate", json={"q": text, "beam": 4, "alternatives": 2})
                )
                assert (status, content["translatedText"], content["alternatives"]) == (
                    200,
                    answer.text,
                    others,
                )
                form = {"q": text, "beam": "4", "alternatives": "2", "length_penalty": "1.0"}
                _, content = await told(http.post("/translate", data=form))
                assert content["alternatives"] == others
            _, content = await told(
                http.post("/translate", json={"q": TEXTS[:2], "alternatives": 1, "loop_guard": False})
            )
            assert [len(each) for each in content["alternatives"]] == [1, 1]
            _, content = await told(http.post("/translate", json={"q": TEXTS[0], "prefix": "The tea is"}))
            assert content["translatedText"].startswith("The tea is")
            assert "alternatives" not in content
            unguarded = {"q": TEXTS[:2], "alternatives": 1, "scores": True, "loop_guard": False}
            status, content = await told(http.post("/translate", json=unguarded))
            assert [len(each) for each in content["scores"]] == [2, 2]
            branching = {"q": TEXTS[0], "alternatives": 3, "alternatives_at_prefix": "true", "scores": "true"}
            branching["loop_guard"] = "false"
            _, content = await told(http.post("/translate", data=branching))
            first_words = [text.split()[0] for text in (content["translatedText"], *content["alternatives"])]
            assert len({*first_words}) > 2
            assert content["scores"] == sorted(content["scores"], reverse=True)
            assert len(content["scores"]) == 4
            for text, others in (("", []), ([""], [[]])):
                _, content = await told(http.post("/translate", json={"q": text, "alternatives": 2}))
                assert content["alternatives"] == others
            for fields, why in (
                ({"beam": "x"}, "beam must be a whole number"),
                ({"alternatives": [3]}, "alternatives must be a whole number"),
                ({"length_penalty": "long"}, "length_penalty must be a number"),
                ({"prefix": 3}, "prefix must be a string"),
                ({"scores": 2}, "scores must be true or false"),
                ({"alternatives_at_prefix": "x"}, "alternatives_at_prefix must be true or false"),
                ({"loop_guard": "no"}, "loop_guard must be true or false"),
                ({"beam": 9}, "options.beam must be at most 8"),
            ):
                status, content = await told(http.post("/translate", json={"q": TEXTS[0], **fields}))
                assert status == 400
                assert why in content["error"]

    run(scenario)
