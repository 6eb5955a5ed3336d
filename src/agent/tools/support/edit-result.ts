/**
 * What the tools that change files have in common: the checkpoint before a change, and the difference in the result.
 */
import type { ToolContext } from '../tool.ts'
import { type TextChange, unifiedDiff } from './unified-diff.ts'

export const maxFileBytes = 16 * 1024 * 1024
/**
 * Hermes has the diff for `patch` alone and without a limit. A patch may match another text than the model expects,
 * and `write_file` may replace text that it has not read; the page and editors show it to people. More would fill the
 * window.
 */
const maxDiffChars = 6_000

/** The field of the result with the difference of these files; absent if none differs. Never longer than the result may be. */
export function diffField(
  changes: readonly TextChange[],
  { maxResultChars }: ToolContext['limits'],
): { readonly diff?: string } {
  let left = Math.min(maxDiffChars, Math.floor(maxResultChars / 2))
  let diff = ''
  for (const change of changes) {
    const part = unifiedDiff(change, Math.max(left, 200))
    left -= part.length
    if (left < 0 && diff !== '') return { diff: `${diff}[the other files are left out]\n` }
    diff += part
  }
  return diff === '' ? {} : { diff }
}
