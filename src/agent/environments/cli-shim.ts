/**
 * Makes the folder that puts `hermes` on the PATH of the agent's commands, from a checkout as well as installed.
 */
import { chmod, mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { shellQuote } from './shell-quote.ts'

/**
 * Writes `<folder>/hermes`, a script that runs `commandLine` (program first) with the arguments it gets.
 * Replaces an older one in one step, so that a command running right now never sees half a file. Throws system errors.
 */
export async function installCliShim(folder: string, commandLine: readonly string[]): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const script = join(folder, 'hermes')
  const fresh = `${script}.new`
  await writeFile(fresh, `#!/bin/sh\nexec ${commandLine.map(shellQuote).join(' ')} "$@"\n`)
  await chmod(fresh, 0o755)
  await rename(fresh, script)
  return folder
}
