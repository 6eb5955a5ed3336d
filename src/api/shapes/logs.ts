/**
 * The shapes of `/api/logs`.
 */
import { z } from 'zod'
import { logLevels } from '../../lib/log-files.ts'
import { cursor, limit, nextCursor } from './pages.ts'

const name = z.string().trim().min(1).max(500)

export const logsQuery = z.strictObject({
  level: z.enum(logLevels).optional().describe('The lowest level.'),
  event: name.optional().describe('With `*` at the end: all events that begin so.'),
  session: name.optional().describe('The id or the key of a session.'),
  limit,
  cursor: cursor.optional(),
})
export type LogsQuery = z.output<typeof logsQuery>

export const logsResponse = z.object({
  lines: z
    .array(
      z.object({
        id: z.string(),
        time: z.string(),
        level: z.enum(logLevels),
        event: z.string(),
        message: z.string(),
        session: z.string().nullable(),
        turn: z.string().nullable(),
        fields: z.string().describe('The other fields, as JSON.'),
      }),
    )
    .describe('The newest first.'),
  next_cursor: nextCursor,
})
export type ApiLogs = z.output<typeof logsResponse>
