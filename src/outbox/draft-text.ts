/**
 * How much of a growing reply one message can show.
 */
import type { MessageLimits } from '../platforms/adapter.ts'
import { fitEnd, measureOf, wholeCharacterEnd } from './measure.ts'

/** Left free below the limit, for what rendering adds to a text that is cut anywhere. */
const margin = 100
const smallest = 500

/** The text with its cursor, and whether it has reached the end of what fits. */
export function draftText(
  fullText: string,
  { maxChars, unit }: MessageLimits,
  cursor: string,
): { text: string; full: boolean } {
  const measure = measureOf(unit)
  const room = maxChars - measure(cursor)
  const safe = Math.min(room, Math.max(smallest, room - margin))
  const fits = fitEnd(fullText, 0, safe, measure)
  const end = wholeCharacterEnd(fullText, 0, fits)
  return { text: `${fullText.slice(0, end).toWellFormed()}${cursor}`, full: fits < fullText.length }
}
