"""Training of a run with model.fit: each validation saves the best model and a checkpoint."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.files import replacing
from keras_transformer.models.translation import TranslationModel
from keras_transformer.models.weights import unlike_network
from keras_transformer.text.corpus import Pair
from keras_transformer.text.sentences import Lengths
from keras_transformer.text.token_store import TokenStore
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training.averaging import MovingAverage, mean
from keras_transformer.training.data.dataset import dataset
from keras_transformer.training.data.stages import stages
from keras_transformer.training.history import best
from keras_transformer.training.loss import LabelSmoothedCrossEntropy
from keras_transformer.training.optimizer import Adam
from keras_transformer.training.progress import ProgressBar
from keras_transformer.training.recipe import Recipe
from keras_transformer.training.runs import checkpoint
from keras_transformer.training.runs.run_directory import INITIAL_VALID, PREPARE_AGAIN, VALID, Run
from keras_transformer.training.schedule import Cosine, InverseSquareRoot
from keras_transformer.training.validation import Validation
from keras_transformer.viz.curves import write_curves

MIN_CHECKPOINTS = 2
POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16"}


class TrainingError(RuntimeError):
    """Error of a run that cannot continue; the message has the remedy."""


class Trainer:
    """Training of a prepared run directory, from its last checkpoint to its end.

    Args:
        run: The run directory.
        recipe: Its recipe.

    Raises:
        TrainingError: If Keras does not run on TensorFlow.
        ValueError: If there are no held-out pairs.
    """

    def __init__(self, run: Run, recipe: Recipe) -> None:
        backend = keras.backend.backend()
        if backend != "tensorflow":
            raise TrainingError(
                f"a run is trained with Keras on TensorFlow; the backend of this process is {backend}. Set "
                "KERAS_BACKEND=tensorflow, or train with fit in Python, which every backend has."
            )
        self.run = run
        self.recipe = recipe
        self.tokenizer = Tokenizer.load(run.tokenizer)
        self.store = TokenStore(run.tokens)
        self.stages = stages(self.store, recipe)
        keras.utils.set_random_seed(recipe.seed)
        held_out = list(run.read_pairs(VALID))
        if not held_out:
            raise ValueError(f"{run.path / VALID} is damaged: it has no pairs: {PREPARE_AGAIN}.")
        continues = recipe.preset is None and (run.path / INITIAL_VALID).exists()
        before = list(run.read_pairs(INITIAL_VALID)) if continues else []
        self.model = self._model(self._lengths([*held_out, *before]))
        self.model.compile(
            optimizer(recipe),
            LabelSmoothedCrossEntropy(
                recipe.label_smoothing,
                reduction="sum" if recipe.gradient_accumulation_steps > 1 else "sum_over_batch_size",
            ),
            jit_compile=False,  # on a CPU, XLA makes a training step slower; only the loss is compiled
        )
        self.model.optimizer.build(self.model.trainable_variables)
        self.averaged = self.model.with_policy("float32")
        self.validation = Validation(self.averaged, held_out, recipe.max_tokens)
        self.validation_before = Validation(self.averaged, before, recipe.max_tokens) if before else None
        self.history: list[dict[str, float]] = []
        self.step = 0

    def _model(self, lengths: Lengths) -> TranslationModel:
        """Return the model to train: a new one, or the one that the run goes on from."""
        recipe, initial = self.recipe, None
        if recipe.preset is None:
            initial = TranslationModel.load(self.run.initial)
            if reason := unlike_network(initial):
                raise ValueError(reason)
        network = recipe.network(initial and initial.network)
        joint = self.tokenizer.joint if initial is None else initial.target_vocabulary is None
        model = TranslationModel(
            network,
            self.tokenizer.source_size,
            None if joint else self.tokenizer.target_size,
            self.tokenizer,
            lengths,
            recipe.seed,
            dtype=POLICIES[recipe.precision],
        )
        model.build()
        if initial is not None:
            model.set_weights(initial.get_weights())
        return model

    def _lengths(self, held_out: Sequence[Pair]) -> Lengths:
        """Return the line lengths of the corpus, up to the maximum of the training."""
        lines = [pair.source for pair in held_out]
        return Lengths.learned_from(lines, self.tokenizer.count_source).within(self.recipe.max_tokens)

    def train(self) -> dict[str, float]:
        """Train to the last step, or until patience runs out.

        Returns:
            The scores of the best model, which is saved.

        Raises:
            TrainingError: If the loss is not finite, or a file cannot be written.
        """
        self._restore()
        recipe = self.recipe
        if not recipe.is_over(self.history):
            store, plan, _ = self.stages[-1]
            accumulated = recipe.gradient_accumulation_steps
            tokens = store.lengths()[:, 1].sum() / plan.batches_per_epoch() * accumulated
            bar = ProgressBar(recipe.steps, self.step, float(tokens), accumulated)
            callbacks = [FiniteLoss(self.step, accumulated), bar, Keeper(self, bar)]
            if not recipe.average_checkpoints:
                average = MovingAverage(self.averaged, recipe.ema_decay, self.step, accumulated)
                callbacks.insert(1, average)
            with closing(bar):
                self.model.fit(
                    dataset(self.stages, self.tokenizer.bos_id, self.step, accumulated),
                    steps_per_epoch=(recipe.steps - self.step) * accumulated,
                    shuffle=False,
                    verbose=0,
                    callbacks=callbacks,
                )
        return dict(best(self.history) or {})

    def keep(self, step: int, training_loss: float | None) -> dict[str, float]:
        """Validate the averaged model, save it if it is the best so far, and write a checkpoint.

        Args:
            step: Number of steps done.
            training_loss: Mean loss since the last validation; None before the first step.

        Returns:
            The scores. Names of those on the held-out pairs of the run before begin with `initial_`.

        Raises:
            TrainingError: If the validation loss is not finite.
        """
        self.step = step
        if self.recipe.average_checkpoints:
            self._average_checkpoints()
        scores: dict[str, float] = {"step": self.step}
        if training_loss is not None:
            scores["training_loss"] = training_loss
        scores |= self.validation.scores()
        if self.validation_before is not None:
            before = self.validation_before.scores()
            scores |= {f"initial_{name}": value for name, value in before.items()}
        if not np.isfinite(scores["loss"]):  # the last update damaged the weights: do not save them
            raise diverged("the held-out loss", scores["loss"], step)
        self.history.append(scores)
        if best(self.history) is scores:
            with replacing(self.run.model) as temp_path:
                self.averaged.save(temp_path)
        self._write_history()
        self._save_checkpoint()
        return scores

    def _write_history(self) -> None:
        """Write the history and the curves."""
        self.run.write("history.json", self.history)
        write_curves(self.run.curves, self.history, self.recipe.warmup_steps)

    def _variables(self) -> list[Any]:
        """Return weights, random states, optimizer and average: with step and seed, the state of a run."""
        return [*self.model.variables, *self.model.optimizer.variables, *self.averaged.trainable_variables]

    def _save_checkpoint(self) -> None:
        path = self.run.checkpoints / f"step-{self.step:09d}.npz"
        checkpoint.save(path, self._variables(), {"step": self.step, "history": self.history})
        count = max(MIN_CHECKPOINTS, self.recipe.average_checkpoints)
        for old in checkpoint.checkpoints(self.run.checkpoints)[:-count]:
            old.unlink()

    def _average_checkpoints(self) -> None:
        """Set the average to the mean of the current weights and those of the last checkpoints."""
        indices = {id(variable): index for index, variable in enumerate(self.model.variables)}
        weights = self.model.trainable_variables
        before = checkpoint.checkpoints(self.run.checkpoints)[::-1][: self.recipe.average_checkpoints - 1]
        states = chain(
            [[weight.numpy() for weight in weights]],
            (checkpoint.read(path, [indices[id(weight)] for weight in weights]) for path in before),
        )
        for average, weight in zip(self.averaged.trainable_variables, mean(states), strict=True):
            average.assign(weight)

    def _restore(self) -> None:
        paths = checkpoint.checkpoints(self.run.checkpoints)
        if paths:
            progress = checkpoint.restore(paths[-1], self._variables())
            self.step, self.history = progress["step"], progress["history"]
            self._write_history()
        best_scores = best(self.history)
        if best_scores is not None and not self.run.model.exists():
            raise TrainingError(
                f"{self.run.model}, the best model of this run (step {best_scores['step']:,}), is missing: "
                "restore it, or begin a new run."
            )


def diverged(what: str, loss: float, step: int) -> TrainingError:
    """Return the error of a run whose loss is not finite."""
    return TrainingError(
        f"{what} is {loss} at step {step}. Begin a new run with a lower --peak-learning-rate, more "
        "--warmup-steps, or --precision float32; this run stays at its last checkpoint."
    )


class FiniteLoss(keras.callbacks.Callback):
    """Callback that stops a run whose loss is not finite, before anything is saved."""

    def __init__(self, done: int, every: int) -> None:
        super().__init__()
        self.batches, self.every = done * every, every

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Check the loss of a batch.

        Raises:
            TrainingError: If it is not finite.
        """
        self.batches += 1
        loss = (logs or {}).get("loss")
        if loss is not None and not np.isfinite(loss):
            raise diverged("the loss", loss, -(-self.batches // self.every))


class Keeper(keras.callbacks.Callback):
    """Callback that validates and saves every `validate_every` steps, and stops without patience."""

    def __init__(self, trainer: Trainer, bar: ProgressBar) -> None:
        super().__init__()
        self.trainer, self.bar = trainer, bar
        # batches before this process
        self.batches = trainer.step * trainer.recipe.gradient_accumulation_steps
        self.log = trainer.run.tensorboard
        with _failures_reported(self.log):
            self.writer = tf.summary.create_file_writer(str(self.log))

    def on_train_begin(self, logs: Any = None) -> None:
        """Validate a model that was trained before at step 0."""
        if self.trainer.recipe.preset is None and not self.trainer.history:
            self._keep(0, None)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Validate and save at the steps that the recipe sets."""
        recipe = self.trainer.recipe
        step, rest = divmod(self.batches + batch + 1, recipe.gradient_accumulation_steps)
        if not rest and (step % recipe.validate_every == 0 or step == recipe.steps):
            self._keep(step, float((logs or {})["loss"]))
            self.model.reset_metrics()  # so that the next loss covers the steps after this one only

    def _keep(self, step: int, loss: float | None) -> None:
        scores = self.trainer.keep(step, loss)
        rate = float(self.model.optimizer.learning_rate)
        with _failures_reported(self.log), self.writer.as_default(step=int(scores["step"])):
            for name, value in {**scores, "learning_rate": rate}.items():
                tf.summary.scalar(name, value)
            self.writer.flush()  # so that TensorBoard shows it at once
        self.bar.say(_line(scores))
        if self.trainer.recipe.lost_patience(self.trainer.history):
            self.model.stop_training = True


def _line(scores: Mapping[str, float]) -> str:
    """Return a line of the table of training."""
    loss = f"loss {scores['training_loss']:.3f}; " if "training_loss" in scores else ""
    line = (
        f"step {scores['step']:,}: {loss}held out: "
        f"loss {scores['loss']:.3f}, token accuracy {scores['accuracy']:.1%}, BLEU {scores['bleu']:.2f}"
    )
    if "initial_bleu" in scores:
        line += f"; of the run before: loss {scores['initial_loss']:.3f}, BLEU {scores['initial_bleu']:.2f}"
    return line


@contextmanager
def _failures_reported(log: Path) -> Iterator[None]:
    try:
        yield
    except tf.errors.OpError as error:  # raised by TensorFlow if a file cannot be written
        reason = error.message.splitlines()[0].rpartition("}} ")[2].partition(" [Op:")[0]
        raise TrainingError(
            f"the log in {log} could not be written ({reason}): solve that, then continue with --resume."
        ) from error


def optimizer(recipe: Recipe) -> keras.optimizers.Optimizer:
    """Create Adam with the constants of the paper and the schedule of the recipe."""
    accumulated = recipe.gradient_accumulation_steps
    rise = recipe.peak_learning_rate, recipe.warmup_steps
    schedule = (
        Cosine(*rise, recipe.steps, accumulated, recipe.extended_at)
        if recipe.schedule == "cosine"
        else InverseSquareRoot(*rise, accumulated)
    )
    return Adam(
        schedule,
        beta_1=0.9,
        beta_2=0.98,
        epsilon=1e-9,
        global_clipnorm=recipe.clip_norm or None,
        gradient_accumulation_steps=accumulated if accumulated > 1 else None,
    )
