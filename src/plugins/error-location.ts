/**
 * Where the mistake is in a plugin that cannot be loaded: `<file>:<line>`.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { stackOf } from '../lib/errors.ts'
import type { DiscoveredPlugin } from './discovery.ts'

/** The entry of the plugin where nothing more is known. Never rejects. */
export async function locateError(error: unknown, { directory: folder, entryFile }: DiscoveredPlugin): Promise<string> {
  const stack = stackOf(error)
  const location = locationInHeader(stack) ?? locationInFrames(stack, folder)
  if (location !== undefined) return location
  const mayBeChecked = stack !== '' && error instanceof SyntaxError && !entryFile.endsWith('.ts')
  return (mayBeChecked ? locationInHeader(await checkSyntax(entryFile)) : undefined) ?? entryFile
}

/** `<file>:<line>` stands above the code that Node shows. */
function locationInHeader(text: string): string | undefined {
  const { file, line } = /^(?<file>(?:file:\/\/)?\/[^\n]*?):(?<line>\d+)\n/.exec(text)?.groups ?? {}
  return file === undefined ? undefined : `${toFilePath(file)}:${line}`
}

/** The first frame in a file of the plugin. */
function locationInFrames(stack: string, folder: string): string | undefined {
  for (const { groups = {} } of stack.matchAll(/(?<file>(?:file:\/\/)?\/[^\n()]*?):(?<line>\d+):\d+\)?$/gm)) {
    const file = toFilePath(groups['file'] ?? '')
    if (file.startsWith(`${folder}/`)) return `${file}:${groups['line']}`
  }
  return undefined
}

function toFilePath(file: string): string {
  try {
    return file.startsWith('file:') ? fileURLToPath(file) : file
  } catch {
    // A stack is a text that anybody may write.
    return file
  }
}

/** Node tells the place of a syntax error in a module to nobody but the terminal. */
function checkSyntax(file: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['--check', file], { timeout: 10_000 }, (_failed, _said, complaint) =>
      resolve(complaint),
    )
  })
}
