/**
 * Reads the command line and hands over to one file of this folder, loaded on demand.
 */
import { readFileSync } from 'node:fs'
import type { CliContext } from './context.ts'

type Process = Pick<NodeJS.Process, 'argv' | 'stdout' | 'stderr' | 'env' | 'exit'> & {
  exitCode?: number | string | null | undefined
}

/** Runs one command; sets the exit code. Never rejects. */
export async function main(process: Process): Promise<void> {
  const version = readPackageVersion()
  const words = process.argv.slice(2)
  if (words.length === 1 && ['--version', '-V', 'version'].includes(words[0] ?? '')) {
    process.stdout.write(`${version}\n`)
    return
  }
  const { createContext } = await import('./context.ts')
  const context = createContext(version)
  let outputExitCode = 0
  handleOutputErrors(process.stdout, (reason) => {
    outputExitCode = 1
    process.exitCode ||= outputExitCode
    process.stderr.write(`hermes: the output could not be written: ${reason}\n`)
  })
  handleOutputErrors(process.stderr, () => undefined)
  const code = await runCommand(words, context)
  process.exitCode = code === 0 ? outputExitCode : code
  if (context.exitsAfterCommand !== true) return
  await Promise.all([flushOutput(process.stdout), flushOutput(process.stderr)])
  process.exit()
}

/** Resolves when all that was given to it is out, or cannot be: an exit would cut off what a pipe has not taken yet. */
function flushOutput(output: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => output.write('', () => resolve()))
}

/** Runs the command that the words name and resolves with its exit code. Never rejects. */
export async function runCommand(words: readonly string[], context: CliContext): Promise<number> {
  const [{ buildProgram }, { reportError }] = await Promise.all([import('./program.ts'), import('./exit-codes.ts')])
  try {
    await buildProgram(context).parseAsync(words.length === 0 ? ['--help'] : words, { from: 'user' })
    return context.exitCode
  } catch (error) {
    return reportError(error, context)
  }
}

/**
 * Without a listener a reader that has gone (`hermes sessions list | head -1`) would end the process. That is no
 * failure, and neither is a closed terminal; an output that cannot be written is. The news may come after the command.
 */
function handleOutputErrors(output: NodeJS.WriteStream, onWriteError: (reason: string) => void): void {
  output.on('error', (error) => {
    const code = 'code' in error ? error.code : undefined
    if (code !== 'EPIPE' && code !== 'EIO') onWriteError(error.message)
  })
}

function readPackageVersion(): string {
  const { version }: { version: string } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  return version
}
