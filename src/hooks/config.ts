/**
 * The hooks' part of the configuration.
 */
import { z } from 'zod'
import type { ConfigOf } from '../config/section.ts'

export const hooksConfig = {
  hooks: z
    .object({
      env: z
        .enum(['all', 'declared'])
        .default('all')
        .describe(
          'What a hook that names no variables (`env` in HOOK.yaml) sees of the environment: all of it with .env, or none.',
        ),
      timeout: z
        .number()
        .positive()
        .max(300)
        .default(5)
        .describe('Seconds that a handler may take, unless its HOOK.yaml says otherwise (`timeout_ms`).'),
      command_timeout: z
        .number()
        .positive()
        .max(60)
        .default(5)
        .describe('Seconds that a command waits for the decision of all hooks together; then it is allowed.'),
      python: z.string().min(1).default('python3').describe('The program that runs handlers in Python.'),
    })
    .prefault({}),
} as const

export type HooksConfig = ConfigOf<typeof hooksConfig>['hooks']
