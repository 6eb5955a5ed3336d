/**
 * How much waits for a person: counted from the database, with or without a daemon.
 */
import { listOpenEvents } from '../inbox/letters.ts'
import { isHermesError } from '../lib/errors.ts'
import type { HomeLayout } from '../lib/home.ts'
import { listDeadRows } from '../outbox/dead-letters.ts'
import { readHome } from './home-store.ts'

export interface Attention {
  /** Messages that are to be worked on. */
  readonly open: number
  /** Messages set aside. */
  readonly parked: number
  /** Replies that could not be delivered. */
  readonly dead: number
}

/** Nobody counts further by hand. */
const limit = 1_000

/** The counts, at most 1,000 each, or the reason why they cannot be had. Never throws for what the database says. */
export function countAttention(home: HomeLayout): Attention | { readonly problem: string } {
  try {
    return readHome(
      home,
      (reader) => {
        const events = reader.rows(listOpenEvents, { limit })
        const parked = events.filter(({ state }) => state === 'parked').length
        return { open: events.length - parked, parked, dead: reader.rows(listDeadRows, { limit }).length }
      },
      { open: 0, parked: 0, dead: 0 },
    )
  } catch (error) {
    if (isHermesError(error)) return { problem: `${error.message} ${error.hint}` }
    throw error
  }
}

/** `1 message was set aside (hermes inbox list)`; empty when nothing waits. */
export function attentionLines(found: ReturnType<typeof countAttention>): string[] {
  if ('problem' in found) return [found.problem]
  const lines: string[] = []
  if (found.parked > 0)
    lines.push(`${counted(found.parked, 'message was', 'messages were')} set aside: hermes inbox list`)
  if (found.dead > 0) {
    lines.push(`${counted(found.dead, 'reply', 'replies')} could not be delivered: hermes outbox list`)
  }
  return lines
}

function counted(count: number, one: string, many: string): string {
  return count === 1 ? `1 ${one}` : `${count >= limit ? `${limit} or more` : count} ${many}`
}
