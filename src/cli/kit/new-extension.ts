/**
 * Writes the files of a new hook or plugin.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HermesError } from '../../lib/errors.ts'
import { ensureDirectory } from '../../lib/files.ts'
import type { CliContext } from './context.ts'
import { assertHomeUsable } from './settings.ts'
import { writeTypescriptConfig } from './typescript-config.ts'

/** The option of commands that write code. */
export interface PythonOption {
  readonly python: boolean
}

interface NewFile {
  readonly name: string
  readonly text: string
}

/** Returns the path of the file with the code. Throws `cli/usage` for an invalid or existing name. */
export function writeExtension(
  context: CliContext,
  directory: string,
  name: string,
  code: NewFile,
  manifest: NewFile,
): string {
  assertHomeUsable(context)
  const folder = join(directory, name)
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name)) {
    throw new HermesError('cli/usage', `Expected a name of letters, digits, - and _, found ${JSON.stringify(name)}.`)
  }
  if (existsSync(folder)) throw new HermesError('cli/usage', `${folder} already exists.`)
  ensureDirectory(directory)
  ensureDirectory(folder)
  const file = join(folder, code.name)
  writeFileSync(file, code.text, { mode: 0o600 })
  if (code.name.endsWith('.ts')) writeTypescriptConfig(context.home)
  // Written last, because the manifest makes the directory a hook or a plugin.
  writeFileSync(join(folder, manifest.name), manifest.text, { mode: 0o600 })
  return file
}
