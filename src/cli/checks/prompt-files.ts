/**
 * Checks the files that become part of the system prompt: SOUL.md and the files of the project in the working directory.
 */

import { basename } from 'node:path'
import { readContextFiles } from '../../agent/context-files/read-context-files.ts'
import { scan } from '../../agent/context-files/scan.ts'
import { runsOnThisMachine } from '../../agent/environments/kinds.ts'
import { workingDirectory } from '../../flows/environments/working-directory.ts'
import { readTextIfExists } from '../../lib/files.ts'
import { silentLog } from '../../lib/log.ts'
import { type Check, type CheckResult, note, ok } from './check-result.ts'

const subject = 'Prompt'

export const checkPromptFiles: Check = async ({ settings: { config }, context: { home } }) => {
  const { terminal, security } = config.current()
  const soul = readTextIfExists(home.soulFile, 65_536) ?? ''
  const soulIds = scan(soul, 'context')
  const suspicious: CheckResult[] = []
  if (soulIds.length > 0) {
    const effect = security.scan_soul === 'block' ? 'it is not loaded' : 'it is loaded all the same'
    suspicious.push(note(subject, describe(home.soulFile, soulIds, effect), 'Check who wrote it.'))
  }
  const loaded: string[] = soul === '' ? [] : [basename(home.soulFile)]
  if (runsOnThisMachine(terminal.backend)) {
    const directory = workingDirectory({ home, settings: config.current, environment: config.environment })
    const blocked = new Map<string, readonly string[]>()
    const onScanned = (path: string, ids: readonly string[]) => {
      if (ids.length > 0) blocked.set(path, ids)
    }
    const files = await readContextFiles(directory, onScanned, silentLog)
    for (const [path, ids] of blocked)
      suspicious.push(note(subject, describe(path, ids, 'it is not loaded'), 'Check who wrote it, or rephrase it.'))
    loaded.push(...files.map(({ path }) => path).filter((path) => !blocked.has(path)))
  }
  if (suspicious.length > 0) return suspicious
  return [ok(subject, loaded.length === 0 ? 'no files beside the built-in text' : loaded.join(', '))]
}

function describe(path: string, ids: readonly string[], effect: string): string {
  return `${path} looks like a prompt injection (${ids.join(', ')}); ${effect}`
}
