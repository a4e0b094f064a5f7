"""The result of a text within its limit, whatever its parts have said when it is read."""

from keras_transformer.inference.answer import Answer
from keras_transformer.inference.loop_guard import LoopGuard
from keras_transformer.inference.request import Request
from keras_transformer.text.sentences import Parts
from serving.api.job import Job, Partial
from serving.api.messages import add_scores, add_tokens, translation
from serving.registry.served_version import ServedVersion
from serving.v1 import translation_pb2 as wire
from tests.support.serving.echo import echo, run, tokenizer

END = tokenizer().eos_id
FIRST = [7, 8, END]
LOOP, LENGTH = wire.FINISH_REASON_LOOP, wire.FINISH_REASON_LENGTH


def part(tokens: list[int], log_probs: int | None = None, most: int = 40, guarded: bool = True) -> Request:
    """A part that grows; its last token may have no log-probability yet."""
    guard = LoopGuard.of([5, 6, END], most) if guarded else None
    values = [-1.0] * (len(tokens) if log_probs is None else log_probs)
    return Request([5, 6, END], most, guard=guard, tokens=tokens, log_probs=values)


def ended(tokens: list[int], most: int = 40) -> Request:
    request = part(tokens, most=most)
    request.finish([Answer(tokens, -1.0, request.log_probs)], END)
    return request


def job(model: ServedVersion, limit: int, *requests: Request) -> Job:
    texts = ["a"] * len(requests)
    return Job(model, Parts(texts, ["", *[" "] * (len(texts) - 1), ""], 0), requests, limit)


def reason(found: Job, result: Partial) -> int:
    """The reason of a result, whose tokens have their log-probabilities."""
    answer = translation(found, result)
    add_tokens(answer, found, result)
    add_scores(answer, result)
    return answer.finish_reason


def test_a_text_of_several_parts_ends_the_same_whether_its_last_part_is_read_early_or_late() -> None:
    async def scenario() -> None:
        model = echo()
        said = [20, 21, *[9] * 12]
        for limit in range(4, 12):
            final = job(model, limit, ended(FIRST), ended(said))
            expected = final.partial()
            left = limit - len(FIRST)
            assert expected.tokens == [FIRST, [20, 21, 9][:left]]
            assert reason(final, expected) == (LOOP if left >= 3 else LENGTH)
            for grown in range(1, len(said) + 1):
                growing = job(model, limit, ended(FIRST), part(said[:grown]))
                result = growing.partial()
                if result.complete:
                    assert (result, reason(growing, result)) == (expected, reason(final, expected))
                assert result.tokens[1] == expected.tokens[1][: len(result.tokens[1])]
            assert result.complete == (left < 3)  # before the part has ended
        model.engine.stop()

    run(scenario)


def test_a_part_that_has_reached_its_length_is_complete_when_the_guard_has_seen_it() -> None:
    async def scenario() -> None:
        model = echo()
        said = [*range(10, 30)]
        growing = job(model, 0, part(said, most=20))
        assert not growing.partial().complete
        final = job(model, 0, ended(said, most=20))
        assert reason(final, final.partial()) == LOOP  # it has as many tokens as the model allows
        model.engine.stop()

    run(scenario)


def test_a_token_whose_log_probability_is_not_there_yet_is_not_there_either() -> None:
    async def scenario() -> None:
        model = echo()
        between = job(model, 5, ended(FIRST), part([20, 21, 22], 1, guarded=False))
        assert between.partial() == Partial([FIRST, [20]], [-1.0] * 4, complete=False)
        unscored = part([20, 21, 22], 0, guarded=False)
        unscored.scores = False
        assert job(model, 6, unscored).partial() == Partial([[20, 21, 22]], [], complete=False)
        later = job(model, 5, ended(FIRST), request := part([20, 21, 22], guarded=False))
        result = later.partial()
        request.finish([Answer([20], -1.0, [-1.0])], END)  # while the answer is written
        assert result == Partial([FIRST, [20, 21]], [-1.0] * 5, complete=True)
        assert reason(later, result) == LENGTH
        model.engine.stop()

    run(scenario)


def test_the_guard_knows_the_length_of_the_model_and_the_token_in_which_branches_differ() -> None:
    model = echo()
    text = "Les enfants aiment le riz et la gare est loin de la maison. " * 4
    (request,) = model.requests([text], loop_guard=True)
    (short,) = model.requests([text], 5, loop_guard=True)
    (branch,) = model.requests([text], search={"prefix": [7, 8], "branching": True}, loop_guard=True)
    guards = request.guard, short.guard, branch.guard
    assert [guard and guard.max_tokens for guard in guards] == [model.longest] * 3
    assert (request.max_tokens, short.max_tokens) == (model.longest, 5)
    assert branch.guard
    assert branch.guard.begun == 3
    model.engine.stop()
