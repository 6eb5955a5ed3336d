/**
 * The pause of the agent, in a file of the home, so that it outlasts a restart and can be set while the daemon does not run.
 */
import { rmSync } from 'node:fs'
import { readTextIfExists, writeFileAtomic } from '../lib/files.ts'
import { isRecord, parseJson } from '../lib/json.ts'
import type { Pause } from './running-turns.ts'

const maxBytes = 65_536

/** Null if there is no file. A file without valid content pauses too. Throws the system's error. */
export function readPause(path: string): Pause | null {
  const text = readTextIfExists(path, maxBytes)
  if (text === undefined) return null
  const stored = parseJson(text)
  const { since, reason }: Readonly<Record<string, unknown>> = isRecord(stored) ? stored : {}
  return { since: typeof since === 'number' ? since : 0, reason: typeof reason === 'string' ? reason : '' }
}

/** Null ends the pause. Throws the system's error. */
export function writePause(path: string, pause: Pause | null): void {
  if (pause === null) rmSync(path, { force: true })
  else writeFileAtomic(path, `${JSON.stringify(pause)}\n`)
}
