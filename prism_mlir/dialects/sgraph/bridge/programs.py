"""Tensor programs: ``graph.program.Program`` and ``sgraph.program``."""

from __future__ import annotations

from xdsl.ir import Block, Region, SSAValue

from prism_mlir.dialects.sgraph.attributes import InputView, OutputView
from prism_mlir.dialects.sgraph.bridge.elements import dtype_of, tensor_type, to_dtype, to_element_type
from prism_mlir.dialects.sgraph.bridge.operators import build_operator, operator_of
from prism_mlir.dialects.sgraph.operator_ops import OperatorOp, UnaryOp
from prism_mlir.dialects.sgraph.program_ops import ProgramOp, ReturnOp
from prism_mlir.dialects.sgraph.types import shape_of
from prism_mlir.graph.program import Program, ProgramInput, ProgramNode, ProgramOutput


def program_to_ir(program: Program) -> ProgramOp:
    """``sgraph.program`` for a program. Raises :class:`InputError` where an operator's operands do not fit."""
    block = Block(arg_types=[tensor_type(i.shape, i.dtype) for i in program.inputs])
    values: list[SSAValue] = list(block.args)
    for spec, argument in zip(program.inputs, block.args, strict=True):
        name_hint(argument, spec.name)
    for k, node in enumerate(program.nodes):
        result_type = tensor_type(program.shapes[len(program.inputs) + k], node.dtype)
        op = build_operator(node.op, [values[v] for v in node.operands], result_type, node.shift)
        block.add_op(op)
        values.append(op.result)
    outputs = [
        OutputView(o.name, to_element_type(o.dtype), o.shape, o.strides, o.offset, o.result) for o in program.outputs
    ]
    block.add_op(ReturnOp([values[o.value] for o in program.outputs], outputs))
    views = [InputView(i.name, i.arg, i.arg_shape, i.strides, i.offset, i.data) for i in program.inputs]
    return ProgramOp(program.name, views, Region([block]))


def ir_to_program(op: ProgramOp) -> Program:
    """The program that a verified ``sgraph.program`` holds."""
    number: dict[SSAValue, int] = {a: k for k, a in enumerate(op.body.block.args)}
    inputs = [
        ProgramInput(v.name, shape_of(a.type), dtype_of(a.type), v.arg, v.shape, v.strides, v.offset, v.data)
        for a, v in zip(op.body.block.args, (i.data for i in op.inputs), strict=True)
    ]
    nodes: list[ProgramNode] = []
    outputs: list[ProgramOutput] = []
    for inner in op.body.block.ops:
        operands = tuple(number[v] for v in inner.operands)
        if isinstance(inner, OperatorOp):
            shift = inner.shift.value.data if isinstance(inner, UnaryOp) and inner.shift is not None else None
            number[inner.result] = len(inputs) + len(nodes)
            nodes.append(ProgramNode(operator_of(inner), operands, dtype_of(inner.result.type), shift))
        elif isinstance(inner, ReturnOp):
            views = (o.data for o in inner.outputs)
            outputs = [
                ProgramOutput(v, to_dtype(o.element_type), o.shape, o.strides, o.name, o.offset, o.result)
                for v, o in zip(operands, views, strict=True)
            ]
    return Program(op.sym_name.data, tuple(inputs), tuple(nodes), tuple(outputs))


def name_hint(value: SSAValue, name: str) -> None:
    """Print the value under this name, where that is an identifier."""
    if SSAValue.is_valid_name(name):
        value.name_hint = name
