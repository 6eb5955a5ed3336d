/**
 * Creates the directory that puts `hermes` on the PATH of the agent's commands, from a checkout and when installed.
 */
import { chmod, mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { quoteWord } from '../../lib/shell-quote.ts'

/**
 * Writes `<directory>/hermes`, a script that runs `commandLine` (program first) with its arguments. Replaces an existing
 * script atomically, because a command may be running it. Throws system errors.
 */
export async function installCliShim(directory: string, commandLine: readonly string[]): Promise<string> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const script = join(directory, 'hermes')
  const temporary = `${script}.new`
  await writeFile(temporary, `#!/bin/sh\nexec ${commandLine.map(quoteWord).join(' ')} "$@"\n`)
  await chmod(temporary, 0o755)
  await rename(temporary, script)
  return directory
}
