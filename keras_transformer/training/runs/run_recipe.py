"""The recipe of a run that is continued, and the checks before that."""

from keras_transformer.training.recipe import Recipe, shared_batches
from keras_transformer.training.runs.run_directory import Run, RunError
from keras_transformer.training.runs.run_summary import facts


def read_recipe(run: Run, more_steps: int | None = None) -> Recipe:
    """Return the recipe of a prepared run.

    Args:
        run: The run.
        more_steps: The steps to give it if it is finished. One that has them already goes on.

    Raises:
        RunError: recipe.json is damaged, or the run cannot have these steps.
    """
    try:
        recipe = Recipe.from_run(run.read("recipe.json"))
    except (ValueError, TypeError) as error:
        raise RunError(f"{run.path / 'recipe.json'} is damaged: {error}") from error
    if more_steps is None:
        return recipe
    try:
        summary = facts(run.path)
        if summary["state"] == "finished":
            return recipe.extended(summary["step"], more_steps)
    except ValueError as error:  # a damaged file, or no more steps than before
        raise RunError(str(error)) from error
    if more_steps != recipe.steps:
        raise _unfinished(run, f"is at step {summary['step']:,} of {recipe.steps:,}")
    return recipe


def check_unextended(run: Run, more_steps: int | None) -> None:
    """Check that a run that is not prepared is given no other steps than it was begun with.

    Raises:
        RunError: It is.
    """
    if more_steps not in (None, run.about()["recipe"].get("steps")):
        raise _unfinished(run, "is not prepared yet")


def check_continuable(run: Run, more_steps: int | None, workers: int) -> None:
    """Check that workers can continue a run, before any of them is started.

    Args:
        run: The run, prepared or not.
        more_steps: The steps to give it if it is finished.
        workers: Number of workers.

    Raises:
        RunError: There is no run, another process is at work on it, it is damaged, it cannot have these
            steps, or the workers cannot share the batches of a step.
    """
    with run.lock():
        try:
            if run.is_prepared:
                recipe = read_recipe(run, more_steps)
            else:
                check_unextended(run, more_steps)
                batches = run.about()["recipe"].get("gradient_accumulation_steps")
                recipe = Recipe() if batches is None else Recipe(gradient_accumulation_steps=batches)
            shared_batches(recipe.gradient_accumulation_steps, workers)
        except ValueError as error:
            raise RunError(str(error)) from error


def _unfinished(run: Run, state: str) -> RunError:
    return RunError(f"{run.path} {state}: end it with --resume alone, and then give it more steps.")
