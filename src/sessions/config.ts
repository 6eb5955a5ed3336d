/**
 * The part of the configuration that says which messages share a conversation.
 */
import { z } from 'zod'
import type { ConfigOf } from '../config/section.ts'

export const sessionsConfig = {
  group_sessions_per_user: z
    .boolean()
    .default(true)
    .describe('In groups and channels everybody talks in a session of their own.'),
  thread_sessions_per_user: z
    .boolean()
    .default(false)
    .describe('The same inside threads; off, a thread is one shared session.'),
  retention: z
    .object({
      days: z.int().min(1).default(30).describe('Days that finished inbox and outbox rows and event keys are kept.'),
      media_days: z.int().min(1).default(30).describe('Days that downloaded files are kept.'),
    })
    .prefault({}),
} as const

export type SessionsConfig = ConfigOf<typeof sessionsConfig>
