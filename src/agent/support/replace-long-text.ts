/**
 * Replaces a part of a text without holding the event loop: a long text in a thread of its own.
 */
import { z } from 'zod'
import { type Replacement, type ReplaceTextResult, replaceText } from './replace-text.ts'

/** This takes a few milliseconds. Starting a thread takes about 50. */
const maxCharsInline = 64 * 1024
const timeoutMs = 30_000

const resultSchema = z.discriminatedUnion('ok', [
  z.object({
    ok: z.literal(true),
    text: z.string(),
    count: z.number(),
    lines: z.array(z.number()),
    exact: z.boolean(),
  }),
  z.object({
    ok: z.literal(false),
    code: z.enum(['unchanged', 'not_found', 'ambiguous', 'too_large']),
    reason: z.string(),
  }),
])

/** Rejects with `agent/tool-failed` when the thread takes too long or too much memory, or with the signal's reason. */
export async function replaceLongText(request: Replacement, signal: AbortSignal): Promise<ReplaceTextResult> {
  const { text, search, replacement } = request
  if (text.length + search.length + replacement.length <= maxCharsInline) return replaceText(request)
  const { runInThread } = await import('../../lib/worker.ts')
  const file = new URL('./replace-text-worker.ts', import.meta.url)
  return resultSchema.parse(await runInThread(file, request, timeoutMs, signal))
}
