"""The compiled route to the gradients of linear models. Imported lazily: it needs numba."""

from skdp.training import csr_kernels, dense_kernels, fused_kernels
from skdp.training.glm_contract import Kernels
from skdp.training.loss_kernels import has_code, loss_code

__all__ = ["DENSE", "SPARSE", "has_code"]

DENSE = Kernels(
    loss_code,
    dense_kernels.norms,
    dense_kernels.clipped_sum,
    dense_kernels.contribution_map,
    dense_kernels.restricted_sum,
    fused_kernels.run_steps,
)
SPARSE = Kernels(
    loss_code,
    csr_kernels.norms,
    csr_kernels.clipped_sum,
    csr_kernels.contribution_map,
    csr_kernels.restricted_sum,
)
