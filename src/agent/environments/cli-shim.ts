/**
 * Creates the directory that puts `hermes` on the PATH of the agent's commands, from a checkout and when installed.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFileAtomic } from '../../lib/files.ts'
import { quoteWord } from '../../lib/shell-quote.ts'

/**
 * Writes `<directory>/hermes`, a script that runs `commandLine` (program first) with its arguments. Replaces an existing
 * script atomically, because a command may be running it, and several callers may write it at once. Throws system errors.
 */
export async function installCliShim(directory: string, commandLine: readonly string[]): Promise<string> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const script = join(directory, 'hermes')
  writeFileAtomic(script, `#!/bin/sh\nexec ${commandLine.map(quoteWord).join(' ')} "$@"\n`, 0o755)
  return directory
}
