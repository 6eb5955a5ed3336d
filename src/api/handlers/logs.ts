/**
 * `/api/logs`: the log of the gateway in pages.
 */
import { z } from 'zod'
import { asString } from '../../lib/json.ts'
import { matchLogLine } from '../../lib/log-files.ts'
import type { ApiServices } from '../services.ts'
import type { ApiLogs, LogsQuery } from '../shapes/logs.ts'
import { askReader } from './ask-reader.ts'
import { cleanText } from './clean-texts.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'

const logPage = z.object({
  lines: z.array(z.object({ text: z.string(), position: z.object({ inode: z.string(), line: z.int() }) })),
  hasMore: z.boolean(),
})
const position = z.tuple([z.string(), z.int()])

export async function listLogs(
  services: ApiServices,
  { level, event, session, limit, cursor }: LogsQuery,
  signal: AbortSignal,
): Promise<ApiLogs> {
  const list = ['logs', level, event, session]
  const [inode, line] = decodeCursor(list, cursor, position) ?? []
  const before = inode === undefined || line === undefined ? undefined : { inode, line }
  const request = { about: 'logs', directory: services.home.logs, level, event, session, before, limit } as const
  const { lines, hasMore } = await askReader(services, request, logPage, signal)
  const last = hasMore ? lines.at(-1)?.position : undefined
  return {
    lines: lines.flatMap(({ text, position }) => toLine(services, text, `${position.inode}:${position.line}`)),
    next_cursor: last === undefined ? null : encodeCursor(list, [last.inode, last.line]),
  }
}

/** Secrets were removed when the line was written; those that are known since are removed now. */
function toLine({ outbox, redact }: ApiServices, text: string, id: string): ApiLogs['lines'] {
  const known = matchLogLine(redact(text), {})
  if (known === undefined) return []
  const {
    time,
    event,
    msg,
    level: _level,
    session,
    sessionKey,
    sessionId,
    session_key,
    session_id,
    turn,
    ...others
  } = known.fields
  const named = [session, sessionKey, session_key, sessionId, session_id].find((value) => typeof value === 'string')
  return [
    {
      id,
      time: asString(time),
      level: known.level,
      event: asString(event),
      message: cleanText(outbox.withhold, asString(msg)),
      session: asString(named) || null,
      turn: asString(turn) || null,
      fields: Object.keys(others).length === 0 ? '' : cleanText(outbox.withhold, JSON.stringify(others)),
    },
  ]
}
