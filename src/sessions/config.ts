/**
 * The configuration section for sessions: which messages share one, and how long data is kept.
 */
import { z } from 'zod'
import type { ConfigOf } from '../config/section.ts'

export const sessionsConfig = {
  group_sessions_per_user: z
    .boolean()
    .default(true)
    .describe('Each user of a group or channel has a separate session.'),
  thread_sessions_per_user: z
    .boolean()
    .default(false)
    .describe('Each user of a thread has a separate session; otherwise a thread is one shared session.'),
  retention: z
    .object({
      days: z.int().min(1).default(30).describe('Days that finished inbox and outbox rows and event keys are kept.'),
      media_days: z.int().min(1).default(30).describe('Days that downloaded files are kept.'),
    })
    .prefault({}),
} as const

export type SessionsConfig = ConfigOf<typeof sessionsConfig>
