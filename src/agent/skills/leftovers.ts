/**
 * Hidden folders and files that a killed process has left beside skills. Call it while no other process writes.
 */
import { randomUUID } from 'node:crypto'
import { readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { systemCode } from '../../lib/errors.ts'

/** The name of a hidden folder. `old` is a skill that is being replaced. */
export function hiddenName(kind: 'new' | 'old' | 'deleted', skill: string): string {
  return `.${kind}-${randomUUID()}-${skill}`
}

const leftoverPattern = /^\.(new|old|deleted|hermes)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:-(.+)|\.tmp)?$/

/** Removes what was left; a skill that was being replaced comes back if no other has its place. Rejects with system errors. */
export async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await namesIn(folder)) {
    const [, kind, skill] = leftoverPattern.exec(name) ?? []
    if (kind === undefined) continue
    const path = join(folder, name)
    const target = kind === 'old' && skill !== undefined ? join(folder, skill) : undefined
    if (target !== undefined && (await isMissing(target))) await rename(path, target)
    else await rm(path, { recursive: true, force: true })
  }
}

async function namesIn(folder: string): Promise<string[]> {
  return await readdir(folder).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  })
}

async function isMissing(path: string): Promise<boolean> {
  return await stat(path).then(
    () => false,
    (error: unknown) => systemCode(error) === 'ENOENT',
  )
}
