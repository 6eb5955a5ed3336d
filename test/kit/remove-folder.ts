/**
 * Removes a folder in which tests have taken rights away, or in which a process that is being killed still writes.
 */
import { chmodSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { systemCode } from '../../src/lib/errors.ts'

/** Throws the system's error, such as for files of another user. */
export function removeFolder(folder: string): void {
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  try {
    remove()
  } catch (error) {
    if (systemCode(error) !== 'EACCES') throw error
    makeWritable(folder)
    remove()
  }
}

function makeWritable(folder: string): void {
  chmodSync(folder, 0o700)
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) makeWritable(join(folder, entry.name))
}
