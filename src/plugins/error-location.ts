/**
 * Finds the location of the error in a plugin that cannot be loaded: `<file>:<line>`.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { stackOf } from '../lib/errors.ts'
import type { DiscoveredPlugin } from './discovery.ts'

/** The entry of the plugin if no better location is known. Never rejects. */
export async function locateError(error: unknown, { directory: folder, entryFile }: DiscoveredPlugin): Promise<string> {
  const stack = stackOf(error)
  const location = locationInHeader(stack) ?? locationInFrames(stack, folder)
  if (location !== undefined) return location
  const isSyntaxError = stack !== '' && error instanceof SyntaxError && !entryFile.endsWith('.ts')
  return (isSyntaxError ? locationInHeader(await checkSyntax(entryFile)) : undefined) ?? entryFile
}

/** Node prints `<file>:<line>` above the quoted code. */
function locationInHeader(text: string): string | undefined {
  const { file, line } = /^(?<file>(?:file:\/\/)?\/[^\n]*?):(?<line>\d+)\n/.exec(text)?.groups ?? {}
  return file === undefined ? undefined : `${toFilePath(file)}:${line}`
}

/** The first stack frame in a file of the plugin. */
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
    // A stack is an ordinary text and may contain an invalid URL.
    return file
  }
}

/** Node prints the location of a syntax error in a module, but does not add it to the error. */
function checkSyntax(file: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['--disable-sigusr1', '--check', file], { timeout: 10_000 }, (_error, _stdout, stderr) =>
      resolve(stderr),
    )
  })
}
