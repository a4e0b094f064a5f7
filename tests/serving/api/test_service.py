"""What a caller gets, by a real client from a real server whose models say what they hear."""

import asyncio
import random
from typing import Any

import grpc
import pytest
from grpc import StatusCode

from keras_transformer.inference.backend import Floats
from keras_transformer.inference.queue import QueueFullError
from keras_transformer.phrasebook import phrasebook
from serving.errors import InvalidError, Refusal, UnknownModelError, refusal
from serving.grpc import handlers
from serving.limits import Limits
from serving.registry.registry import Registry
from serving.server import Server
from serving.v1 import translation_pb2 as wire
from serving.v1.translation_pb2_grpc import TranslationServiceStub
from tests.support.serving.calls import ask, refused, refused_for
from tests.support.serving.echo import LENGTHS, UNSPEAKABLE, Echo, echo, run, served, stub, tokenizer

SENTENCES = [pair.source for pair in phrasebook("fr-en", "test", 20)]
LONG = (
    "  Bonjour. Comment allez-vous ?\n\nJe suis là, et toi, " + "mon ami, " * 20 + "où es-tu ?\r\n日本 😀 \n"
)


@pytest.mark.parametrize("text", [*SENTENCES[:5], LONG, "", " ", "\n\n", "\u200b", "a\n\u200b\nb"])
def test_a_text_is_translated_with_its_lines_and_its_white_space(text: str) -> None:
    async def scenario() -> None:
        async with stub(echo("fr-en", 3)) as service:
            answer = (await service.Translate(ask(text))).translation
            assert answer.text == text.replace("\u200b", "")
            assert (answer.model, answer.version) == ("fr-en", 3)
            assert answer.finish_reason == wire.FINISH_REASON_STOP
            assert not answer.tokens
            assert not answer.HasField("score")

    run(scenario)


def test_scores_and_tokens_come_if_they_are_asked_for() -> None:
    async def scenario() -> None:
        async with stub() as service:
            answer = (await service.Translate(ask("Bonjour. Merci !", scores=True))).translation
            ids = [each for row in tokenizer().encode_source(["Bonjour.", "Merci !"]) for each in row]
            assert [token.id for token in answer.tokens] == ids
            assert [token.piece for token in answer.tokens] == tokenizer().pieces_target(ids)
            assert [token.log_prob for token in answer.tokens] == [-number / 1024 for number in ids]
            assert answer.score == pytest.approx(-sum(ids) / 1024 / len(ids), abs=1e-7)
            usage = answer.usage
            assert (usage.parts, usage.source_tokens, usage.target_tokens) == (2, len(ids), len(ids))

    run(scenario)


class Unscored(Echo):
    """It has no log-probabilities."""

    def log_probs(self) -> Floats:
        raise AssertionError("scores that no caller asked for")


def test_log_probabilities_are_not_computed_unless_they_are_asked_for() -> None:
    async def scenario() -> None:
        text = "Bonjour. Merci !"
        async with stub(echo(runtime=Unscored())) as service:
            assert (await service.Translate(ask(text, length_penalty=0.5))).translation.text == text
            found = [each async for each in service.StreamTranslate(wire.StreamTranslateRequest(text=text))]
            assert found[-1].translation.text == text

    run(scenario)


def test_a_batch_keeps_its_order_and_a_text_that_fails_fails_alone() -> None:
    texts = [*SENTENCES, UNSPEAKABLE, "", "a" * 301, "fin"]

    async def scenario() -> None:
        async with stub(limits=Limits(characters=300)) as service:
            segments = (await service.BatchTranslate(wire.BatchTranslateRequest(texts=texts))).segments
            assert len(segments) == len(texts)
            wrong = {place: each.error for place, each in enumerate(segments) if each.HasField("error")}
            right = [each.translation.text for each in segments if each.HasField("translation")]
            assert right == [*SENTENCES, "", "fin"]
            failed, long = wrong[len(SENTENCES)], wrong[len(SENTENCES) + 2]
            assert len(wrong) == 2
            assert (failed.code, failed.field) == (StatusCode.INTERNAL.value[0], "")
            assert (long.code, long.field) == (StatusCode.INVALID_ARGUMENT.value[0], "text")

    run(scenario)


@pytest.mark.parametrize("text", [*SENTENCES[:3], LONG, "日本語 😀👍🏽 naïve ☃", "", " \n"])
def test_the_pieces_of_a_stream_are_the_whole_text_and_the_last_message_has_it(text: str) -> None:
    async def scenario() -> None:
        runtime = Echo(held=True)
        async with stub(echo(runtime=runtime)) as service, asyncio.TaskGroup() as group:
            steps = group.create_task(_one_by_one(runtime))
            found = [each async for each in service.StreamTranslate(wire.StreamTranslateRequest(text=text))]
            steps.cancel()
            assert all(each.text for each in found[:-1])
            assert "".join(each.text for each in found) == text == found[-1].translation.text
            assert [each.HasField("translation") for each in found] == [False] * (len(found) - 1) + [True]

    run(scenario)


async def _one_by_one(runtime: Echo) -> None:
    while True:
        runtime.allow(1)
        await asyncio.sleep(0.001)


def test_pieces_come_while_the_rest_is_still_decoded() -> None:
    async def scenario() -> None:
        runtime = Echo(held=True)
        model = echo(runtime=runtime)
        async with stub(model) as service:
            call = service.StreamTranslate(wire.StreamTranslateRequest(text="Bonjour, 😀 !"))
            begin, whole = tokenizer().encode_source(["Bonjour,", "Bonjour, 😀 !"])
            assert whole[: len(begin) - 1] == begin[:-1]
            runtime.allow(len(begin) - 1)
            told = ""
            while told != "Bonjour,":
                told += (await call.read()).text
            assert model.engine.running == 1
            runtime.allow(100)
            while (more := await call.read()) is not grpc.aio.EOF:
                told += more.text
            assert told == "Bonjour, 😀 !"

    run(scenario)


def test_an_answer_ends_after_the_tokens_that_it_may_have_wherever_that_is() -> None:
    text = "Merci. Où est la gare ?  Merci."
    rows = tokenizer().encode_source(["Merci.", "Où est la gare ?", "Merci."])
    tokens = [each for row in rows for each in row]

    async def scenario() -> None:
        async with stub() as service:
            whole = (await service.Translate(ask(text))).translation.text
            for most in range(1, len(tokens) + 2):
                options = wire.Options(max_output_tokens=most, scores=True)
                answer = (
                    await service.Translate(wire.TranslateRequest(text=text, options=options))
                ).translation
                assert [token.id for token in answer.tokens] == tokens[:most]
                assert whole.startswith(answer.text)
                ended = most >= len(tokens)
                assert answer.finish_reason == (
                    wire.FINISH_REASON_STOP if ended else wire.FINISH_REASON_LENGTH
                )
                call = service.StreamTranslate(wire.StreamTranslateRequest(text=text, options=options))
                pieces = [each async for each in call]
                assert "".join(each.text for each in pieces) == answer.text
                assert pieces[-1].translation == answer

    run(scenario)


def test_every_limit_is_kept_to_and_names_what_breaks_it() -> None:
    async def scenario() -> None:
        limits = Limits(characters=40, tokens=12, segments=2)
        model = echo(waiting=3)
        async with stub(model, limits=limits) as service:
            fits = "a " * 10  # a piece each, and the end
            assert len(tokenizer().encode_source([fits])[0]) == 11
            await service.Translate(ask(fits + "a"))
            message = await refused_for(service.Translate(ask(fits + "a a")), "text")
            assert "13 tokens; the limit is 12" in message
            await service.Translate(ask("\u200b" * 40))
            message = await refused_for(service.Translate(ask("\u200b" * 41)), "text")
            assert "41 characters; the limit is 40" in message
            await service.Translate(ask("a\nb\nc"))
            message = await refused_for(service.Translate(ask("a\nb\nc\nd")), "text")
            assert "4 sentences; the limit is 3" in message
            await service.BatchTranslate(wire.BatchTranslateRequest(texts=["a"] * 2))
            batch = service.BatchTranslate(wire.BatchTranslateRequest(texts=["a"] * 3))
            assert "3 items; the limit is 2" in await refused_for(batch, "texts")

    run(scenario)


def test_a_message_that_is_too_large_is_refused_by_its_size() -> None:
    async def scenario() -> None:
        async with stub(limits=Limits(message_bytes=1000)) as service:
            await refused(service.Translate(ask("\u200b" * 400)), StatusCode.RESOURCE_EXHAUSTED)
            assert (await service.Translate(ask("a"))).translation.text == "a"

    run(scenario)


def test_no_bytes_make_it_unknown_or_internal() -> None:
    rng = random.Random(3)
    good = ask("Où est la gare ?", model="echo", version=1, priority=wire.PRIORITY_HIGH, scores=True)
    bad: set[StatusCode] = set()

    async def scenario() -> None:
        async with served() as channel:
            for method in ("Translate", "BatchTranslate", "ListModels"):
                call = channel.unary_unary(f"/serving.v1.TranslationService/{method}")
                for _ in range(300):
                    content = bytearray(good.SerializeToString())
                    for _ in range(rng.randrange(1, 4)):
                        content[rng.randrange(len(content))] = rng.randrange(256)
                    try:
                        await call(bytes(content))
                    except grpc.aio.AioRpcError as error:
                        bad.add(error.code())

    run(scenario)
    assert StatusCode.INVALID_ARGUMENT in bad
    assert bad <= {StatusCode.INVALID_ARGUMENT, StatusCode.NOT_FOUND}


def test_a_damaged_message_is_told_as_such() -> None:
    async def scenario() -> None:
        async with served() as channel:
            for kind, name in ((channel.unary_unary, "Translate"), (channel.unary_unary, "Attend")):
                call = kind(f"/serving.v1.TranslationService/{name}")(b"\xff\xff")
                assert "cannot be parsed" in (await refused(call, StatusCode.INVALID_ARGUMENT))[0]
            stream = channel.unary_stream("/serving.v1.TranslationService/StreamTranslate")(b"\xff")
            await refused(stream.read(), StatusCode.INVALID_ARGUMENT)

    run(scenario)


def test_the_caller_chooses_model_and_version_and_is_told_which_answered() -> None:
    async def scenario() -> None:
        models = [echo("fr-en", 2), echo("fr-en", 10), echo("en-de", 1)]
        async with stub(*models) as service:
            for options, expected in (
                ({"model": "fr-en"}, ("fr-en", 10)),
                ({"model": "fr-en", "version": 2}, ("fr-en", 2)),
                ({"model": "en-de"}, ("en-de", 1)),
            ):
                answer = (await service.Translate(ask("a", **options))).translation
                assert (answer.model, answer.version) == expected
            message = await refused_for(service.Translate(ask("a")), "options.model")
            assert "en-de, fr-en" in message
            for options, values in (
                ({"model": "de-fr"}, ("'de-fr'", "en-de, fr-en")),
                ({"model": "fr-en", "version": 3}, ("version 3 of fr-en", "2, 10")),
            ):
                message, _ = await refused(service.Translate(ask("a", **options)), StatusCode.NOT_FOUND)
                assert all(value in message for value in values)
                batch = wire.BatchTranslateRequest(texts=["a"], options=wire.Options(**options))
                assert (await refused(service.BatchTranslate(batch), StatusCode.NOT_FOUND))[0] == message
            listed = (await service.ListModels(wire.ListModelsRequest())).models
            assert [(each.name, each.default_version) for each in listed] == [("en-de", 1), ("fr-en", 10)]
            assert [each.version for each in listed[1].versions] == [2, 10]
            assert listed[1].versions[0] == wire.ModelVersion(
                version=2,
                state=wire.STATE_SERVING,
                source_language="fr",
                target_language="en",
                precision="float32",
                part_tokens=LENGTHS.longest,
                max_beam=1,  # the backend of this test has no candidates
            )

    run(scenario)


@pytest.mark.parametrize("options", [{}, {"model": "echo"}, {"version": 2}])
def test_where_no_model_is_left_one_may_come(options: dict[str, Any]) -> None:
    async def scenario() -> None:
        models, server = Registry([]), Server(Limits())
        port = await server.start("127.0.0.1", 0)
        await server.open(models)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            service, text = TranslationServiceStub(channel), ask("a", **options)
            batch = wire.BatchTranslateRequest(texts=["a"], options=text.options)
            for call in (service.Translate(text), service.BatchTranslate(batch)):
                message, details = await refused(call, StatusCode.UNAVAILABLE)
                assert message.startswith("no model is served")
                assert not details
            models.add(echo(version=2))
            assert (await service.Translate(text)).translation.text == "a"
        await server.drain(0)

    run(scenario)


@pytest.mark.parametrize("letter", ["a", "%", "\0", "\U0010ffff", "😀"])
def test_a_name_that_no_model_has_is_told_back_and_one_that_none_can_have_is_not(letter: str) -> None:
    async def scenario() -> None:
        async with stub() as service:
            name = letter * 255
            message, _ = await refused(service.Translate(ask("a", model=name)), StatusCode.NOT_FOUND)
            assert f"{name!r}. Name one of echo" in message
            for length in (256, 1_000_000):
                told = await refused_for(service.Translate(ask("a", model=letter * length)), "options.model")
                assert f"{length:,} characters" in told
                assert len(told) < 255

    run(scenario)


def test_what_a_caller_has_written_is_not_kept_once_it_is_refused() -> None:
    def kept(told: Refusal) -> bool:
        return handlers._details(told) is handlers._details(told)

    assert not kept(refusal(UnknownModelError("there is no model 'x'; there is echo")))
    assert not kept(refusal(InvalidError("options.priority", "there is no priority 7")))
    assert kept(refusal(QueueFullError("1 requests are waiting, and 1 may")))
