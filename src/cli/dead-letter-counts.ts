/**
 * How much waits for a person: counted from the database, with or without a daemon.
 */
import { listUnfinishedEvents } from '../inbox/dead-letters.ts'
import { isHermesError } from '../lib/errors.ts'
import type { HomeLayout } from '../lib/home.ts'
import { listDeadLetterRows } from '../outbox/dead-letters.ts'
import { readHomeStore } from './home-store.ts'

export interface DeadLetterCounts {
  /** Messages that are to be worked on. */
  readonly open: number
  /** Messages set aside. */
  readonly parked: number
  /** Replies that could not be delivered. */
  readonly dead: number
}

/** Nobody counts further by hand. */
const maxCount = 1_000

/** The counts, at most 1,000 each, or the reason why they cannot be had. Never throws for what the database says. */
export function countDeadLetters(home: HomeLayout): DeadLetterCounts | { readonly problem: string } {
  try {
    return readHomeStore(
      home,
      (reader) => {
        const events = reader.rows(listUnfinishedEvents, { limit: maxCount })
        const parked = events.filter(({ state }) => state === 'parked').length
        return {
          open: events.length - parked,
          parked,
          dead: reader.rows(listDeadLetterRows, { limit: maxCount }).length,
        }
      },
      { open: 0, parked: 0, dead: 0 },
    )
  } catch (error) {
    if (isHermesError(error)) return { problem: `${error.message} ${error.hint}` }
    throw error
  }
}

/** `1 message was set aside (hermes inbox list)`; empty when nothing waits. */
export function describeDeadLetters(found: ReturnType<typeof countDeadLetters>): string[] {
  if ('problem' in found) return [found.problem]
  const lines: string[] = []
  if (found.parked > 0)
    lines.push(`${pluralize(found.parked, 'message was', 'messages were')} set aside: hermes inbox list`)
  if (found.dead > 0) {
    lines.push(`${pluralize(found.dead, 'reply', 'replies')} could not be delivered: hermes outbox list`)
  }
  return lines
}

function pluralize(count: number, one: string, many: string): string {
  return count === 1 ? `1 ${one}` : `${count >= maxCount ? `${maxCount} or more` : count} ${many}`
}
