/**
 * Writes messages for the target `local`, which is a folder of the home.
 */
import { join } from 'node:path'
import { ensureDirectory, writeFileAtomic } from '../../lib/files.ts'
import type { HomeLayout } from '../../lib/home.ts'

/**
 * Writes a message for the target `local` into `cron/output/<id>/` of the home, and returns the path. Throws the system's
 * error.
 */
export function writeLocalOutput(home: HomeLayout, id: string, text: string, now: number): string {
  const folder = join(home.root, 'cron', 'output', id.replace(/[^\w-]/g, '_') || 'misc')
  ensureDirectory(folder)
  const path = join(folder, `${new Date(now).toISOString().replaceAll(/[:.]/g, '-')}.md`)
  writeFileAtomic(path, `${text}\n`, 0o600)
  return path
}
