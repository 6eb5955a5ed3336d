/**
 * How deep a line of JSON is nested, found without parsing it: brackets within brackets cost the parser a thousand times
 * what they cost the sender, and whoever goes through such a value afterwards runs out of stack.
 */

const quote = 0x22
const backslash = 0x5c
/** Far more than anything that means something. */
const maxDepth = 1_000

/** Looks no further than it has to; text that is no JSON gets some answer. */
export function exceedsMaxDepth(line: string): boolean {
  // As many brackets must close again.
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

/** Where the text that begins here ends; most of a long line is text, which is leapt over. */
function endOfString(line: string, start: number): number {
  for (let end = line.indexOf('"', start + 1); end !== -1; end = line.indexOf('"', end + 1)) {
    let before = end - 1
    while (line.charCodeAt(before) === backslash) before -= 1
    if ((end - before) % 2 === 1) return end
  }
  return line.length
}
