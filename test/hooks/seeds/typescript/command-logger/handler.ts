/**
 * Writes down which slash commands are used.
 */
import { appendFileSync, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { HookEvents } from '#sdk'

const folder = join(homedir(), '.hermes', 'logs')

export function handle(_event: string, context: HookEvents['command:status']): void {
  mkdirSync(folder, { recursive: true })
  const { command, args, platform, user_id: user } = context
  const entry = { ts: new Date().toISOString(), command, args, platform, user }
  appendFileSync(join(folder, 'command_usage.jsonl'), `${JSON.stringify(entry)}\n`)
}
