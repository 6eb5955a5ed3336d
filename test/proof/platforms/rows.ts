/**
 * Long answers in several messages: each of their rows must arrive once. Pure functions.
 */
import type { SentMessage } from '../../crash/chat-server.ts'
import { tokenOf, type UserMessage } from '../delivery-counts.ts'

/** Numbered rows for this token with at least this number of characters. */
export function rowsFor(token: string, chars: number): string[] {
  const rows: string[] = []
  for (let length = 0; length < chars; length += rows.at(-1)?.length ?? 0) {
    rows.push(`Row ${rows.length + 1} of ${token} has some words of its own.`)
  }
  return rows
}

const label = 'May be a duplicate'

/** The failures in the rows of the long answers, as `t3n4: row 7 is missing`. A labelled message may be a duplicate. */
export function wrongRows(written: readonly UserMessage[], messages: readonly SentMessage[], chars: number): string[] {
  const seen = new Map<string, number>()
  const add = (row: string, times: number) => seen.set(row, (seen.get(row) ?? 0) + times)
  for (const [index, { text, draft, chat }] of messages.entries()) {
    if (draft) continue
    const before = messages[index - 1]
    // The label of a full message is a separate message before it.
    const isAnnounced = before?.chat === chat && before.text.includes(label) && !before.text.includes('Row ')
    const isLabelled = isAnnounced || text.includes(label)
    for (const [, row = '', token = ''] of text.matchAll(/Row (\d+) of (\w+) has/g)) {
      const name = `${token}: row ${row}`
      if (!isLabelled || !seen.has(name)) add(name, 1)
    }
  }
  return written
    .filter(({ kind }) => kind === 'long')
    .flatMap((one) => {
      const token = tokenOf(one)
      return rowsFor(token, chars).flatMap((_, index) => {
        const times = seen.get(`${token}: row ${index + 1}`) ?? 0
        if (times === 1) return []
        return [`${token}: row ${index + 1} ${times === 0 ? 'is missing' : `arrived ${times} times`}`]
      })
    })
}
