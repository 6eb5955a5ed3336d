/**
 * The messages that were written in the terminal, for the arrow keys: `chat_history.jsonl` of the home, mode 0600. A
 * message that may hold a secret, and one that begins with a space, is not kept.
 */

import { appendFileSync } from 'node:fs'
import { readTextIfExists, writeFileAtomic } from '../../lib/files.ts'
import { parseJson } from '../../lib/json.ts'

export interface InputHistory {
  /** The oldest first. */
  read(): readonly string[]
  /** Throws the system's error. */
  add(text: string): Promise<void>
}

/** The editor offers as many. */
const maxRead = 100
const maxKept = 500
const maxChars = 4_000

export function createInputHistory(file: string): InputHistory {
  return {
    read: () => readEntries(file).slice(-maxRead),
    async add(text) {
      if (text.startsWith(' ') || text.length > maxChars) return
      const { findSecretRanges } = await import('../../lib/find-secrets.ts')
      if (findSecretRanges(text).length > 0) return
      const entries = readEntries(file)
      if (entries.at(-1) === text) return
      const line = `${JSON.stringify(text)}\n`
      if (entries.length < maxKept * 2) return appendFileSync(file, line, { mode: 0o600 })
      const entryList = [...entries.slice(1 - maxKept), text]
      writeFileAtomic(file, entryList.map((entry) => `${JSON.stringify(entry)}\n`).join(''))
    },
  }
}

/** Lines that are no JSON texts are ignored: another process may be writing one. */
function readEntries(file: string): string[] {
  const lines = (readTextIfExists(file) ?? '').split('\n')
  return lines.flatMap((line) => {
    const entry = parseJson(line)
    return typeof entry === 'string' && entry !== '' ? [entry] : []
  })
}
