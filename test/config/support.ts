/**
 * A home with real files and a config shape like those of the modules.
 */
import { writeFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { z } from 'zod'
import { readEnvironment } from '../../src/config/environment.ts'
import { type ConfigIssue, formatIssue } from '../../src/config/issue.ts'
import { type ConfigOptions, createConfig } from '../../src/config/load.ts'
import type { EnvironmentBinding } from '../../src/config/overrides.ts'
import type { UnusedKey } from '../../src/config/unknown-keys.ts'
import { createHomeLayout } from '../../src/lib/home.ts'
import type { LogFields, Logger } from '../../src/lib/log.ts'
import type { LogLevel } from '../../src/lib/log-files.ts'
import { tempHome } from '../kit/temp-home.ts'

export const shapes = {
  model: z.string().default('').describe('The model to use.'),
  provider: z.enum(['openai', 'anthropic', 'demo']).optional().describe('Who runs the model.'),
  api_key: z.string().default('').describe('The key of the provider.'),
  max_iterations: z.int().min(1).max(1000).default(90).describe('Model calls per turn.'),
  http: z
    .object({
      host: z.string().min(1).default('127.0.0.1').describe('The address to listen on.'),
      port: z.int().min(0).max(65_535).default(8642).describe('The port.'),
      allowed_hosts: z.array(z.string().min(1)).default([]).describe('Further names.'),
      token: z.string().min(16).optional().describe('The bearer token.'),
    })
    .prefault({}),
  log: z.strictObject({ level: z.enum(['debug', 'info', 'warn', 'error']).default('info') }).prefault({}),
  agent: z.object({ timeout: z.number().positive().default(30), verbose: z.boolean().default(false) }).prefault({}),
  platforms: z
    .object({
      chat: z
        .object({
          enabled: z.boolean().optional(),
          token: z.string().optional(),
          pin: z.string().optional().meta({ writeOnly: true }),
          allow_from: z.array(z.string()).optional(),
          accounts: z.record(z.string(), z.object({ token: z.string().optional() })).optional(),
        })
        .optional(),
    })
    .prefault({}),
  rooms: z
    .record(z.string().regex(/^[a-z]$/, { error: 'expected a small letter' }), z.string().regex(/^\w+$/))
    .default({}),
  ids: z.union([z.array(z.string()), z.string()]).optional(),
  plugins: z.object({ entries: z.record(z.string(), z.unknown()).default({}) }).prefault({}),
} as const

export const environmentBindings: readonly EnvironmentBinding[] = [
  { variable: 'HERMES_HTTP_HOST', path: 'http.host' },
  { variable: 'HERMES_HTTP_PORT', path: 'http.port' },
  { variable: 'HERMES_LOG_LEVEL', path: 'log.level' },
  { variable: 'HERMES_VERBOSE', path: 'agent.verbose' },
  { variable: 'CHAT_BOT_TOKEN', path: ['platforms', 'chat', 'token'], kind: 'string' },
  { variable: 'CHAT_TOKEN', path: ['platforms', 'chat', 'token'], kind: 'string' },
  { variable: 'CHAT_ALLOWED_USERS', path: ['platforms', 'chat', 'allow_from'], kind: 'list' },
]

export const unusedKeys: readonly UnusedKey[] = [
  { key: 'compression', kind: 'unused', reason: 'there is none' },
  { key: 'http.proxy', kind: 'security', reason: 'there is none' },
  { key: 'platforms.*.extra', kind: 'unused', reason: 'there is none' },
]

export interface LogLine extends LogFields {
  readonly level: LogLevel
  readonly message: string
}

export function recordingLog() {
  const lines: LogLine[] = []
  const at = (level: LogLevel) => (fields: LogFields, message: string) => {
    lines.push({ ...fields, level, message })
  }
  const log: Logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), child: () => log }
  return { log, lines, messages: () => lines.map(({ message }) => message) }
}

export function createTestHome(t: TestContext) {
  const layout = createHomeLayout(tempHome(t))
  return {
    layout,
    /** Writes config.yaml. */
    config: (text: string | Uint8Array, mode = 0o600) => writeFileSync(layout.configFile, text, { mode }),
    /** Writes .env. */
    env: (text: string, mode = 0o600) => writeFileSync(layout.envFile, text, { mode }),
    load: (variables: Record<string, string> = {}, options: Partial<ConfigOptions<typeof shapes>> = {}) => {
      const { log, lines, messages } = recordingLog()
      const config = createConfig({
        home: layout,
        shapes,
        environment: () => readEnvironment(layout.envFile, variables),
        environmentBindings,
        unusedKeys,
        log,
        ...options,
      })
      t.after(() => config.stop())
      return { config, lines, messages }
    },
  }
}

export function formatAll(problems: readonly ConfigIssue[]): string[] {
  return problems.map(formatIssue)
}
