/**
 * The configuration section for sessions: which messages share one, and how long data is kept.
 */
import { z } from 'zod'
import type { ConfigOf } from '../config/section.ts'

const resetMode = z.enum(['none', 'daily', 'idle', 'both'])
const atHour = z.int().min(0).max(23)
const idleMinutes = z.int().min(1).max(5_256_000)

const resetOverride = z.object({
  mode: resetMode.optional(),
  at_hour: atHour.optional(),
  idle_minutes: idleMinutes.optional(),
  notify: z.boolean().optional(),
})

export const sessionsConfig = {
  session_reset: z
    .object({
      mode: resetMode
        .default('none')
        .describe(
          'When the next message begins a new session by itself: none, daily (the first message after `at_hour`), idle (after `idle_minutes` without activity) or both. Never while a command of the session runs in the background.',
        ),
      at_hour: atHour.default(4).describe('The hour of the daily reset, 0 to 23, in the time zone of the machine.'),
      idle_minutes: idleMinutes.default(1440).describe('Minutes without activity after which a session ends.'),
      notify: z.boolean().default(true).describe('The user gets a notice of an automatic reset.'),
      notify_exclude_platforms: z
        .array(z.string())
        .default(['webhook'])
        .describe(
          'Platforms on which no notice of an automatic reset is sent. A program that waits for one answer, such as a client of the HTTP API, never gets it.',
        ),
    })
    .prefault({}),
  reset_by_platform: z
    .record(z.string(), resetOverride)
    .default({})
    .describe(
      'Values of `session_reset` for one platform, by its name, with `mode`, `at_hour`, `idle_minutes` and `notify`. They win over `reset_by_type`.',
    ),
  reset_by_type: z
    .object({ dm: resetOverride.optional(), group: resetOverride.optional(), thread: resetOverride.optional() })
    .prefault({})
    .describe('Values of `session_reset` for direct messages, groups and channels, or threads.'),
  reset_triggers: z
    .array(z.string().min(1).max(200))
    .default(['/new', '/reset'])
    .describe('Messages that mean `/new` when they are the whole text, such as `new chat`. The case does not matter.'),
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
      media_days: z
        .int()
        .min(1)
        .default(30)
        .describe('Days that downloaded files, and results of tools that were too long for the model, are kept.'),
    })
    .prefault({}),
} as const

export type SessionsConfig = ConfigOf<typeof sessionsConfig>

export type ResetPolicy = SessionsConfig['session_reset']
