/**
 * Reads the command line and hands over to one file of this folder, loaded on demand.
 */
import { readFileSync } from 'node:fs'
import type { CliContext, Output } from './context.ts'

type Process = Pick<NodeJS.Process, 'argv' | 'stdout' | 'stderr' | 'env'> & {
  exitCode?: number | string | null | undefined
}

/** Runs one command; sets the exit code. Never rejects. */
export async function main(process: Process): Promise<void> {
  const version = packageVersion()
  const words = process.argv.slice(2)
  if (words.length === 1 && ['--version', '-V', 'version'].includes(words[0] ?? '')) {
    process.stdout.write(`${version}\n`)
    return
  }
  const { createContext } = await import('./context.ts')
  const context = createContext(version)
  process.exitCode = await runCommand(words, context)
}

/** Runs the command that the words name and resolves with its exit code. Never rejects. */
export async function runCommand(words: readonly string[], context: CliContext): Promise<number> {
  const [{ buildProgram }, { exitCodeOf, exitCodes }] = await Promise.all([
    import('./program.ts'),
    import('./failure.ts'),
  ])
  let lost = false
  survive(context.output, () => {
    lost = true
  })
  survive(context.errors, () => undefined)
  try {
    await buildProgram(context).parseAsync(words.length === 0 ? ['--help'] : words, { from: 'user' })
    return lost && context.exitCode === 0 ? exitCodes.failed : context.exitCode
  } catch (error) {
    return exitCodeOf(error, context)
  }
}

/**
 * Without a listener a reader that has gone (`hermes sessions list | head -1`) would end the process. That is no
 * failure, and neither is a closed terminal; an output that cannot be written is.
 */
function survive(output: Output, onLoss: () => void): void {
  output.on('error', (error) => {
    if (!('code' in error) || (error.code !== 'EPIPE' && error.code !== 'EIO')) onLoss()
  })
}

function packageVersion(): string {
  const { version }: { version: string } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  return version
}
