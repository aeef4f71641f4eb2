"""From the parameters of a private network to the objects that run: the border of strings."""

import math
from functools import partial

from skdp._sgd.settings import (
    UNAMPLIFIED,
    calibrated_plan,
    refuse_idle_batch_size,
    sampler_and_facts,
)
from skdp.mechanisms.label_codes import LabelCodes
from skdp.mechanisms.row_sum import RowSum
from skdp.privacy import Neighbours
from skdp.training import SGD, Adam, AllCoordinates, Momentum
from skdp.training.centre import Centre
from skdp.training.components import Components
from skdp.training.mlp_activations import ACTIVATIONS
from skdp.training.mlp_automatic import NetworkFacts
from skdp.training.mlp_network import Network
from skdp.training.mlp_run import MlpRun

OPTIMIZERS = ("sgd", "momentum", "adam")
#: Of a centre's norm of clipped rows; noisier ones are left out by "auto".
_MOST_NOISE = 0.02
#: "auto" takes so many components, of that many columns, where the noise that they are found with
#: is at most so large a part of the variance, if they hold at least so much of it.
_COMPONENTS, _FEWEST_COLUMNS, _MOST_COLUMNS = 50, 256, 4096
_MOST_COMPONENT_NOISE, _LEAST_SHARE = 0.02, 0.5


def mlp_run(
    model,
    n_records,
    n_features,
    loss,
    *,
    is_sparse=False,
    sampler=None,
    n_runs=1,
    rows_per_group=None,
):
    """Return the calibrated run of a network for data of this public shape.

    With `rows_per_group`, a record is a group of so many rows at most. Everything here follows from
    parameters and public facts; what has no theorem is refused.
    """
    refuse_idle_batch_size(model)
    network = network_of(model, n_features, loss.n_outputs)
    budget = model._budget()

    def facts_of(n):
        return NetworkFacts(
            n_records=n,
            size=network.n_parameters,
            width=max(network.sizes[1:-1], default=1),
            epsilon=budget.epsilon,
            delta=budget.delta,
            n_runs=n_runs,
            amplified=model.sampling not in UNAMPLIFIED,
        )

    sampler, facts = sampler_and_facts(model, facts_of, n_records, sampler, rows_per_group)
    _refuse_private_size(sampler)
    auto = model.max_grad_norm == "auto"
    clip = facts.max_grad_norm() if auto else model._number("max_grad_norm")
    centre = _frame(model, sampler, n_features, loss, is_sparse)
    plan = calibrated_plan(model, sampler, facts, AllCoordinates(), clip, n_runs, centre)
    optimizer, rate = _optimizer(model, facts, plan)
    run = MlpRun(
        plan=plan,
        optimizer=optimizer,
        learning_rate=rate,
        decay=model._number("alpha"),
        average=model.average,
        n_free=network.n_biases,
        network=network,
        centre=centre,
        row_scale=1.0 if centre is None else _row_scale(model, facts),
    )
    run.refuse_inexact_sums()
    return run


def network_of(model, n_features, n_outputs):
    """Return the shapes of a network."""
    hidden = model.hidden_layer_sizes
    sizes = tuple(hidden) if hasattr(hidden, "__iter__") else (hidden,)
    if any(isinstance(size, bool) or int(size) != size or size < 1 for size in sizes):
        raise ValueError(f"hidden_layer_sizes must be whole numbers above 0, got {hidden!r}.")
    return Network((n_features, *map(int, sizes), n_outputs), ACTIVATIONS[model.activation])


def _frame(model, sampler, n_features, loss, is_sparse):
    """Return the planned release of a centre, and of components; None where there is none."""
    centre = _centre(model, sampler, n_features, is_sparse)
    if model.n_components is None:
        return centre
    if model.n_components == "auto":
        if centre is None or n_features < _FEWEST_COLUMNS:
            return centre
        try:
            components = _components(model, sampler, n_features, loss, _COMPONENTS, _LEAST_SHARE)
        except ValueError:  # groups, too many columns, or too small a budget for finite noise
            return centre
        return components if components.noise_share <= _MOST_COMPONENT_NOISE else centre
    if model.n_components > n_features:
        raise ValueError(
            f"n_components={model.n_components} is more than the {n_features} columns of X."
        )
    if centre is None and model.center is not None:
        centre = _centre(model, sampler, n_features, is_sparse, is_wanted=True)
    if centre is None:
        raise ValueError(
            "Components are those around a centre: with center=None, set n_components=None."
        )
    return _components(model, sampler, n_features, loss, model.n_components, 0.0)


def _centre(model, sampler, n_features, is_sparse, *, is_wanted=False):
    """Return the planned release of a centre, or None where there is none."""
    adaptive = getattr(model.noise_schedule, "adaptive", False)
    is_wanted = is_wanted or model.center == "private"
    if model.center is None or (not is_wanted and (is_sparse or adaptive)):
        return _no_centre(model)
    if is_sparse:
        raise ValueError(
            "Sparse rows would become dense when centred. Set center=None and n_components=None."
        )
    if adaptive:
        raise ValueError(
            f"{type(model.noise_schedule).__name__} promises a total of its own, in which a centre "
            "has no place. Set center=None and n_components=None."
        )
    per_unit = sampler.rows_per_unit
    n_rows = sampler.public_size * per_unit
    norm = _center_norm(model, n_features)
    total = RowSum(n_rows, n_features, norm, sampler.neighbours, per_unit)
    if not is_wanted and not _is_cheap(total, model._budget()):
        return _no_centre(model)
    return Centre.planned(total, model._budget())


def _center_norm(model, n_features):
    return math.sqrt(n_features) if model.center_norm is None else model._number("center_norm")


def _components(model, sampler, n_features, loss, n_components, least_share):
    if model.max_rows_per_group is not None:  # places of rows that a group lacks would count
        raise ValueError(
            "Components are released of rows, each on its own: with max_rows_per_group, set "
            "n_components=None."
        )
    if n_features + loss.n_outputs > _MOST_COLUMNS:
        raise ValueError(
            f"n_components is for at most {_MOST_COLUMNS} columns and classes together, whose "
            f"moments are released; here are {n_features} and {loss.n_outputs}. Set "
            "n_components=None, or choose columns before."
        )
    return Components.planned(
        sampler.public_size,
        n_features,
        _center_norm(model, n_features),
        sampler.neighbours,
        model._budget(),
        LabelCodes(loss.n_outputs),
        n_components,
        least_share,
    )


def _no_centre(model):
    if model.center is None and model.center_norm is not None:
        raise ValueError("center_norm is set, but with center=None nothing uses it.")


def _row_scale(model, facts):
    """Return what centred rows are multiplied by: a part of the automatic learning rate."""
    automatic = model.learning_rate == "auto" and model.optimizer != "adam"
    return facts.row_scale() if automatic else 1.0


def _is_cheap(total, budget):
    try:
        return Centre.planned(total, budget).noise_share <= _MOST_NOISE
    except ValueError:  # too small a budget for noise of finite precision
        return False


def _refuse_private_size(sampler):
    if sampler.neighbours is Neighbours.ADD_OR_REMOVE_ONE:
        raise ValueError(
            "A network has no guarantee for add-or-remove-one: a row more or less moves the "
            "others of its batch to other places, which changes the last bits of what matrix "
            "products compute for them. Use zero-out, the default."
        )


def _optimizer(model, facts, plan):
    """Return the maker of the optimiser and the step size."""
    plain = facts.learning_rate(plan.max_grad_norm, plan.n_steps)
    if model.optimizer == "momentum":
        momentum = model._number("momentum")
        maker, rate = partial(Momentum, momentum=momentum), (1 - momentum) * plain
    elif model.optimizer == "adam":
        maker, rate = Adam, facts.adaptive_rate()
    else:
        maker, rate = SGD, plain
    return maker, rate if model.learning_rate == "auto" else model._number("learning_rate")
