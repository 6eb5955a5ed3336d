/**
 * Checks the nesting depth of JSON without parsing it. Deep nesting is cheap to send and expensive to parse, and code that
 * visits such a value overflows the stack.
 */

const quote = 0x22
const backslash = 0x5c
/** Far above the depth of meaningful values. */
const maxDepth = 1_000

/** The result for text that is not JSON is undefined but harmless. */
export function exceedsMaxDepth(line: string): boolean {
  // Each opening bracket needs a closing one.
  if (line.length < 2 * maxDepth) return false
  let depth = 0
  for (let at = 0; at < line.length; at++) {
    const sign = line.charCodeAt(at)
    if (sign === quote) at = endOfString(line, at)
    else if (sign === 0x5b || sign === 0x7b) {
      depth += 1
      if (depth > maxDepth) return true
    } else if (sign === 0x5d || sign === 0x7d) depth -= 1
  }
  return false
}

/** Skips a string with `indexOf`, because long lines consist mostly of strings. */
function endOfString(line: string, start: number): number {
  for (let end = line.indexOf('"', start + 1); end !== -1; end = line.indexOf('"', end + 1)) {
    let before = end - 1
    while (line.charCodeAt(before) === backslash) before -= 1
    if ((end - before) % 2 === 1) return end
  }
  return line.length
}
