/**
 * `hermes inbox audit`: whether every accepted message ended as promised, and why others have not ended yet. Only reads.
 */
import { type AuditedEvent, auditInbox, auditStart } from '../inbox/audit.ts'
import { listOpenReasons, type OpenReason } from '../inbox/open-reasons.ts'
import { exitCodes } from '../lib/exit-codes.ts'
import type { Ending } from '../message/ending.ts'
import { readPause } from '../sessions/pause-file.ts'
import type { StoreReader } from '../store/sqlite/reader.ts'
import type { CliContext } from './kit/context.ts'
import { createDisplay, type Display } from './kit/display.ts'
import { readHomeStore } from './kit/home-store.ts'
import { assertHomeUsable } from './kit/settings.ts'
import { parseSince } from './kit/since.ts'

export interface InboxAuditOptions {
  readonly json: boolean
  readonly since?: string
}

interface AuditReport {
  readonly accepted: number
  readonly endings: Readonly<Record<Ending, number>>
  /** Counts how the turns of absorbed events ended. */
  readonly absorbedInto: Readonly<Partial<Record<Ending, number>>>
  readonly open: readonly (OpenReason & { readonly sessionKey: string })[]
  readonly unaccounted: readonly AuditedEvent[]
}

/** So many events are read at once: one read of everything would keep the database from cleaning up. */
const pageSize = 1_000

/** Exit code 1 when a message is not accounted for. Throws `cli/usage` for a time that cannot be read, `store/…`. */
export async function inboxAudit(context: CliContext, { json, since }: InboxAuditOptions): Promise<void> {
  assertHomeUsable(context)
  const now = Date.now()
  const from = since === undefined ? 0 : parseSince(since, now)
  const report = readHomeStore(context.home, (reader) => readReport(reader, from, now), emptyReport())
  if (report.unaccounted.length > 0) context.exitCode = exitCodes.failed
  const display = createDisplay(context.output, context.environment)
  const paused = readPause(context.home.pauseFile) !== null
  if (json) display.json({ ...report, paused })
  else print(display, report, paused)
}

function emptyReport(): AuditReport {
  const endings = { answered: 0, failed: 0, silent: 0, absorbed: 0, open: 0, unaccounted: 0 }
  return { accepted: 0, endings, absorbedInto: {}, open: [], unaccounted: [] }
}

function readReport(reader: StoreReader, since: number, now: number): AuditReport {
  const { endings, absorbedInto } = { endings: { ...emptyReport().endings }, absorbedInto: new Map<Ending, number>() }
  const open: AuditReport['open'][number][] = []
  const unaccounted: AuditedEvent[] = []
  let after = reader.run(() => auditStart(since))
  let accepted = 0
  while (after !== undefined) {
    const start: number = after
    const page = reader.run(function* () {
      const events = yield* auditInbox(start, pageSize)
      const reasons = events.some(({ ending }) => ending === 'open') ? yield* listOpenReasons(now) : []
      return { events, reasons: new Map(reasons.map((reason) => [reason.seq, reason])) }
    })
    for (const event of page.events) {
      accepted += 1
      endings[event.ending] += 1
      if (event.ending === 'absorbed') absorbedInto.set(event.finally, (absorbedInto.get(event.finally) ?? 0) + 1)
      if (event.ending === 'unaccounted') unaccounted.push(event)
      // A message that was interrupted by one that waits is not in the list of reasons itself.
      const { seq, sessionKey, reason } = event
      if (event.ending === 'open') open.push({ acceptedAt: 0, reason, ...page.reasons.get(seq), seq, sessionKey })
    }
    after = page.events.at(-1)?.seq
  }
  return { accepted, endings, absorbedInto: Object.fromEntries(absorbedInto), open, unaccounted }
}

function print(display: Display, { accepted, endings, absorbedInto, open, unaccounted }: AuditReport, paused: boolean) {
  const into = Object.entries(absorbedInto).map(([ending, count]) => `${count} ${ending}`)
  display.fields([
    ['Accepted', String(accepted)],
    ['Answered', String(endings.answered)],
    ['Failed with a notice', String(endings.failed)],
    ['Intentionally silent', String(endings.silent)],
    ['Absorbed into a turn', into.length === 0 ? '0' : `${endings.absorbed} (${into.join(', ')})`],
    ['Not ended yet', paused && endings.open > 0 ? `${endings.open}; the agent is paused` : String(endings.open)],
    ['Not accounted for', { text: String(endings.unaccounted), tone: endings.unaccounted === 0 ? 'good' : 'bad' }],
  ])
  const rows = [...unaccounted, ...open].map(({ seq, sessionKey, reason }) => [String(seq), sessionKey, reason])
  if (rows.length === 0) return
  display.line()
  display.table(['NUMBER', 'CONVERSATION', 'WHY'], rows)
}
