"""From Python to machine code: numba's compiler, without what kernels do not need.

Half of numba's time goes into what is for other programs: closures, reference counts, messages
about every step, and finding out again and again what the sum of two numbers is. Here a part of
kernels is translated once and kept as it is; a kernel is linked from its parts, each once, and
only the whole is optimised. The machine code is that of numba.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, _pass_registry, register_pass
from numba.core.ir_utils import build_definitions
from numba.core.ssa import reconstruct_ssa
from numba.core.typed_passes import NopythonTypeInference, PreLowerStripPhis
from numba.core.untyped_passes import ReconstructSSA

# Passes for what kernels do not have: closures, whole-array expressions, branches on types,
# messages that are put together at run time, annotations for people.
_NEEDLESS = {
    "AnnotateTypes",
    "DeadBranchPrune",
    "DumpParforDiagnostics",
    "FindLiterallyCalls",
    "IRProcessing",  # is done again by the rewrites that follow
    "InlineClosureLikes",
    "InlineInlinables",
    "InlineOverloads",
    "LiteralPropagationSubPipelinePass",
    "LiteralUnroll",
    "MakeFunctionToJitFunction",
    "NoPythonSupportedFeatureValidation",
    "NopythonRewrites",
    "RewriteDynamicRaises",
    "RewriteSemanticConstants",
    "WithLifting",
}
# The end of every variable's life: only where references are counted.
_COUNTING = "IRLegalization"


class _Remembering:
    """numba's typing context, but for what it has been asked before."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._calls: dict[Any, Any] = {}
        self._attributes: dict[Any, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, args: Any, named: Any) -> Any:
        """The signature of a function for these types of arguments."""
        if named:
            return self._context.resolve_function_type(function, args, named)
        found = self._calls.get((function, args))
        if found is None:
            found = self._context.resolve_function_type(function, args, named)
            self._calls[function, args] = found
        return found

    def resolve_getattr(self, kind: Any, name: str) -> Any:
        """The type of an attribute."""
        found = self._attributes.get((kind, name))
        if found is None:
            found = self._attributes[kind, name] = self._context.resolve_getattr(kind, name)
        return found


_remembering = cache(_Remembering)


@register_pass(mutates_CFG=True, analysis_only=False)
class _InferTypes(NopythonTypeInference):
    _name = "infer_types"

    def run_pass(self, state: Any) -> bool:
        context = state.typingctx
        state.typingctx = _remembering(context)
        try:
            return bool(super().run_pass(state))
        finally:
            state.typingctx = context


# Two passes of numba's that also look up, again, where variables live: only generators ask.
@register_pass(mutates_CFG=True, analysis_only=False)
class _AssignOnce(ReconstructSSA):
    _name = "assign_once"

    def run_pass(self, state: Any) -> bool:
        state.func_ir = reconstruct_ssa(state.func_ir)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _StripPhis(PreLowerStripPhis):
    _name = "strip_phis_only"

    def run_pass(self, state: Any) -> bool:
        state.func_ir = self._strip_phi_nodes(state.func_ir)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        return True


_INSTEAD = {
    ReconstructSSA: _AssignOnce,
    NopythonTypeInference: _InferTypes,
    PreLowerStripPhis: _StripPhis,
}


class _Passes(PassManager):
    """One pass after the other: no clocks, no checks of what passes of numba's own leave."""

    def run(self, state: Any) -> None:
        for kind, _ in self.passes:
            step = _pass_registry.get(kind).pass_inst
            step.analysis = self._analysis
            step.run_initialization(state)
            step.run_pass(state)
            step.run_finalizer(state)


class _NoEnvironment:
    """Where a code generator is asked to link the globals of a function that has none."""

    def set_env(self, name: str, environment: object) -> None:
        """Leave it."""


class _PartLibrary(JITCodeLibrary):
    """The code of a part: linked into kernels, never optimised or run by itself."""

    codegen = _NoEnvironment()
    _numbers = itertools.count(1)

    def add_ir_module(self, module: Any) -> None:
        for function in module.functions:
            if not function.is_declaration:
                function.linkage = "linkonce_odr"
        super().add_ir_module(module)

    def add_llvm_module(self, module: Any) -> None:
        self._final_module = module

    def finalize(self) -> None:
        self._raise_if_finalized()
        # A part is ready after all that it calls.
        self.number = next(self._numbers)
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        self._ensure_finalized()
        return self._final_module

    def get_pointer_to_function(self, name: str) -> int:
        return 0


class _KernelLibrary(JITCodeLibrary):
    """The code of a kernel, with that of all parts below."""

    _linking_libraries: list[Any]

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.enable_object_caching()

    def finalize(self) -> None:
        found: set[Any] = set()
        ahead = list(self._linking_libraries)
        while ahead:
            library = ahead.pop()
            if library not in found:
                found.add(library)
                if isinstance(library, _PartLibrary):
                    ahead += library._linking_libraries
        # The linker takes of a part what is called so far: callers come first, numba's own last.
        self._linking_libraries = sorted(found, key=lambda one: -getattr(one, "number", 0))
        super().finalize()


class _Compiler(CompilerBase):
    """numba's compiler with the passes that kernels need, into a library of our own."""

    library: type[JITCodeLibrary]

    def define_pipelines(self) -> list[Any]:
        state = self.state
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        needless = _NEEDLESS if state.flags.nrt else _NEEDLESS | {_COUNTING}
        passes = _Passes("nopython")
        for step, _ in DefaultPassBuilder.define_nopython_pipeline(state).passes:
            if step.__name__ not in needless:
                passes.add_pass(_INSTEAD.get(step, step))
        passes.finalize()
        return [passes]


class PartCompiler(_Compiler):
    """Translates parts of kernels."""

    library = _PartLibrary


class KernelCompiler(_Compiler):
    """Translates kernels, links their parts and optimises the whole."""

    library = _KernelLibrary
