"""Spack's recipe.

spack repo add packaging/spack
spack dev-build gpucast@main      # in a clone: builds its sources
"""

from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class Gpucast(PythonPackage, CudaPackage):
    """Forecasts of multi-GPU step times, from measured transfers, launches and steps."""

    license("Apache-2.0")

    # A clone's own sources (spack dev-build, or `spack develop --path . gpucast@main`), which state
    # their version themselves.
    version("main")

    variant("mpi", default=True, description="The schedule mpi of gpucast-mdapp")
    variant("remote", default=True, description="Remote GPUs", when="+cuda")
    variant("figures", default=True, description="gpucast figures, proposal and report")
    variant("serve", default=True, description="gpucast serve", when="+figures")

    depends_on("c", type="build")
    depends_on("cxx", type="build")

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-scikit-build-core@0.10:", type="build")
    depends_on("py-nanobind@2.4:", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")

    depends_on("ceres-solver", type="build")  # headers
    depends_on("eigen@3.4:", type="build")
    depends_on("nlohmann-json@3.10:", type="build")
    depends_on("cli11@2:", type="build")
    depends_on("mpi", when="+mpi")
    depends_on("cuda@12.4:", when="+cuda")
    depends_on("cuda@13", when="+remote")
    depends_on("asio@1.22:", type="build", when="+remote")
    depends_on("openssl@3: ~shared", type="build", when="+remote")

    # As pyproject.toml.
    with default_args(type="run"):
        depends_on("py-nanoarrow@0.8:")
        depends_on("py-numpy@1.26:")
        depends_on("py-openpyxl@3.1:")
        depends_on("py-pandas@2.2:")
        depends_on("py-pyyaml@6.0.1:")
        depends_on("py-rich@13.7:")
        depends_on("py-scipy@1.12:")
        depends_on("py-typer@0.12:")
        depends_on("py-jinja2@3.1:", when="+figures")
        depends_on("py-matplotlib@3.8:", when="+figures")
        depends_on("py-python-docx@1.1:", when="+figures")
        depends_on("py-waitress@3.0.1:", when="+serve")
        depends_on("py-werkzeug@3.1:", when="+serve")

    def config_settings(self, spec, prefix):
        settings = {
            "cmake.define.GPUCAST_MPI": "ON" if spec.satisfies("+mpi") else "OFF",
            "cmake.define.GPUCAST_CUDA": "ON" if spec.satisfies("+cuda") else "OFF",
            "cmake.define.GPUCAST_REMOTE": "ON" if spec.satisfies("+remote") else "OFF",
        }
        if spec.satisfies("+cuda") and "none" not in spec.variants["cuda_arch"].value:
            settings["cmake.define.CMAKE_CUDA_ARCHITECTURES"] = ";".join(
                spec.variants["cuda_arch"].value
            )
        if spec.satisfies("+remote"):
            settings["cmake.define.OPENSSL_ROOT_DIR"] = spec["openssl"].prefix
        return settings
