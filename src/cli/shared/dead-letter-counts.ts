/**
 * Counts the dead letters and the open messages in the database, with or without a running daemon.
 */
import { listUnfinishedEvents } from '../../inbox/dead-letters.ts'
import { isHermesError } from '../../lib/errors.ts'
import type { HomeLayout } from '../../lib/home.ts'
import { listDeadLetterRows } from '../../outbox/dead-letters.ts'
import { readHomeStore } from '../kit/home-store.ts'

/** `waiting` of `hermes status --json`. */
export interface DeadLetterCounts {
  /** Messages that are queued or being processed. */
  readonly open: number
  /** Dead letters of the inbox: messages whose processing failed too often. */
  readonly dead_letters: number
  /** Dead letters of the outbox: replies that could not be delivered. */
  readonly dead: number
  /** Deprecated name of `dead_letters`; to be removed with the next minor version. */
  readonly parked: number
}

/** Keeps the queries cheap; a larger count would tell a user nothing more. */
const maxCount = 1_000

/** The counts, at most 1,000 each, or the reason why the database cannot be read. Never throws `store/…`. */
export function countDeadLetters(home: HomeLayout): DeadLetterCounts | { readonly problem: string } {
  try {
    return readHomeStore(
      home,
      (reader) => {
        const events = reader.rows(listUnfinishedEvents, { limit: maxCount })
        const deadEvents = events.filter(({ state }) => state === 'dead').length
        return {
          open: events.length - deadEvents,
          dead_letters: deadEvents,
          dead: reader.rows(listDeadLetterRows, { limit: maxCount }).length,
          parked: deadEvents,
        }
      },
      { open: 0, dead_letters: 0, dead: 0, parked: 0 },
    )
  } catch (error) {
    if (isHermesError(error)) return { problem: `${error.message} ${error.hint} (${error.code})` }
    throw error
  }
}

/** One line per kind, such as `1 message is a dead letter: hermes inbox list`; empty when there are none. */
export function describeDeadLetters(counts: ReturnType<typeof countDeadLetters>): string[] {
  if ('problem' in counts) return [counts.problem]
  const { dead_letters: messages, dead: replies } = counts
  const lines: string[] = []
  if (messages > 0)
    lines.push(`${pluralize(messages, 'message is a dead letter', 'messages are dead letters')}: hermes inbox list`)
  if (replies > 0)
    lines.push(`${pluralize(replies, 'reply is a dead letter', 'replies are dead letters')}: hermes outbox list`)
  return lines
}

function pluralize(count: number, singular: string, many: string): string {
  return count === 1 ? `1 ${singular}` : `${count >= maxCount ? `${maxCount} or more` : count} ${many}`
}
