/**
 * Sends messages at a fixed rate to a gateway with the platform `direct`, and checks in its database that nothing was lost and
 * that the messages of each conversation were answered in their order.
 */
import { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import { auditInbox } from '../../../src/inbox/audit.ts'
import { openReader } from '../../../src/store/sqlite/reader.ts'
import type { BenchGateway } from './gateway.ts'

export interface RateLoad {
  readonly run: string
  readonly conversations: number
  readonly perSecond: number
  readonly seconds: number
  /** Messages of one more person in the first second. */
  readonly flood: number
}

const resultSchema = z.object({ answered: z.array(z.number()), sent: z.number(), ms: z.number() })

/** `queue`: each message has a turn of its own, so that order and loss can be counted. */
export const rateConfig =
  'platforms: { direct: { enabled: true } }\ndisplay: { busy_input_mode: queue, busy_ack_enabled: false }'

/** Resolves when all messages except those of the flood are answered; times from the message to its reply, ms. */
export function sendAtRate(gateway: BenchGateway, load: RateLoad): Promise<z.infer<typeof resultSchema>> {
  return gateway.request('rate', { ...load }, resultSchema)
}

export interface Account {
  readonly accepted: number
  /** Messages that neither ended as promised nor wait. */
  readonly lost: number
  /** Messages whose turn began before that of an earlier message of their conversation. */
  readonly outOfOrder: number
}

export function accountFor(databaseFile: string): Account {
  const reader = openReader(databaseFile)
  let accepted = 0
  let lost = 0
  try {
    for (let after = 0; ; ) {
      const from = after
      const page = reader.run(() => auditInbox(from, 5_000))
      accepted += page.length
      lost += page.filter(({ ending }) => ending === 'unaccounted').length
      const last = page.at(-1)
      if (last === undefined) break
      after = last.seq
    }
  } finally {
    reader.close()
  }
  return { accepted, lost, outOfOrder: countInversions(databaseFile) }
}

/** The ids of turns sort by the time at which they began. */
function countInversions(databaseFile: string): number {
  const db = new DatabaseSync(databaseFile, { readOnly: true })
  try {
    const found = db
      .prepare(
        `select count(*) as inversions from (
           select turn_id, lag(turn_id) over (partition by session_key order by seq) as earlier
           from inbox where lane = 'turn' and turn_id is not null
         ) where turn_id < earlier`,
      )
      .get()
    return Number(found?.['inversions'])
  } finally {
    db.close()
  }
}
