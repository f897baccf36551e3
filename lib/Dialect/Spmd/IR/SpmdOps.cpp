// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Spmd/IR/Moves.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::spmd;

ParseResult shoal::spmd::parseMoves(AsmParser &parser, ArrayAttr &moves) {
  SmallVector<Attribute> list;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() {
        int64_t source, target;
        auto axes = cast_if_present<AxesAttr>(AxesAttr::parse(parser, {}));
        if (!axes || parser.parseColon() || parser.parseInteger(source) ||
            parser.parseArrow() || parser.parseInteger(target))
          return failure();
        list.push_back(
            MoveAttr::get(parser.getContext(), axes, source, target));
        return success();
      }))
    return failure();
  moves = ArrayAttr::get(parser.getContext(), list);
  return success();
}

void shoal::spmd::printMoves(AsmPrinter &printer, Operation *,
                             ArrayAttr moves) {
  printer << '[';
  llvm::interleaveComma(moves.getAsRange<MoveAttr>(), printer,
                        [&](MoveAttr move) {
                          move.getAxes().print(printer);
                          printer << " : " << move.getSourceDim() << " -> "
                                  << move.getTargetDim();
                        });
  printer << ']';
}

#define GET_OP_CLASSES
#include "shoal/Dialect/Spmd/IR/SpmdOps.cpp.inc"
