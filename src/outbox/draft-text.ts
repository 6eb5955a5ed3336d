/**
 * How much of a growing reply one message can show.
 */
import type { MessageLimits } from '../platforms/adapter.ts'
import { fitEnd, graphemeBoundary, measureOf } from './measure.ts'

/** Left free below the limit, for what rendering adds to a text that is cut anywhere. */
const renderMargin = 100
const minChars = 500

/** The text with its cursor, and whether it has reached the end of what fits. */
export function formatDraftText(
  fullText: string,
  { maxChars, unit }: MessageLimits,
  cursor: string,
): { text: string; full: boolean } {
  const measure = measureOf(unit)
  const available = maxChars - measure(cursor)
  const safe = Math.min(available, Math.max(minChars, available - renderMargin))
  const fits = fitEnd(fullText, 0, safe, measure)
  const end = graphemeBoundary(fullText, 0, fits)
  return { text: `${fullText.slice(0, end).toWellFormed()}${cursor}`, full: fits < fullText.length }
}
