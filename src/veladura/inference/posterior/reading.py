"""The model of a private release, read from its manifest and data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veladura.errors import DataError, PlanError, PromiseError
from veladura.methods.private.private import PrivateRecipe

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.methods.private.model import ReleaseModel
    from veladura.methods.private.noise_aware import NoiseAware


def model_of(release: Release) -> ReleaseModel | NoiseAware:
    """Return the model of a release, which its recipe reads, or say what its manifest lacks."""
    step = release.steps[-1]
    recipe = step.recipe
    if recipe is None or not issubclass(recipe, PrivateRecipe) or not recipe.posterior_needs:
        msg = (
            f"a release by {step.method} has no exact posterior.\n\nHint: posteriors are for"
            " releases with the combining rule 'posterior' or 'noise-aware'; this one has"
            f" {release.rule.name!r}."
        )
        raise PlanError(msg)
    if lacking := [key for key in recipe.posterior_needs if step.settings.get(key) is None]:
        msg = f"the manifest lacks {lacking}, which the posterior needs.\n\nHint: ask the holder."
        raise PromiseError(msg)
    try:
        return recipe.read_model(step.settings, release)
    except (ValueError, TypeError, KeyError, ZeroDivisionError, AttributeError):
        msg = "the settings of the private step cannot be read from the manifest."
        raise PromiseError(msg) from None
    except DataError:
        msg = "the released rows do not fit the domain that the manifest declares."
        raise PromiseError(msg) from None
