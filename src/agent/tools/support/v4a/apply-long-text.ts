/**
 * Applies hunks without holding the event loop: to a long text in a thread of its own.
 */
import { z } from 'zod'
import { type AppliedHunks, applyHunks } from './apply.ts'
import type { Hunk } from './parse.ts'

/** This takes a few milliseconds. Starting a thread takes about 50. */
const maxWorkInline = 512 * 1024
const timeoutMs = 30_000

const resultSchema = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), text: z.string(), loose: z.number() }),
  z.object({
    ok: z.literal(false),
    code: z.enum(['not_found', 'ambiguous', 'overlapping', 'unchanged', 'too_large']),
    line: z.number(),
    reason: z.string(),
  }),
])

/** Rejects with `agent/tool-failed` when the thread takes too long or too much memory, or with the signal's reason. */
export async function applyHunksToLongText(
  request: { readonly text: string; readonly hunks: readonly Hunk[]; readonly path: string },
  signal: AbortSignal,
): Promise<AppliedHunks> {
  const { text, hunks, path } = request
  if (text.length * hunks.length <= maxWorkInline) return applyHunks(text, hunks, path)
  const { runInThread } = await import('../../../../lib/worker.ts')
  const file = new URL('./apply-worker.ts', import.meta.url)
  return resultSchema.parse(await runInThread(file, request, timeoutMs, signal))
}
