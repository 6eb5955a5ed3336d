/**
 * Reads the log of the gateway in this process: what plugins print and the retries of model calls are shown at once, and
 * warnings are kept for the end of a failed question.
 */
import { z } from 'zod'
import { formatDuration } from '../../lib/duration.ts'
import { stripControlCharacters, toSingleLine } from '../../lib/visible-text.ts'

export interface EmbeddedLog {
  /** Receives lines of the log. */
  write(text: string): void
  /** The messages of the newest warnings. */
  warnings(): readonly string[]
}

const entrySchema = z.looseObject({ level: z.string(), event: z.string().optional(), msg: z.string() })
const retrySchema = z.looseObject({ turn: z.string(), reason: z.string(), leftMs: z.number() })

/** These are shown as the result of the question, by the chat itself, or below. */
const shownElsewhere = new Set(['turn.failed', 'model.call_retried', 'plugin.not_loaded'])

const maxWarnings = 20
const retryReportIntervalMs = 15_000

export function createEmbeddedLog(errors: Pick<NodeJS.WritableStream, 'write'>, clock: () => number): EmbeddedLog {
  let warnings: readonly string[] = []
  let reported: { readonly turn: string; readonly at: number } | undefined

  function reportRetry(entry: unknown): void {
    const retry = retrySchema.safeParse(entry)
    if (!retry.success) return
    const { turn, reason, leftMs } = retry.data
    const now = clock()
    if (reported?.turn === turn && now - reported.at < retryReportIntervalMs) return
    reported = { turn, at: now }
    const left = formatDuration(Math.max(leftMs, 1_000))
    errors.write(`hermes: ${toSingleLine(reason)}. The model is called again for up to ${left}; Ctrl-C stops.\n`)
  }

  return {
    write(text) {
      for (const line of text.trimEnd().split('\n')) {
        const entry = entrySchema.safeParse(JSON.parse(line))
        if (!entry.success) continue
        const { level, event = '', msg } = entry.data
        if (level === 'warn' && !shownElsewhere.has(event)) warnings = [...warnings, msg].slice(-maxWarnings)
        if (event === 'model.call_retried') reportRetry(entry.data)
        if ('plugin' in entry.data && 'stream' in entry.data) errors.write(`${stripControlCharacters(msg)}\n`)
      }
    },
    warnings: () => warnings,
  }
}
